package npy

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// file puts a file together from the description of the format.
func file(version byte, text string) []byte {
	if version == 1 {
		return append([]byte{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, byte(len(text)), byte(len(text) >> 8)}, text...)
	}
	return append([]byte{0x93, 'N', 'U', 'M', 'P', 'Y', version, 0, byte(len(text)), byte(len(text) >> 8), 0, 0}, text...)
}

func TestRead(t *testing.T) {
	for text, want := range map[string]Header{
		"{'descr': '|u1', 'fortran_order': False, 'shape': (10, 2, 2, 3), }     \n": {"|u1", false, []int{10, 2, 2, 3}},
		"{'shape':(5,),'descr':'<i8','fortran_order':True}":                         {"<i8", true, []int{5}},
		"{'descr': '>f8', 'fortran_order': False, 'shape': (), }\n":                 {">f8", false, []int{}},
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 0L), }\n":           {"<f4", false, []int{3, 0}}, // Python 2
	} {
		for _, version := range []byte{1, 2, 3} {
			data := file(version, text)
			r := bytes.NewReader(append(data, 7))
			h, n, err := Read(r)
			if err != nil || !reflect.DeepEqual(h, want) || n != int64(len(data)) || r.Len() != 1 {
				t.Errorf("version %d, %q: %+v, %d bytes, %v", version, text, h, n, err)
			}
		}
	}
}

func TestReadErrors(t *testing.T) {
	good := "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }\n"
	const each = "expected 'descr': '<TYPE>', 'fortran_order': True or False, 'shape': (SIDES), each once"
	for _, c := range []struct {
		want string
		data []byte
	}{
		{"no .npy header", []byte("\x93NUM")},
		{"an .npz archive", []byte("PK\x03\x04......")},
		{"version 4", file(4, good)},
		{"truncated", file(1, good)[:30]},
		{"at most 65536", []byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{}")},
		{"a dictionary", file(1, "abc")},
		{"order and shape", file(1, "{'descr': '|u1', 'shape': (1,)}")},
		{"a side of 1234567890123456789012", file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1234567890123456789012,)}")},
		{each, file(1, "{'descr': '|u1', 'descr': '|u1', 'shape': (1,)}")},
		{each, file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (), 'shape': (1,)}")},
		{each, file(1, "{'descr': '|u1', 'fortran_order': Maybe, 'shape': (1,)}")},
		{each, file(1, "{'descr': (1,), 'fortran_order': False, 'shape': (1,)}")},
		{each, file(1, "{'descr': '', 'fortran_order': False, 'shape': (1,)}")},
		{each, file(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}")},
		{each, file(1, "{'descr': '|u1', 'fortran_order': 'False', 'shape': (1,)}")},
		{each, file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': True}")},
		{each, file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1 2,)}")},
		{each, file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1,,2)}")},
		{each, file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (,)}")},
		{each, file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1-2,)}")},
		{each, file(1, "{'descr': '|u1' 'fortran_order': False, 'shape': (1,)}")},
		{each, file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), 'more': 1}")},
	} {
		if h, _, err := Read(bytes.NewReader(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %+v, %v; want it to say %q", c.data, h, err, c.want)
		}
	}
}

func TestSize(t *testing.T) {
	for _, c := range []struct {
		shape []int
		want  int64
	}{{nil, 1}, {[]int{2, 3}, 6}, {[]int{0, 1 << 62}, 0}, {[]int{10, 10}, 100}, {[]int{101}, -1}, {[]int{1 << 62, 4}, -1}, {[]int{-1}, -1}, {[]int{-1, 0}, -1}} {
		size, err := Header{Shape: c.shape}.Size(100)
		if (err != nil) != (c.want < 0) || err == nil && size != c.want {
			t.Errorf("%v: %d, %v; want %d", c.shape, size, err, c.want)
		}
	}
}

// NumPy pads the header with spaces to a multiple of 64, with a newline at the end.
func TestAppend(t *testing.T) {
	for want, h := range map[string]Header{
		"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" + strings.Repeat(" ", 58) + "\n": {"<f4", false, []int{2, 3}},
		"\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }" + strings.Repeat(" ", 60) + "\n":   {"|u1", false, []int{5}},
	} {
		if got := h.Append(nil); string(got) != want {
			t.Errorf("%+v gives\n%q, want\n%q", h, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }"))
	f.Add([]byte("{'shape':(), 'descr':'<f8', 'fortran_order':True}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, _, err := Read(bytes.NewReader(file(2, string(text))))
		if err != nil {
			return
		}
		for _, data := range [][]byte{h.Append(nil), h.AppendLoose(nil)} {
			if again, n, err := Read(bytes.NewReader(data)); err != nil || !reflect.DeepEqual(again, h) || n != int64(len(data)) {
				t.Errorf("%+v is written as %q, which is %+v, %v", h, data, again, err)
			}
		}
	})
}
