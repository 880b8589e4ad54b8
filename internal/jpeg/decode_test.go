package jpeg

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	gojpeg "image/jpeg"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit/jpegtest"
)

// photograph is a picture of soft shapes, with some noise.
func photograph(height, width int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			wave := func(k float64) uint8 {
				v := 128 + 70*math.Sin(float64(x)/(17*k)+float64(y)/31) + 40*math.Sin(float64(x*y)/(900*k))
				return uint8(v + float64((x*7919+y*104729)%13))
			}
			m.SetRGBA(x, y, color.RGBA{wave(1), wave(1.7), wave(2.9), 255})
		}
	}
	return m
}

func encoded(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := gojpeg.Encode(&b, m, &gojpeg.Options{Quality: 85}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Pictures of 4:2:0 as the decoder of the standard library has them, but for chroma and roundings: its luma is within 2.
func TestNearStandardDecoder(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {7, 9}, {16, 16}, {33, 50}, {120, 81}} {
		file := encoded(t, photograph(size[0], size[1]))
		pixels, f, err := Decode(file)
		if err != nil || f != (Frame{size[0], size[1], 3}) {
			t.Fatalf("%v: %+v, %v", size, f, err)
		}
		theirs, err := gojpeg.Decode(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		for y := range size[0] {
			for x := range size[1] {
				p := pixels[3*(y*size[1]+x):]
				ours, _, _ := YCC(p[0], p[1], p[2])
				want := theirs.(*image.YCbCr).Y[theirs.(*image.YCbCr).YOffset(x, y)]
				if d := int(ours) - int(want); d > 12 || d < -12 {
					t.Fatalf("%v: luma %d at %d,%d; expected about %d", size, ours, x, y, want)
				}
			}
		}
	}
}

// Whatever the order and the precision of its scans, a picture is the same: files of the same coefficients, sequential and
// progressive, with restart markers and without. That they equal libjpeg-turbo's, internal/external tests.
func TestScansAgree(t *testing.T) {
	one := [2]int{1, 1}
	for i, sampling := range [][][2]int{{one}, {one, one, one}, {{2, 1}, one, one}, {{2, 2}, one, one}, {{1, 2}, one, one}, {{4, 1}, one, one}, {{3, 2}, one, {1, 2}}} {
		for _, size := range [][2]int{{1, 1}, {8, 9}, {31, 50}} {
			p := jpegtest.Picture{Height: size[0], Width: size[1], Sampling: sampling, Seed: uint64(i)}
			want, _, err := Decode(p.Encode())
			if err != nil {
				t.Fatalf("%+v: %v", p, err)
			}
			for mode := range 8 {
				p.Progressive, p.Separate, p.Restart = mode&1 > 0, mode&2 > 0, mode&4
				if got, _, err := Decode(p.Encode()); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%+v: other pixels, or %v", p, err)
				}
			}
		}
	}
}

// Rows of the samples 0, 100, 200 and rows between them, by the filters as libjpeg's documentation has them: 3/4 of the nearer sample and
// 1/4 of the next.
func TestInterpolation(t *testing.T) {
	row, other := []uint8{0, 100, 200}, []uint8{40, 40, 40}
	var six [6]uint8
	var three [3]uint8
	Wider(six[:], row)
	if six != [6]uint8{0, 25, 75, 125, 175, 200} {
		t.Errorf("twice the width: %v", six)
	}
	Taller(three[:], row, other, true)
	if three != [3]uint8{10, 85, 160} {
		t.Errorf("between two rows: %v", three)
	}
	Larger(six[:], row, other)
	if six != [6]uint8{10, 29, 66, 104, 141, 160} { // (9a + 3b + 3c + d + 8 or 7)/16
		t.Errorf("both: %v", six)
	}
}

// What is damaged, cut off or of another kind is refused by its name.
func TestRefused(t *testing.T) {
	p := jpegtest.Picture{Height: 40, Width: 40, Sampling: [][2]int{{2, 2}, {1, 1}, {1, 1}}, Restart: 2, Seed: 5}
	plain := p.Encode()
	p.Progressive = true
	slow := p.Encode()
	frame := bytes.Index(plain, []byte{0xff, 0xc0})
	changed := func(at int, b ...byte) []byte {
		file := bytes.Clone(plain)
		copy(file[at:], b)
		return file
	}
	for _, file := range [][]byte{plain, slow} {
		for cut := range len(file) {
			if _, _, err := Decode(file[:cut]); err == nil {
				t.Fatalf("%d of %d bytes are taken for a picture", cut, len(file))
			}
		}
	}
	scans := bytes.Split(slow, []byte{0xff, 0xda})
	withoutLast := append(bytes.Join(scans[:len(scans)-1], []byte{0xff, 0xda}), 0xff, 0xd9)
	cases := map[string]struct {
		file []byte
		want string
	}{
		"arithmetic":            {changed(frame, 0xff, 0xc9), "arithmetic coding"},
		"lossless":              {changed(frame, 0xff, 0xc3), "lossless coding"},
		"hierarchical":          {changed(frame, 0xff, 0xc5), "hierarchical coding"},
		"12 bits":               {changed(frame+4, 12), "12 bits a value; expected 8"},
		"no height":             {changed(frame+5, 0, 0), "0×40 pixels"},
		"ratio of 3 to 2":       {changed(frame+11, 0x31, 0, 2, 0x21), "expected whole ratios"},
		"sampling by 0":         {changed(frame+11, 0x02), "expected 1 to 4"},
		"one number twice":      {changed(frame+13, 1), "two components have the number 1"},
		"scans that are coarse": {withoutLast, "the scans end before coefficient 1 of component 3 is exact"},
		"restart marker":        {changed(bytes.Index(plain, []byte{0xff, 0xd0}), 0xff, 0xd3), "expected the restart marker"},
		"four components":       {jpegtest.Picture{Height: 8, Width: 8, Sampling: [][2]int{{1, 1}, {1, 1}, {1, 1}, {1, 1}}}.Encode(), "CMYK"},
		"two components":        {jpegtest.Picture{Height: 8, Width: 8, Sampling: [][2]int{{1, 1}, {1, 1}}}.Encode(), "2 components"},
		"no picture":            {[]byte("GIF89a"), "no start of a JPEG picture"},
	}
	for name, c := range cases {
		if _, _, err := Decode(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; expected %q", name, err, c.want)
		}
	}
	if _, _, err := Decode(withoutLast); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an unfinished picture: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for i, p := range []jpegtest.Picture{
		{Height: 3, Width: 2, Sampling: [][2]int{{1, 1}}},
		{Height: 9, Width: 9, Sampling: [][2]int{{2, 2}, {1, 1}, {1, 1}}, Restart: 1},
		{Height: 9, Width: 9, Sampling: [][2]int{{1, 2}, {1, 1}, {1, 1}}, Progressive: true},
	} {
		p.Seed = uint64(i)
		f.Add(p.Encode())
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if frame, err := ReadFrame(file); err != nil || frame.Height*frame.Width > 1<<16 {
			return
		}
		pixels, frame, err := Decode(file)
		if err == nil && len(pixels) != frame.Height*frame.Width*frame.Channels {
			t.Errorf("%d bytes for %+v", len(pixels), frame)
		}
	})
}

