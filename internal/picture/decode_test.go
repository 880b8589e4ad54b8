package picture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"slices"
	"strings"
	"testing"
)

func jpegFile(t testing.TB, m image.Image) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := jpeg.Encode(&file, m, &jpeg.Options{Quality: 100}); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// rawPNG writes what the encoder of the standard library does not: any colour type and depth, and more chunks.
func rawPNG(width, height int, depth, kind byte, rows []byte, chunks ...string) []byte {
	file := []byte(pngSignature)
	add := func(name string, data []byte) {
		start := len(file) + 4
		file = binary.BigEndian.AppendUint32(file, uint32(len(data)))
		file = append(append(file, name...), data...)
		file = binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(file[start:]))
	}
	header := binary.BigEndian.AppendUint32(nil, uint32(width))
	header = append(binary.BigEndian.AppendUint32(header, uint32(height)), depth, kind, 0, 0, 0)
	add("IHDR", header)
	for i := 0; i < len(chunks); i += 2 {
		add(chunks[i], []byte(chunks[i+1]))
	}
	// zlib without compression: one stored block, and its Adler-32.
	a, b := uint32(1), uint32(0)
	for _, v := range rows {
		a = (a + uint32(v)) % 65521
		b = (b + a) % 65521
	}
	n := uint16(len(rows))
	data := append([]byte{0x78, 0x01, 1, byte(n), byte(n >> 8), byte(^n), byte(^n >> 8)}, rows...)
	add("IDAT", binary.BigEndian.AppendUint32(data, b<<16|a))
	add("IEND", nil)
	return file
}

// tiff is EXIF data with an orientation of the given type and count, after another entry.
func tiff(order binary.AppendByteOrder, kind uint16, count uint32, orientation uint16) []byte {
	block := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		block = []byte("MM\x00*")
	}
	block = order.AppendUint32(block, 10)
	block = append(block, 0, 0) // the directory need not follow at once
	block = order.AppendUint16(block, 2)
	block = order.AppendUint32(order.AppendUint32(order.AppendUint16(order.AppendUint16(block, 256), 4), 1), 7)
	block = order.AppendUint32(order.AppendUint16(order.AppendUint16(block, 274), kind), count)
	return append(order.AppendUint16(block, orientation), 0, 0, 0, 0, 0, 0)
}

// withEXIF puts EXIF data into a JPEG file, after another segment.
func withEXIF(file, block []byte) []byte {
	segment := append([]byte("Exif\x00\x00"), block...)
	out := append([]byte{0xff, 0xd8, 0xff, 0xfe, 0, 6, 't', 'e', 'x', 't', 0xff, 0xff, 0xe1}, byte((len(segment)+2)>>8), byte(len(segment)+2))
	return append(append(out, segment...), file[2:]...)
}

