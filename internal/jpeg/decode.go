// Package jpeg decodes JPEG pictures to the bytes that libjpeg-turbo gives by default, which are
// those of Pillow, OpenCV and torchvision: its integer DCT, chroma interpolated by a triangle
// filter, its tables of colours. It reads what ITU-T T.81 calls baseline, extended sequential and
// progressive Huffman coding, with 8 bits a value, of grey, YCbCr and RGB.
package jpeg

import (
	"errors"
	"fmt"
	"io"
)

// Frame describes a picture by its head.
type Frame struct {
	Height, Width int
	Channels      int // 1 (grey) or 3 (RGB)
}

// ErrInks refuses pictures of four components.
var ErrInks = errors.New("a JPEG picture in CMYK or YCCK, the inks of a printer; expected grey or RGB, so convert " +
	"it first")

// ReadFrame reads the head of a picture.
func ReadFrame(file []byte) (Frame, error) {
	d := &decoder{bits: bits{data: file}}
	err := d.markers(true)
	return d.frame(), err
}

// Decode decodes a picture: height × width × channels values. Pictures that end early, and such
// whose scans leave values coarse, which libjpeg would smooth, are errors. It allocates about 12
// bytes a pixel, which ReadFrame tells before.
func Decode(file []byte) ([]uint8, Frame, error) {
	d := &decoder{bits: bits{data: file}}
	if err := d.markers(false); err != nil {
		return nil, d.frame(), err
	}
	return d.pixels(), d.frame(), nil
}

// component is one of the planes of a picture.
type component struct {
	id     byte
	h, v   int // sampling factors
	table  byte
	quant  *[64]int32 // in zigzag order, as it stood when the first scan of the component began
	width  int        // in samples, without padding
	height int
	blocks int // in a row of the padded plane
	rows   int // of blocks in the padded plane

	plane  []uint8 // 64 × blocks × rows
	coeffs []int16 // of a progressive picture: blocks row by row, each in natural order

	dcTable, acTable byte // of the current scan
	predicted        int32
	scanned          bool
	known            [64]int8 // by the place in zigzag order: bits that are still missing; −1: all
}

func (c *component) stride() int { return 8 * c.blocks }

type decoder struct {
	bits
	height, width int
	progressive   bool
	components    []component
	maxH, maxV    int
	quant         [4]*[64]int32
	tables        [2][4]*huffman // DC and AC
	restart       int            // MCUs between restart markers; 0: none
	jfif          bool
	adobe         int // transform of Adobe's marker; −1: none
	begun         bool
	rgb           bool
}

func (d *decoder) frame() Frame { return Frame{d.height, d.width, len(d.components)} }

// Markers of T.81, table B.1.
const (
	sof0 = 0xc0
	sof2 = 0xc2
	dht  = 0xc4
	jpg  = 0xc8
	sofF = 0xcf
	dac  = 0xcc
	rst0 = 0xd0
	rst7 = 0xd7
	soi  = 0xd8
	eoi  = 0xd9
	sos  = 0xda
	dqt  = 0xdb
	dnl  = 0xdc
	dri  = 0xdd
	app0 = 0xe0
	appE = 0xee
	tem  = 0x01
)

var processes = map[byte]string{
	0xc3: "lossless", 0xc5: "hierarchical", 0xc6: "hierarchical", 0xc7: "lossless hierarchical", 0xc9: "arithmetic",
	0xca: "arithmetic",
	0xcb: "lossless arithmetic", 0xcd: "hierarchical arithmetic", 0xce: "hierarchical arithmetic",
	0xcf: "lossless hierarchical arithmetic",
}

// errorf names the place in the file.
func (d *decoder) errorf(format string, a ...any) error {
	return fmt.Errorf("JPEG, byte %d: %w", d.at, fmt.Errorf(format, a...))
}

func (d *decoder) truncated() error {
	d.at = len(d.data)
	return d.errorf("%w", io.ErrUnexpectedEOF)
}

// markers reads the file from marker to marker, up to its frame or to its end.
func (d *decoder) markers(headOnly bool) error {
	d.adobe = -1
	if len(d.data) < 2 || d.data[0] != 0xff || d.data[1] != soi {
		return d.errorf("no start of a JPEG picture")
	}
	d.at = 2
	for {
		marker, err := d.nextMarker()
		if err != nil {
			return err
		}
		switch {
		case marker == eoi:
			return d.complete()
		case marker == tem || marker >= rst0 && marker <= rst7:
			continue
		case marker == soi:
			return d.errorf("a second picture begins inside the first")
		}
		body, err := d.segment()
		if err != nil {
			return err
		}
		switch {
		case marker == dht:
			err = d.huffmanTables(body)
		case marker == dqt:
			err = d.quantTables(body)
		case marker == dri:
			if len(body) != 2 {
				return d.errorf("a restart interval of %d bytes; expected 2", len(body))
			}
			d.restart = int(body[0])<<8 | int(body[1])
		case marker == dac:
			err = d.errorf("arithmetic coding; expected Huffman coding")
		case marker == dnl:
			err = d.errorf("a height that follows the picture; expected it in the frame")
		case marker >= sof0 && marker <= sofF && marker != jpg:
			if err = d.startFrame(marker, body); err == nil && headOnly {
				return nil
			}
		case marker == sos:
			err = d.scan(body)
		case marker == app0:
			d.jfif = d.jfif || len(body) >= 14 && string(body[:5]) == "JFIF\x00"
		case marker == appE && len(body) >= 12 && string(body[:5]) == "Adobe":
			d.adobe = int(body[11])
		}
		if err != nil {
			return err
		}
	}
}

