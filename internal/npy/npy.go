// Package npy reads and writes what stands before the values of a NumPy file, as NumPy's numpy.lib.format describes it:
// "\x93NUMPY", two bytes of version, the length of the header, and a Python dictionary of type, order and shape.
package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Header describes a file's values, which follow it.
type Header struct {
	Type    string // NumPy's name, as "|u1" (uint8), "<i8" or "<f4"
	Fortran bool   // the first dimension is the fastest
	Shape   []int
}

const (
	magic = "\x93NUMPY"
	most  = 1 << 16 // bytes of a header
)

// Read reads a header of format version 1, 2 or 3 and leaves r at the first value. n is the bytes
// that were read. Values of several fields have no Header.
func Read(r io.Reader) (h Header, n int64, err error) {
	var start [12]byte
	if _, err := io.ReadFull(r, start[:10]); err != nil {
		return h, 0, fmt.Errorf("no .npy header: %w", err)
	}
	if string(start[:4]) == "PK\x03\x04" {
		return h, 0, errors.New("the file is an .npz archive of several arrays; expected one array, or the name " +
			"npz:FILE.npz")
	}
	if string(start[:6]) != magic {
		return h, 0, fmt.Errorf("the file begins with %q; expected the .npy magic %q", start[:6], magic)
	}
	size, length := 10, int64(binary.LittleEndian.Uint16(start[8:]))
	switch start[6] {
	case 1:
	case 2, 3:
		if _, err := io.ReadFull(r, start[10:]); err != nil {
			return h, 0, fmt.Errorf("truncated in its .npy header: %w", err)
		}
		size, length = 12, int64(binary.LittleEndian.Uint32(start[8:]))
	default:
		return h, 0, fmt.Errorf(".npy version %d; expected 1, 2 or 3", start[6])
	}
	if length > most {
		return h, 0, fmt.Errorf(".npy header of %d bytes; expected at most %d", length, most)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, 0, fmt.Errorf("truncated in its .npy header: %w", err)
	}
	if h, err = parse(string(text)); err != nil {
		return h, 0, fmt.Errorf("damaged .npy header %.100q: %w", text, err)
	}
	return h, int64(size) + length, nil
}

// item is a key of the dictionary with its value, of the kind that goes with the key: groups 1, 2 and 3.
var item = regexp.MustCompile(`^\s*(?:'descr'\s*:\s*'([^']+)'|'fortran_order'\s*:\s*(True|False)|` +
	`'shape'\s*:\s*(\(\s*(?:-?\d+L?\s*(?:,\s*-?\d+L?\s*)*,?\s*)?\)))\s*(?:,\s*|$)`)

func parse(text string) (h Header, err error) {
	text, open := strings.CutPrefix(strings.TrimSpace(text), "{")
	text, closed := strings.CutSuffix(text, "}")
	if !open || !closed {
		return h, errors.New("expected a dictionary")
	}
	var found [4]string
	for text != "" {
		m := item.FindStringSubmatch(text)
		if m == nil || slices.ContainsFunc([]int{1, 2, 3}, func(i int) bool { return m[i] != "" && found[i] != "" }) {
			return h, errors.New("expected 'descr': '<TYPE>', 'fortran_order': True or False, 'shape': (SIDES), " +
				"each once")
		}
		text = text[len(m[0]):]
		for i := range found {
			found[i] += m[i]
		}
	}
	if found[1] == "" || found[2] == "" || found[3] == "" {
		return h, errors.New("expected descr, fortran_order and shape")
	}
	h = Header{Type: found[1], Fortran: found[2] == "True", Shape: []int{}}
	for _, side := range strings.FieldsFunc(found[3], func(r rune) bool {
		return !strings.ContainsRune("-0123456789", r)
	}) {
		n, err := strconv.Atoi(side)
		if err != nil {
			return h, fmt.Errorf("a side of %s: %w", side, err)
		}
		h.Shape = append(h.Shape, n)
	}
	return h, nil
}

// Size is the number of values, at most a limit; the error is of sides below 0 and of more values.
func (h Header) Size(limit int64) (int64, error) {
	size := int64(1)
	for _, side := range h.Shape {
		if side < 0 || side > 0 && size > limit/int64(side) {
			return 0, fmt.Errorf("array of shape %v is out of range; expected at most %d values", h.Shape, limit)
		}
		size *= int64(side)
	}
	return size, nil
}

// Append appends a header of version 1 to dst. Its length is a multiple of 64, as NumPy has it.
func (h Header) Append(dst []byte) []byte {
	text := h.text()
	text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n"
	return append(binary.LittleEndian.AppendUint16(append(dst, magic+"\x01\x00"...), uint16(len(text))), text...)
}

// AppendLoose appends a header of version 2 with the spaces that the npz files of certspec have always had.
func (h Header) AppendLoose(dst []byte) []byte {
	text := h.text()
	text += strings.Repeat(" ", (12+len(text)+1)%16) + "\n"
	return append(binary.LittleEndian.AppendUint32(append(dst, magic+"\x02\x00"...), uint32(len(text))), text...)
}

func (h Header) text() string {
	order := "False"
	if h.Fortran {
		order = "True"
	}
	tuple := strings.Trim(strings.ReplaceAll(fmt.Sprint(h.Shape), " ", ", "), "[]")
	if len(h.Shape) == 1 {
		tuple += ","
	}
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }", h.Type, order, tuple)
}

// WriteHeader writes what stands before the data of a NumPy file, format version 1.0: the type of the values, as
// "|u1" (uint8), "<i8" or "<f4", and the shape; the data follow in C order.
func WriteHeader(w io.Writer, descr string, shape ...int) error {
	_, err := w.Write(Header{Type: descr, Shape: shape}.Append(nil))
	return err
}