func TestDecodeModes(t *testing.T) {
	white := &color.RGBA{255, 255, 255, 255}
	orange := &color.RGBA{200, 100, 0, 255}
	for name, c := range map[string]struct {
		file     []byte
		o        Options
		channels int
		want     []uint8
		err      string
	}{
		"grey":                      {rawPNG(2, 1, 8, 0, []byte{0, 10, 200}), Options{}, 1, []uint8{10, 200}, ""},
		"grey of 1 bit":             {rawPNG(2, 1, 1, 0, []byte{0, 0x40}), Options{}, 1, []uint8{0, 255}, ""},
		"grey of 2 bits":            {rawPNG(4, 1, 2, 0, []byte{0, 0x1b}), Options{}, 1, []uint8{0, 85, 170, 255}, ""},
		"RGB":                       {rawPNG(1, 1, 8, 2, []byte{0, 1, 2, 3}), Options{}, 3, []uint8{1, 2, 3}, ""},
		"palette":                   {rawPNG(2, 1, 8, 3, []byte{0, 1, 0}, "PLTE", "\x01\x02\x03\xfa\x64\x00"), Options{}, 3, []uint8{250, 100, 0, 1, 2, 3}, ""},
		"palette with transparency": {rawPNG(2, 1, 8, 3, []byte{0, 1, 0}, "PLTE", "\x01\x02\x03\xfa\x64\x00", "tRNS", "\x00"), Options{}, 0, nil, "transparent"},
		// Palette entry 0 has coverage 0.
		"palette on white":                {rawPNG(2, 1, 8, 3, []byte{0, 1, 0}, "PLTE", "\x01\x02\x03\xfa\x64\x00", "tRNS", "\x00"), Options{Background: white}, 3, []uint8{250, 100, 0, 255, 255, 255}, ""},
		"opaque alpha":                    {rawPNG(1, 1, 8, 6, []byte{0, 1, 2, 3, 255}), Options{}, 3, []uint8{1, 2, 3}, ""},
		"alpha":                           {rawPNG(1, 1, 8, 6, []byte{0, 1, 2, 3, 254}), Options{}, 0, nil, "transparent"},
		"alpha on orange":                 {rawPNG(1, 1, 8, 6, []byte{0, 10, 20, 250, 51}), Options{Background: orange}, 3, []uint8{162, 84, 50}, ""}, // a fifth of one, four of the other
		"grey alpha":                      {rawPNG(1, 1, 8, 4, []byte{0, 9, 0}), Options{}, 0, nil, "transparent"},
		"opaque grey alpha":               {rawPNG(1, 1, 8, 4, []byte{0, 9, 255}), Options{}, 1, []uint8{9}, ""},
		"grey alpha on white":             {rawPNG(1, 1, 8, 4, []byte{0, 100, 102}), Options{Background: white}, 1, []uint8{193}, ""}, // 0.4·100 + 0.6·255
		"grey alpha on white, rounded":    {rawPNG(1, 1, 8, 4, []byte{0, 1, 254}), Options{Background: white}, 1, []uint8{2}, ""},     // 509/255 = 1.996
		"grey alpha on orange":            {rawPNG(1, 1, 8, 4, []byte{0, 100, 0}), Options{Background: orange}, 3, []uint8{200, 100, 0}, ""},
		"16-bit grey":                     {rawPNG(2, 1, 16, 0, []byte{0, 1, 2, 3, 4}), Options{}, 0, nil, "16 bits"},
		"16-bit RGB":                      {rawPNG(1, 1, 16, 2, []byte{0, 1, 2, 3, 4, 5, 6}), Options{}, 0, nil, "16 bits"},
		"16-bit grey reduced":             {rawPNG(4, 1, 16, 0, []byte{0, 0, 128, 0, 129, 0x7f, 0xff, 0xff, 0xff}), Options{Reduce16: true}, 1, []uint8{0, 1, 127, 255}, ""}, // 128/257 = .498, 129/257 = .502, 32767/257 = 127.498
		"16-bit RGB reduced":              {rawPNG(1, 1, 16, 2, []byte{0, 1, 1, 2, 2, 255, 255}), Options{Reduce16: true}, 3, []uint8{1, 2, 255}, ""},
		"16-bit alpha reduced":            {rawPNG(1, 1, 16, 6, []byte{0, 100, 100, 0, 0, 0, 0, 255, 255}), Options{Reduce16: true}, 3, []uint8{100, 0, 0}, ""},
		"16-bit alpha reduced, on orange": {rawPNG(1, 1, 16, 6, []byte{0, 100, 100, 0, 0, 0, 0, 0, 0}), Options{Reduce16: true, Background: orange}, 3, []uint8{200, 100, 0}, ""},
		"JPEG grey":                       {jpegFile(t, &image.Gray{Pix: bytes.Repeat([]byte{77}, 64), Stride: 8, Rect: image.Rect(0, 0, 8, 8)}), Options{}, 1, bytes.Repeat([]byte{77}, 64), ""},
		"CMYK":                            {cmyk(t, nil), Options{}, 0, nil, "CMYK"},
		"CMYK of Adobe":                   {cmyk(t, adobe(0)), Options{}, 0, nil, "CMYK"},
		"YCCK":                            {cmyk(t, adobe(2)), Options{}, 0, nil, "YCCK"},
		"text":                            {[]byte("<html>"), Options{}, 0, nil, "expected PNG or JPEG"},
		"nothing":                         {nil, Options{}, 0, nil, "expected PNG or JPEG"},
		"truncated PNG":                   {rawPNG(1, 1, 8, 2, []byte{0, 1, 2, 3})[:50], Options{}, 0, nil, "truncated"},
		"truncated JPEG":                  {jpegFile(t, image.NewGray(image.Rect(0, 0, 64, 64)))[:300], Options{}, 0, nil, "truncated"},
		"huge":                            {rawPNG(60_000, 60_000, 8, 0, nil), Options{}, 0, nil, "60000×60000"},
	} {
		t.Run(name, func(t *testing.T) {
			im, warning, err := Decode(c.file, c.o)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v; expected one with %q", err, c.err)
				}
				return
			}
			if err != nil || warning != "" {
				t.Fatalf("error %v, warning %q", err, warning)
			}
			if im.Shape.Channels != c.channels || !slices.Equal(im.Pixels, c.want) {
				t.Errorf("%v of %v; expected %d channels of %v", im.Pixels, im.Shape, c.channels, c.want)
			}
		})
	}
}

