package dataset

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"
)

// Writers of small files in every format, independent of the readers.

func idxBytes(values []byte, dims ...int) []byte {
	file := []byte{0, 0, 8, byte(len(dims))}
	for _, dim := range dims {
		file = binary.BigEndian.AppendUint32(file, uint32(dim))
	}
	return append(file, values...)
}

// npyBytes follows the format description of NumPy (numpy.lib.format), version 1.0.
func npyBytes(dtype, order, shape string, values []byte) []byte {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", dtype, order, shape)
	for (10+len(header)+1)%64 != 0 {
		header += " "
	}
	header += "\n"
	file := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	return append(append(file, header...), values...)
}

type entry struct {
	name string
	data []byte
}

func tarBytes(t testing.TB, entries ...entry) []byte {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.data)), Typeflag: tar.TypeReg}
		if e.data == nil {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func gzipBytes(t testing.TB, data []byte) []byte {
	var buffer bytes.Buffer
	w := gzip.NewWriter(&buffer)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// pattern is a byte that tells image, row, column and channel apart.
func pattern(i, y, x, c int) uint8 { return uint8(31*i + 7*y + 3*x + 101*c) }

func patternImage(i, height, width int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			m.SetNRGBA(x, y, color.NRGBA{pattern(i, y, x, 0), pattern(i, y, x, 1), pattern(i, y, x, 2), 255})
		}
	}
	return m
}

func pngBytes(t testing.TB, m image.Image) []byte {
	var buffer bytes.Buffer
	if err := png.Encode(&buffer, m); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func jpegBytes(t testing.TB, m image.Image) []byte {
	var buffer bytes.Buffer
	if err := jpeg.Encode(&buffer, m, nil); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// useData makes a fresh folder $CERTSPEC_DATA and an empty cache.
func useData(t *testing.T) string {
	dir := t.TempDir()
	t.Setenv(dataVariable, dir)
	t.Setenv("CERTSPEC_CACHE", t.TempDir())
	return dir
}

func mustOpen(t testing.TB, name string) *Dataset {
	t.Helper()
	d, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func mustLoad(t testing.TB, d *Dataset) *Images {
	t.Helper()
	im, err := d.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return im
}
