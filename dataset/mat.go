package dataset

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// The MATLAB 5 format, as "MAT-File Format" of The MathWorks describes it: a header of 128 bytes,
// then elements, each a type, a size, and its bytes, filled up to a multiple of eight. An array is
// an element of such elements: flags, dimensions, name, values. Arrays may be compressed by zlib.
const (
	matInt8, matUint8, matInt16, matUint16, matInt32, matUint32 = 1, 2, 3, 4, 5, 6
	matDouble, matMatrix, matCompressed                         = 9, 14, 15
)

// matArray is an array of numbers, the first dimension fastest.
type matArray struct {
	name   string
	dims   []int
	kind   uint32 // of the values
	values []byte
}

// readMAT reads the arrays of numbers of a file; others are left out.
func readMAT(r io.Reader) ([]matArray, error) {
	head := make([]byte, 128)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, fmt.Errorf("no MATLAB header: %w", err)
	}
	switch {
	case bytes.HasPrefix(head, []byte("MATLAB 7.3")) || bytes.HasPrefix(head, []byte("\x89HDF")):
		return nil, errors.New("a file of MATLAB 7.3, which is HDF5; expected version 5: save it again with -v7, or " +
			"take the official file")
	case string(head[126:]) == "MI":
		return nil, errors.New("a big-endian file of MATLAB; expected a little-endian one, as the official ones are")
	case string(head[126:]) != "IM" || binary.LittleEndian.Uint16(head[124:]) != 0x0100:
		return nil, fmt.Errorf("not a file of MATLAB 5: it begins with %q", head[:16])
	}
	var arrays []matArray
	for {
		kind, data, err := matElement(r)
		if err == io.EOF {
			return arrays, nil
		}
		if err != nil {
			return nil, err
		}
		if kind == matCompressed {
			z, err := zlib.NewReader(bytes.NewReader(data))
			if err != nil {
				return nil, fmt.Errorf("compressed array: %w", err)
			}
			if kind, data, err = matElement(z); err != nil {
				return nil, fmt.Errorf("compressed array: %w", noEnd(err))
			}
		}
		if kind != matMatrix {
			continue
		}
		a, ok, err := parseMAT(data)
		if err != nil {
			return nil, err
		}
		if ok {
			arrays = append(arrays, a)
		}
	}
}

// matElement reads an element with its filling; io.EOF where there is none.
func matElement(r io.Reader) (kind uint32, data []byte, err error) {
	var tag [8]byte
	if n, err := io.ReadFull(r, tag[:]); err != nil {
		if n == 0 && err == io.EOF {
			return 0, nil, io.EOF
		}
		return 0, nil, fmt.Errorf("truncated in the tag of an element: %w", noEnd(err))
	}
	kind = binary.LittleEndian.Uint32(tag[:])
	if small := kind >> 16; small != 0 { // up to four bytes stand in the tag itself
		if small > 4 {
			return 0, nil, fmt.Errorf("an element of %d bytes in a tag", small)
		}
		return kind & 0xffff, tag[4 : 4+small], nil
	}
	size := int64(binary.LittleEndian.Uint32(tag[4:]))
	// Memory grows with what is really there, so that a size that lies costs nothing.
	if data, err = io.ReadAll(io.LimitReader(r, size)); err != nil {
		return 0, nil, noEnd(err)
	}
	if int64(len(data)) < size {
		return 0, nil, fmt.Errorf("truncated: %d bytes of an element; expected %d", len(data), size)
	}
	if kind != matCompressed && size%8 != 0 {
		io.CopyN(io.Discard, r, 8-size%8)
	}
	return kind, data, nil
}

func noEnd(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// parseMAT reads an array; ok is false where it holds no plain numbers.
func parseMAT(data []byte) (a matArray, ok bool, err error) {
	r := bytes.NewReader(data)
	part := func(want ...uint32) []byte {
		kind, data, failed := matElement(r)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("an array: %w", noEnd(failed)))
			return nil
		}
		for _, w := range want {
			if kind == w {
				return data
			}
		}
		err = errors.Join(err, fmt.Errorf("an array with an element of type %d; expected %v", kind, want))
		return nil
	}
	flags := part(matUint32)
	if err != nil || len(flags) != 8 {
		return a, false, errors.Join(err, fmt.Errorf("an array with %d bytes of flags; expected 8", len(flags)))
	}
	class := flags[0]
	const firstNumber, lastNumber = 6, 15 // classes of arrays of numbers: double to uint64
	if class < firstNumber || class > lastNumber || flags[1]&0x08 != 0 {
		return a, false, nil
	}
	dims := part(matInt32)
	name := part(matInt8, matUint8)
	if err != nil {
		return a, false, err
	}
	size := int64(1)
	for i := 0; i+4 <= len(dims); i += 4 {
		d := int64(int32(binary.LittleEndian.Uint32(dims[i:])))
		if d < 0 || d > 0 && size > maxBytes/d {
			return a, false, fmt.Errorf("array %q has a dimension of %d", name, d)
		}
		size *= d
		a.dims = append(a.dims, int(d))
	}
	kind, values, err := matElement(r)
	if err != nil {
		return a, false, fmt.Errorf("array %q: %w", name, noEnd(err))
	}
	width := map[uint32]int64{matInt8: 1, matUint8: 1, matInt16: 2, matUint16: 2, matInt32: 4, matUint32: 4,
		matDouble: 8}[kind]
	if width == 0 {
		return a, false, nil
	}
	if int64(len(values)) != size*width {
		return a, false, fmt.Errorf("array %q of %v has %d bytes of values; expected %d", name, a.dims, len(values),
			size*width)
	}
	a.name, a.kind, a.values = string(name), kind, values
	return a, true, nil
}

// whole are the values as whole numbers.
func (a matArray) whole() ([]int, error) {
	width := map[uint32]int{matInt8: 1, matUint8: 1, matInt16: 2, matUint16: 2, matInt32: 4, matUint32: 4,
		matDouble: 8}[a.kind]
	out := make([]int, len(a.values)/width)
	for i := range out {
		item := a.values[i*width:]
		switch a.kind {
		case matInt8:
			out[i] = int(int8(item[0]))
		case matUint8:
			out[i] = int(item[0])
		case matInt16:
			out[i] = int(int16(binary.LittleEndian.Uint16(item)))
		case matUint16:
			out[i] = int(binary.LittleEndian.Uint16(item))
		case matInt32, matUint32:
			out[i] = int(int32(binary.LittleEndian.Uint32(item)))
		default:
			v := math.Float64frombits(binary.LittleEndian.Uint64(item))
			if v != math.Trunc(v) || math.Abs(v) > 1<<31 {
				return nil, fmt.Errorf("value %d of %q is %v; expected a whole number", i, a.name, v)
			}
			out[i] = int(v)
		}
	}
	return out, nil
}