// cmyk is a JPEG of four components: the grey one of the encoder, whose frame and scan
// headers are changed to name three more, after a further segment.
func cmyk(t *testing.T, segment []byte) []byte {
	file := jpegFile(t, image.NewGray(image.Rect(0, 0, 8, 8)))
	frame := bytes.Index(file, []byte{0xff, 0xc0})
	scan := bytes.Index(file, []byte{0xff, 0xda})
	out := append(slices.Clone(file[:frame]), segment...)
	out = append(out, 0xff, 0xc0, 0, 8+12, 8, 0, 8, 0, 8, 4, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0, 4, 0x11, 0)
	out = append(out, file[frame+2+11:scan]...)
	out = append(out, 0xff, 0xda, 0, 6+8, 4, 1, 0, 2, 0, 3, 0, 4, 0, 0, 63, 0)
	data := file[scan+2+8 : len(file)-2]
	for range 40 { // enough code bits for four components; the decoder takes what it needs
		out = append(out, data...)
	}
	return append(out, 0xff, 0xd9)
}

// adobe is the segment that names the colours of four components: 0 for CMYK, 2 for YCCK.
func adobe(transform byte) []byte {
	return append([]byte("\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00"), transform)
}

// The values of the orientations follow table 6 of the Exif standard: which side of the
// picture the stored row 0 and column 0 are. The picture is a b / c d / e f, as stored.
func TestOrientations(t *testing.T) {
	const stored = "abcdef"
	want := []string{
		"abcdef", // 1: row 0 top, column 0 left
		"badcfe", // 2: top, right
		"fedcba", // 3: bottom, right
		"efcdab", // 4: bottom, left
		"acebdf", // 5: left, top
		"ecafdb", // 6: right, top
		"fdbeca", // 7: right, bottom
		"bdface", // 8: left, bottom
	}
	rows := []byte("\x00ab\x00cd\x00ef")
	for i, want := range want {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			block := tiff(order, 3, 1, uint16(i+1))
			im, warning, err := Decode(rawPNG(2, 3, 8, 0, rows, "eXIf", string(block)), Options{})
			if err != nil || warning != "" || string(im.Pixels) != want {
				t.Errorf("orientation %d (%v): %s is seen as %q, warning %q, %v; expected %s", i+1, order, stored, im.Pixels, warning, err, want)
			}
			if turned := i >= 4; turned != (im.Shape.Height == 2) {
				t.Errorf("orientation %d: %v", i+1, im.Shape)
			}
		}
	}
	wide := image.NewGray(image.Rect(0, 0, 16, 8))
	for i := range wide.Pix {
		wide.Pix[i] = uint8(i % 16 * 16)
	}
	im, _, err := Decode(withEXIF(jpegFile(t, wide), tiff(binary.BigEndian, 3, 1, 6)), Options{})
	if err != nil || im.Shape.Height != 16 || im.Shape.Width != 8 || im.Pixels[0] > 8 || im.Pixels[15*8] < 232 {
		t.Errorf("JPEG turned right: %v, %v, column %d to %d", err, im.Shape, im.Pixels[0], im.Pixels[15*8])
	}
}