// Beside the standard library, whose planes become RGB by the same colours, as pictures are handed out.
func BenchmarkDecode(b *testing.B) {
	for _, size := range [][2]int{{32, 32}, {375, 500}} {
		photo := encoded(b, photograph(size[0], size[1]))
		p := jpegtest.Picture{Height: size[0], Width: size[1], Sampling: [][2]int{{2, 2}, {1, 1}, {1, 1}}, Progressive: true}
		for name, file := range map[string][]byte{"photograph": photo, "progressive": p.Encode()} {
			name = fmt.Sprintf("%s/%d×%d/", name, size[0], size[1])
			b.Run(name+"ours", func(b *testing.B) {
				for b.Loop() {
					if _, _, err := Decode(file); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(name+"standard", func(b *testing.B) {
				rgb := make([]uint8, 3*size[1])
				for b.Loop() {
					m, err := gojpeg.Decode(bytes.NewReader(file))
					if err != nil {
						b.Fatal(err)
					}
					planes := m.(*image.YCbCr)
					for y := range size[0] {
						for x := range size[1] {
							luma, chroma := planes.YOffset(x, y), planes.COffset(x, y)
							rgb[3*x], rgb[3*x+1], rgb[3*x+2] = color.YCbCrToRGB(planes.Y[luma], planes.Cb[chroma], planes.Cr[chroma])
						}
					}
				}
			})
		}
	}
}
