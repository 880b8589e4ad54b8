package dataset

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
)

// matFile is a MATLAB 5 file of elements.
func matFile(elements ...[]byte) []byte {
	head := append([]byte("MATLAB 5.0 MAT-file, test"), make([]byte, 128)...)[:128]
	binary.LittleEndian.PutUint16(head[124:], 0x0100)
	copy(head[126:], "IM")
	return append(head, slices.Concat(elements...)...)
}

func matPart(kind uint32, data []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = append(b, data...)
	for kind != matCompressed && len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

func matMatrixOf(name string, kind uint32, values []byte, dims ...int) []byte {
	var d []byte
	for _, n := range dims {
		d = binary.LittleEndian.AppendUint32(d, uint32(n))
	}
	class := byte(9) // uint8
	if kind == matDouble {
		class = 6
	}
	small := make([]byte, 8) // a name of up to four bytes stands in its tag
	binary.LittleEndian.PutUint32(small, uint32(len(name))<<16|matInt8)
	copy(small[4:], name)
	return matPart(matMatrix, slices.Concat(matPart(matUint32, []byte{class, 0, 0, 0, 0, 0, 0, 0}), matPart(matInt32, d), small, matPart(kind, values)))
}

func packed(element []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write(element)
	z.Close()
	return matPart(matCompressed, b.Bytes())
}

// svhnFile has n images whose value at row h, column w, channel c is i + 2h + 3w + 100c, and labels 1, 2, …, 10, 1, …
func svhnFile(n int, compressed bool) []byte {
	var x, y []byte
	for i := range n {
		for c := range 3 {
			for w := range 4 {
				for h := range 4 {
					x = append(x, byte(i+2*h+3*w+70*c))
				}
			}
		}
		y = binary.LittleEndian.AppendUint64(y, math.Float64bits(float64(i%10+1)))
	}
	a, b := matMatrixOf("X", matUint8, x, 4, 4, 3, n), matMatrixOf("y", matDouble, y, n, 1)
	if compressed {
		a, b = packed(a), packed(b)
	}
	return matFile(a, matPart(matInt8, []byte("other")), b)
}

func TestSVHN(t *testing.T) {
	for _, compressed := range []bool{false, true} {
		r, err := decodeSVHN(bytes.NewReader(svhnFile(12, compressed)))
		if err != nil {
			t.Fatal(err)
		}
		if want := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2}; !slices.Equal(r.labels, want) || r.shape != (pixel.Shape{Height: 4, Width: 4, Channels: 3}) {
			t.Errorf("labels %v, shape %v", r.labels, r.shape)
		}
		for _, at := range [][4]int{{0, 0, 0, 0}, {5, 1, 2, 0}, {11, 3, 0, 2}, {7, 0, 3, 1}} {
			i, h, w, c := at[0], at[1], at[2], at[3]
			if got := r.pixels[((i*4+h)*4+w)*3+c]; int(got) != i+2*h+3*w+70*c {
				t.Errorf("image %d, row %d, column %d, channel %d: %d", i, h, w, c, got)
			}
		}
	}
	good := svhnFile(3, false)
	seven := append([]byte("MATLAB 7.3 MAT-file, Platform: GLNXA64"), make([]byte, 200)...)
	x := matMatrixOf("X", matUint8, make([]byte, 48), 4, 4, 3, 1)
	for want, data := range map[string][]byte{
		"MATLAB 7.3, which is HDF5":    seven,
		"truncated":                    good[:len(good)-30],
		"no MATLAB header":             good[:50],
		"not a file of MATLAB 5":       bytes.Repeat([]byte("x"), 200),
		"no arrays X and y":            matFile(x),
		"1 images and 2 labels":        matFile(x, matMatrixOf("y", matUint8, []byte{1, 2}, 2, 1)),
		"label 0 is 0; expected 1":     matFile(x, matMatrixOf("y", matUint8, []byte{0}, 1, 1)),
		"label 0 is 11":                matFile(x, matMatrixOf("y", matUint8, []byte{11}, 1, 1)),
		"has 48 bytes of values":       matFile(matMatrixOf("X", matUint8, make([]byte, 48), 4, 4, 3, 2)),
		"expected height × width × 3":  matFile(matMatrixOf("X", matUint8, make([]byte, 48), 4, 12), matMatrixOf("y", matUint8, []byte{1}, 1, 1)),
		"a big-endian file":            append(append(make([]byte, 126), "MI"...), good[128:]...),
		"0.5; expected a whole number": matFile(x, matMatrixOf("y", matDouble, binary.LittleEndian.AppendUint64(nil, math.Float64bits(.5)), 1, 1)),
	} {
		if _, err := decodeSVHN(bytes.NewReader(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected %q", err, want)
		}
	}
}

func FuzzMAT(f *testing.F) {
	f.Add(matMatrixOf("y", matUint8, []byte{1}, 1, 1))
	f.Add(packed(matMatrixOf("X", matUint8, make([]byte, 12), 2, 2, 3, 1)))
	f.Add([]byte{15, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4})
	begin := matFile(matMatrixOf("X", matUint8, make([]byte, 12), 2, 2, 3, 1))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, head := range [][]byte{begin, matFile()} {
			r, err := decodeSVHN(bytes.NewReader(append(slices.Clone(head), body...)))
			if err != nil {
				continue
			}
			if r.classes = digits; len(r.labels) > 0 && r.check() != nil {
				t.Error(r.check())
			}
		}
	})
}

