// Package npy reads and writes what stands before the values of a NumPy file, as NumPy's numpy.lib.format describes it:
// "\x93NUMPY", two bytes of version, the length of the header, and a Python dictionary of type, order and shape.
package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Header is what a file says of its values, which follow it.
type Header struct {
	Type    string // NumPy's name, as "|u1" (uint8), "<i8" or "<f4"
	Fortran bool   // the first dimension is the fastest
	Shape   []int
}

const (
	magic = "\x93NUMPY"
	most  = 1 << 16 // bytes of a header
)

// Read reads a header of format version 1, 2 or 3 and leaves r at the first value. n is the bytes that were read. Values
// of several fields have no Header.
func Read(r io.Reader) (h Header, n int64, err error) {
	var start [12]byte
	if _, err := io.ReadFull(r, start[:10]); err != nil {
		return h, 0, fmt.Errorf("no .npy header: %w", err)
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

// item is a key of the dictionary with its value: a string, a truth value or a tuple of whole numbers.
var item = regexp.MustCompile(`^\s*'(descr|fortran_order|shape)'\s*:\s*(?:'([^']*)'|(True|False)|\(([-0-9L,\s]*)\))\s*(?:,\s*|$)`)

func parse(text string) (h Header, err error) {
	text, open := strings.CutPrefix(strings.TrimSpace(text), "{")
	text, closed := strings.CutSuffix(text, "}")
	if !open || !closed {
		return h, errors.New("expected a dictionary")
	}
	known := map[string]bool{}
	for text != "" {
		m := item.FindStringSubmatch(text)
		if m == nil || known[m[1]] {
			return h, errors.New("expected 'descr': '<TYPE>', 'fortran_order': True or False, 'shape': (SIDES), each once")
		}
		text = text[len(m[0]):]
		key, value := m[1], ""
		switch { // what a value may be, goes by its key
		case key == "descr":
			value, h.Type = m[2], m[2]
		case key == "fortran_order":
			value, h.Fortran = m[3], m[3] == "True"
		default:
			value = "()"
			h.Shape, err = sides(m[4])
			if m[2] != "" || m[3] != "" {
				value = ""
			}
		}
		if err != nil || value == "" {
			return h, fmt.Errorf("%s: %w", key, errors.Join(err, errors.New("expected another kind of value")))
		}
		known[key] = true
	}
	if len(known) != 3 {
		return h, errors.New("expected descr, fortran_order and shape")
	}
	return h, nil
}

// sides reads what stands between the parentheses of a tuple.
func sides(text string) ([]int, error) {
	shape := []int{}
	for side := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(text), ","), ",") {
		if side = strings.TrimSuffix(strings.TrimSpace(side), "L"); side == "" && len(shape) == 0 && strings.TrimSpace(text) == "" {
			break // the tuple of no dimensions
		}
		n, err := strconv.Atoi(side)
		if err != nil {
			return nil, fmt.Errorf("a side of %q", side)
		}
		shape = append(shape, n)
	}
	return shape, nil
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
	const before = len(magic) + 4
	text := h.text()
	text += strings.Repeat(" ", 63-(before+len(text))%64) + "\n"
	dst = append(append(dst, magic...), 1, 0)
	return append(binary.LittleEndian.AppendUint16(dst, uint16(len(text))), text...)
}

// AppendLoose appends a header of version 2 with the spaces that the npz files of certspec have always had.
func (h Header) AppendLoose(dst []byte) []byte {
	const before = len(magic) + 6
	text := h.text()
	text += strings.Repeat(" ", (before+len(text)+1)%16) + "\n"
	dst = append(append(dst, magic...), 2, 0)
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(text))), text...)
}

func (h Header) text() string {
	order, list := "False", make([]string, len(h.Shape))
	if h.Fortran {
		order = "True"
	}
	for i, side := range h.Shape {
		list[i] = strconv.Itoa(side)
	}
	tuple := strings.Join(list, ", ")
	if len(list) == 1 {
		tuple += ","
	}
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }", h.Type, order, tuple)
}
