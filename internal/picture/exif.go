package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/certspec/certspec/pixel"
)

// orientation reads how the camera was held from the EXIF data of a JPEG or PNG file: 1 to 8,
// where 1 is upright and is also the answer for a file without EXIF data or without that entry.
// (CIPA DC-008 "Exif 2.32", §4.6.4 and §4.7.2; PNG third edition, §11.3.4.5.) Of a JPEG file a
// damaged structure outside of the EXIF data is left to the decoder.
func orientation(file []byte) (int, error) {
	block := jpegEXIF(file)
	if bytes.HasPrefix(file, []byte(pngSignature)) {
		block = pngChunk(file, "eXIf")
	}
	if block == nil {
		return 1, nil
	}
	return tiffOrientation(block)
}

const pngSignature = "\x89PNG\r\n\x1a\n"

// jpegEXIF is the TIFF structure of the first APP1 segment with EXIF data, or nil.
func jpegEXIF(file []byte) []byte {
	rest, ok := bytes.CutPrefix(file, []byte{0xff, 0xd8})
	for ok && len(rest) >= 4 && rest[0] == 0xff {
		marker, length := rest[1], 2+int(binary.BigEndian.Uint16(rest[2:]))
		if marker == 0xff { // a fill byte
			rest = rest[1:]
			continue
		}
		if marker == 0xda || length < 4 || length > len(rest) { // start of the compressed data
			return nil
		}
		if block, found := bytes.CutPrefix(rest[4:length], []byte("Exif\x00\x00")); found && marker == 0xe1 {
			return block
		}
		rest = rest[length:]
	}
	return nil
}

// pngChunk is the content of the first chunk of a kind before the end of a PNG file, or nil.
func pngChunk(file []byte, kind string) []byte {
	rest, ok := bytes.CutPrefix(file, []byte(pngSignature))
	for ok && len(rest) >= 12 {
		length := uint64(binary.BigEndian.Uint32(rest))
		if length > uint64(len(rest)-12) {
			return nil
		}
		if string(rest[4:8]) == kind {
			return rest[8 : 8+length]
		}
		rest = rest[12+length:]
	}
	return nil
}

// tiffOrientation reads entry 274 of the first directory of a TIFF structure.
func tiffOrientation(block []byte) (int, error) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(block, []byte("II*\x00")):
		order = binary.LittleEndian
	case bytes.HasPrefix(block, []byte("MM\x00*")):
		order = binary.BigEndian
	default:
		return 1, errors.New("EXIF data that begins with neither II*␀ nor MM␀*")
	}
	if len(block) < 8 {
		return 1, errors.New("EXIF data of fewer than 8 bytes")
	}
	at := uint64(order.Uint32(block[4:]))
	size := uint64(len(block))
	if at < 8 || at+2 > size {
		return 1, fmt.Errorf("EXIF directory at byte %d of %d", at, size)
	}
	const entry = 12
	count := uint64(order.Uint16(block[at:]))
	if at+2+entry*count > size {
		return 1, fmt.Errorf("EXIF directory of %d entries at byte %d of %d", count, at, size)
	}
	for e := block[at+2 : at+2+entry*count]; len(e) > 0; e = e[entry:] {
		if order.Uint16(e) != 274 {
			continue
		}
		if kind, n := order.Uint16(e[2:]), order.Uint32(e[4:]); kind != 3 || n != 1 {
			return 1, fmt.Errorf("EXIF orientation of type %d and count %d; expected one 16-bit number", kind, n)
		}
		if v := order.Uint16(e[8:]); v >= 1 && v <= 8 {
			return int(v), nil
		} else {
			return 1, fmt.Errorf("EXIF orientation %d; expected 1 to 8", v)
		}
	}
	return 1, nil
}

// upright turns an image that is stored in the given orientation.
func upright(im Image, orientation int) Image {
	height, width, channels := im.Shape.Height, im.Shape.Width, im.Shape.Channels
	if orientation == 1 {
		return im
	}
	shape := im.Shape
	if orientation >= 5 {
		shape = pixel.Shape{Height: width, Width: height, Channels: channels}
	}
	out := blank(shape)
	to := out.Pixels
	for y := range shape.Height {
		for x := range shape.Width {
			row, column := y, x
			switch orientation {
			case 2:
				row, column = y, width-1-x
			case 3:
				row, column = height-1-y, width-1-x
			case 4:
				row, column = height-1-y, x
			case 5:
				row, column = x, y
			case 6:
				row, column = height-1-x, y
			case 7:
				row, column = height-1-x, width-1-y
			case 8:
				row, column = x, width-1-y
			}
			at := (row*width + column) * channels
			to = to[copy(to, im.Pixels[at:at+channels]):]
		}
	}
	return out
}