// EMNIST's files hold rows as columns; letters come out upright, labelled from 0.
func TestEMNISTIsUpright(t *testing.T) {
	dir := useData(t)
	const n = 20_800
	images := make([]byte, n*784)
	labels := make([]byte, n)
	for i := range n {
		labels[i] = byte(i%26 + 1)
		images[i*784+3*28+5] = 200 // row 3, column 5 of the file
	}
	testkit.Write(t, idxBytes(images, n, 28, 28), dir, "emnist", "emnist-letters-test-images-idx3-ubyte")
	testkit.Write(t, idxBytes(labels, n), dir, "emnist", "emnist-letters-test-labels-idx1-ubyte")
	d, err := Open("emnist/test")
	if err != nil {
		t.Fatal(err)
	}
	im, err := d.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if im.Image(27)[5*28+3] != 200 || im.Image(27)[3*28+5] != 0 || im.Labels[27] != 1 || im.Classes[1] != "b" {
		t.Errorf("label %d, class %q, pixels %d and %d", im.Labels[27], im.Classes[1], im.Image(27)[5*28+3], im.Image(27)[3*28+5])
	}
}

func TestTreesOfPictures(t *testing.T) {
	dir := useData(t)
	picture := func(v uint8) []byte {
		m := image.NewGray(image.Rect(0, 0, 28, 28))
		m.SetGray(1, 0, color.Gray{v})
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	testkit.Write(t, picture(1), dir, "notmnist", "notMNIST_small", "A", "x.png")
	testkit.Write(t, picture(2), dir, "notmnist", "notMNIST_small", "B", "deep", "y.png")
	testkit.Write(t, nil, dir, "notmnist", "notMNIST_small", filepath.FromSlash(brokenNotMNIST[0]))
	r, err := readTree(t.Context(), filepath.Join(dir, "notmnist", "notMNIST_small"), brokenNotMNIST)
	if err != nil || !slices.Equal(r.labels, []int{0, 1}) || r.pixels[1] != 1 || r.pixels[784+1] != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := readTree(t.Context(), filepath.Join(dir, "notmnist", "notMNIST_small"), nil); err == nil || !strings.Contains(err.Error(), "RGVtb2NyYXRp") {
		t.Errorf("a file that is no picture: %v", err)
	}
	d, err := Open("notmnist/test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "expected 18724") {
		t.Errorf("two of 18,724 pictures: %v", err)
	}
	if _, err := Open("notmnist/train"); err == nil {
		t.Error("notMNIST has no training part here")
	}
	if _, err := Open("tinyimages/train"); err == nil || !strings.Contains(err.Error(), "withdrawn") {
		t.Errorf("%v", err)
	}
}

func TestNoise(t *testing.T) {
	load := func(name string) *Images {
		t.Helper()
		d, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		im, err := d.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return im
	}
	u := load("noise:uniform,9x7x3,n=400")
	if u.Len() != 400 || u.Shape != (pixel.Shape{Height: 9, Width: 7, Channels: 3}) || slices.Max(u.Labels) != -1 {
		t.Errorf("%d images of %v, label %d", u.Len(), u.Shape, slices.Max(u.Labels))
	}
	counts := make([]int, 256)
	for _, v := range u.Pixels {
		counts[v]++
	}
	expected, chi := float64(len(u.Pixels))/256, 0.0
	for _, n := range counts {
		chi += (float64(n) - expected) * (float64(n) - expected) / expected
	}
	if chi > 355 { // χ² with 255 degrees of freedom: one in 30,000
		t.Errorf("χ² of the values is %.1f", chi)
	}
	s := load("noise:smooth,16x16x1,n=20")
	for i := range s.Len() {
		im := s.Image(i)
		if slices.Min(im) != 0 || slices.Max(im) != 255 {
			t.Errorf("smooth image %d runs from %d to %d", i, slices.Min(im), slices.Max(im))
		}
		step := 0
		for k := range im[1:] {
			step = max(step, abs(int(im[k+1])-int(im[k]))*min((k+1)%16, 1))
		}
		if step > 150 { // neighbours that were drawn by themselves differ by more in every image
			t.Errorf("smooth image %d has a step of %d", i, step)
		}
	}
	if a, b := load("noise:smooth,16x16x1,n=20,seed=1"), load("noise:smooth,16x16x1,n=30"); a.Digest == s.Digest || !bytes.Equal(b.Image(5), s.Image(5)) {
		t.Error("seeds and counts")
	}
	for _, bad := range []string{"noise:", "noise:uniform", "noise:pink,4x4x1", "noise:uniform,4x4", "noise:uniform,4x4x2", "noise:uniform,0x4x1", "noise:uniform,4x4x1,n=0", "noise:smooth,4x4x1,seed=-1", "noise:uniform,4x4x1,x=1", "noise:uniform,16000x16000x3,n=1000000"} {
		if _, err := Open(bad); err == nil {
			t.Errorf("%s opens", bad)
		}
	}
}

func abs(v int) int { return max(v, -v) }

// The blur against one in float64 written out.
func TestSmoothNoiseIsAGaussianBlur(t *testing.T) {
	shape := pixel.Shape{Height: 11, Width: 8, Channels: 3}
	raw := make([]uint8, shape.Len())
	random := newStream(7, 0)
	for i := range raw {
		raw[i] = uint8(random.below(256))
	}
	again := *random
	got := slices.Clone(raw)
	smoothen(got, shape, random)
	sigma := 1 + 1.5*float64(again.below(1<<16))/(1<<16)
	radius := int(4*sigma + .5)
	want := make([]float64, len(raw))
	clamp := func(v, n int) int { return min(max(v, 0), n-1) }
	for y := range shape.Height {
		for x := range shape.Width {
			for c := range 3 {
				sum, weight := 0.0, 0.0
				for dy := -radius; dy <= radius; dy++ {
					for dx := -radius; dx <= radius; dx++ {
						w := math.Exp(-float64(dx*dx+dy*dy) / (2 * sigma * sigma))
						sum += w * float64(raw[(clamp(y+dy, shape.Height)*shape.Width+clamp(x+dx, shape.Width))*3+c])
						weight += w
					}
				}
				want[(y*shape.Width+x)*3+c] = sum / weight
			}
		}
	}
	low, high := slices.Min(want), slices.Max(want)
	for i, v := range want {
		if e := math.Floor((v - low) / (high - low) * 255); math.Abs(e-float64(got[i])) > 1 {
			t.Fatalf("value %d is %d, want %v", i, got[i], e)
		}
	}
}

func TestInvert(t *testing.T) {
	d, err := Open("noise:uniform,4x4x3,n=3")
	if err != nil {
		t.Fatal(err)
	}
	e, err := Open("noise:uniform,4x4x3,n=3[channels=grey,invert]")
	if err != nil || e.String() != "noise:uniform,4x4x3,n=3[channels=grey,invert]" {
		t.Fatal(e, err)
	}
	a, err := d.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := e.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range b.Pixels {
		p := a.Pixels[3*i:]
		if luma := math.Round(.299*float64(p[0]) + .587*float64(p[1]) + .114*float64(p[2])); math.Abs(255-luma-float64(v)) > 1 {
			t.Errorf("pixel %d of %v becomes %d", i, p[:3], v)
		}
	}
	if _, err := Open("mnist/test[invert=1]"); err == nil {
		t.Error("invert takes a value")
	}
}