func TestDamagedEXIF(t *testing.T) {
	good := tiff(binary.LittleEndian, 3, 1, 6)
	far := slices.Clone(good)
	binary.LittleEndian.PutUint32(far[4:], 1<<31)
	many := slices.Clone(good)
	binary.LittleEndian.PutUint16(many[10:], 9999)
	for name, c := range map[string]struct {
		block []byte
		want  string
	}{
		"other letters":   {[]byte("XX*\x00\x08\x00\x00\x00"), "neither"},
		"cut":             {good[:6], "fewer than 8"},
		"far directory":   {far, "directory at byte 2147483648"},
		"many entries":    {many, "9999 entries"},
		"orientation 0":   {tiff(binary.LittleEndian, 3, 1, 0), "orientation 0"},
		"orientation 9":   {tiff(binary.BigEndian, 3, 1, 9), "orientation 9"},
		"other type":      {tiff(binary.BigEndian, 4, 1, 6), "type 4"},
		"several values":  {tiff(binary.BigEndian, 3, 2, 6), "count 2"},
		"directory at 2":  {append([]byte("II*\x00\x02\x00\x00\x00"), good[8:]...), "directory at byte 2"},
		"directory's end": {good[:11], "directory at byte 10"},
	} {
		im, warning, err := Decode(rawPNG(2, 1, 8, 0, []byte("\x00ab"), "eXIf", string(c.block)), Options{})
		if err != nil || string(im.Pixels) != "ab" || !strings.Contains(warning, c.want) {
			t.Errorf("%s: %q, warning %q, %v; expected the picture as stored and a warning with %q", name, im.Pixels, warning, err, c.want)
		}
	}
	without := append([]byte("II*\x00\x08\x00\x00\x00"), 0, 0)
	if _, warning, err := Decode(rawPNG(2, 1, 8, 0, []byte("\x00ab"), "eXIf", string(without)), Options{}); err != nil || warning != "" {
		t.Errorf("EXIF data without orientation: warning %q, %v", warning, err)
	}
}

func FuzzOrientation(f *testing.F) {
	f.Add(withEXIF([]byte{0xff, 0xd8, 0xff, 0xda}, tiff(binary.LittleEndian, 3, 1, 8)))
	f.Add(rawPNG(1, 1, 8, 0, []byte{0, 1}, "eXIf", string(tiff(binary.BigEndian, 3, 1, 2))))
	f.Add([]byte{0xff, 0xd8, 0xff, 0xff, 0xff, 0xe1, 0, 1})
	f.Fuzz(func(t *testing.T, file []byte) {
		o, err := orientation(file)
		if o < 1 || o > 8 || err != nil && o != 1 {
			t.Errorf("orientation %d, %v", o, err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(rawPNG(2, 3, 8, 0, []byte("\x00ab\x00cd\x00ef"), "eXIf", string(tiff(binary.LittleEndian, 3, 1, 6))), true)
	f.Add(rawPNG(1, 1, 16, 6, make([]byte, 9)), true)
	f.Add(rawPNG(2, 1, 8, 3, []byte{0, 1, 0}, "PLTE", "\x01\x02\x03\xfa\x64\x00", "tRNS", "\x00"), false)
	f.Add(jpegFile(f, image.NewRGBA(image.Rect(0, 0, 8, 8))), false)
	f.Fuzz(func(t *testing.T, file []byte, all bool) {
		if c, _, err := image.DecodeConfig(bytes.NewReader(file)); err != nil || c.Width*c.Height > 1<<18 {
			return
		}
		o := Options{Reduce16: all}
		if all {
			o.Background = &color.RGBA{1, 2, 3, 255}
		}
		im, _, err := Decode(file, o)
		if err == nil && (!im.Shape.Valid() || len(im.Pixels) != im.Shape.Len()) {
			t.Errorf("%d values for %v", len(im.Pixels), im.Shape)
		}
	})
}