// nextMarker passes over what lies before the next marker, as libjpeg does.
func (d *decoder) nextMarker() (byte, error) {
	for d.at+1 < len(d.data) {
		if d.data[d.at] == 0xff && d.data[d.at+1] != 0 && d.data[d.at+1] != 0xff {
			d.at += 2
			return d.data[d.at-1], nil
		}
		d.at++
	}
	return 0, d.truncated()
}

func (d *decoder) segment() ([]byte, error) {
	if d.at+2 > len(d.data) {
		return nil, d.truncated()
	}
	n := int(d.data[d.at])<<8 | int(d.data[d.at+1])
	if n < 2 {
		return nil, d.errorf("a segment of %d bytes; expected at least 2", n)
	}
	if d.at+n > len(d.data) {
		return nil, d.truncated()
	}
	body := d.data[d.at+2 : d.at+n]
	d.at += n
	return body, nil
}

func (d *decoder) quantTables(body []byte) error {
	for len(body) > 0 {
		size, id := 64<<(body[0]>>4), body[0]&15
		if body[0]>>4 > 1 || id > 3 || len(body) < 1+size {
			return d.errorf("a damaged table of quantisation")
		}
		table := new([64]int32)
		for i := range table {
			if size == 64 {
				table[i] = int32(body[1+i])
			} else {
				table[i] = int32(body[1+2*i])<<8 | int32(body[2+2*i])
			}
		}
		d.quant[id], body = table, body[1+size:]
	}
	return nil
}

func (d *decoder) huffmanTables(body []byte) error {
	for len(body) > 0 {
		if len(body) < 17 {
			return d.errorf("a Huffman table of %d bytes; expected at least 17", len(body))
		}
		class, id := body[0]>>4, body[0]&15
		n := 0
		for _, c := range body[1:17] {
			n += int(c)
		}
		if class > 1 || id > 3 || n > 256 || len(body) < 17+n {
			return d.errorf("a damaged Huffman table")
		}
		table, ok := newHuffman([16]byte(body[1:17]), body[17:17+n], class == 0)
		if !ok {
			return d.errorf("a Huffman table whose codes do not fit their lengths")
		}
		d.tables[class][id], body = table, body[17+n:]
	}
	return nil
}

func (d *decoder) startFrame(marker byte, body []byte) error {
	if process := processes[marker]; process != "" {
		return d.errorf("%s coding; expected baseline or progressive Huffman coding", process)
	}
	switch {
	case d.components != nil:
		return d.errorf("two frames")
	case len(body) < 6 || len(body) != 6+3*int(body[5]):
		return d.errorf("a frame of %d bytes", len(body))
	case body[0] != 8:
		return d.errorf("%d bits a value; expected 8", body[0])
	}
	d.progressive = marker == sof2
	d.height, d.width = int(body[1])<<8|int(body[2]), int(body[3])<<8|int(body[4])
	switch {
	case d.height == 0 || d.width == 0:
		return d.errorf("%d×%d pixels", d.height, d.width)
	case body[5] == 4:
		return ErrInks
	case body[5] != 1 && body[5] != 3:
		return d.errorf("%d components; expected 1 (grey) or 3 (colours)", body[5])
	}
	components := make([]component, body[5])
	for i := range components {
		c, field := &components[i], body[6+3*i:]
		*c = component{id: field[0], h: int(field[1] >> 4), v: int(field[1] & 15), table: field[2]}
		if c.h < 1 || c.v < 1 || c.h > 4 || c.v > 4 || c.table > 3 {
			return d.errorf("component %d samples %d×%d by table %d; expected 1 to 4, and a table of 0 to 3", c.id, c.h,
				c.v, c.table)
		}
		for _, other := range components[:i] {
			if other.id == c.id {
				return d.errorf("two components have the number %d", c.id)
			}
		}
		d.maxH, d.maxV = max(d.maxH, c.h), max(d.maxV, c.v)
		for k := range c.known {
			c.known[k] = -1
		}
	}
	for i := range components {
		c := &components[i]
		if d.maxH%c.h != 0 || d.maxV%c.v != 0 {
			return d.errorf("component %d is sampled %d×%d beside %d×%d; expected whole ratios", c.id, c.h, c.v, d.maxH,
				d.maxV)
		}
		c.width, c.height = ceil(d.width*c.h, d.maxH), ceil(d.height*c.v, d.maxV)
		c.blocks, c.rows = ceil(d.width, 8*d.maxH)*c.h, ceil(d.height, 8*d.maxV)*c.v
	}
	d.components = components
	return nil
}

func ceil(a, b int) int { return (a + b - 1) / b }

// begin is called before the first scan: only now is it known what the colours are.
func (d *decoder) begin() {
	d.begun = true
	for i := range d.components {
		c := &d.components[i]
		c.plane = make([]uint8, 64*c.blocks*c.rows)
		if d.progressive {
			c.coeffs = make([]int16, 64*c.blocks*c.rows)
		}
	}
	if len(d.components) == 3 && !d.jfif {
		ids := [3]byte{d.components[0].id, d.components[1].id, d.components[2].id}
		d.rgb = d.adobe == 0 || d.adobe < 0 && ids == [3]byte{'R', 'G', 'B'}
	}
}

// complete is an error where something is missing at the end of the file.
func (d *decoder) complete() error {
	if d.components == nil {
		return d.errorf("no frame")
	}
	for i := range d.components {
		c := &d.components[i]
		if !c.scanned {
			return d.errorf("component %d has no scan: %w", c.id, io.ErrUnexpectedEOF)
		}
		if !d.progressive {
			continue
		}
		for k, missing := range c.known {
			if missing != 0 {
				return d.errorf("the scans end before coefficient %d of component %d is exact: %w", k, c.id,
					io.ErrUnexpectedEOF)
			}
		}
	}
	return nil
}
