package torch

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/inflate"
	"github.com/certspec/certspec/internal/npy"
)

// arrayTypes are the types of numbers by NumPy's names.
var arrayTypes = map[string]modelfile.NumberType{
	"<f4": modelfile.NumberTypes["F32"],
	"<f2": modelfile.NumberTypes["F16"],
	"<f8": modelfile.NumberTypes["F64"],
	"<i8": modelfile.NumberTypes["I64"],
}

// encodeNPZ writes one float32 array per tensor, by name. Equal tensors give equal bytes.
func encodeNPZ(tensors []modelfile.Tensor) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, t := range tensors {
		file, err := w.Create(t.Name + ".npy")
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		data := npy.Header{Type: "<f4", Shape: t.Shape}.AppendLoose(nil)
		for _, v := range t.Values {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		if _, err := file.Write(data); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// decodeNPZ reads an archive of arrays of floats or integers. Names and sizes of all are checked
// before anything is inflated, and the shape of each before its values are.
func decodeNPZ(data []byte) ([]modelfile.Tensor, error) {
	files, err := inflate.Zip(data)
	if err != nil {
		return nil, fmt.Errorf("not an .npz file: %w", err)
	}
	names := map[string]bool{}
	for _, entry := range files {
		name := strings.TrimSuffix(entry.Name, ".npy")
		if names[name] {
			return nil, fmt.Errorf("array %q is there twice", name)
		}
		names[name] = true
	}
	var tensors []modelfile.Tensor
	for _, entry := range files {
		name := strings.TrimSuffix(entry.Name, ".npy")
		t, err := readArray(entry)
		if err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
		t.Name = name
		tensors = append(tensors, t)
	}
	return tensors, nil
}

func readArray(entry *zip.File) (modelfile.Tensor, error) {
	r, err := entry.Open()
	if err != nil {
		return modelfile.Tensor{}, err
	}
	defer r.Close()
	return decodeArray(r, int64(entry.UncompressedSize64))
}

// decodeArray reads a .npy file of a size.
func decodeArray(r io.Reader, size int64) (t modelfile.Tensor, err error) {
	r = bufio.NewReader(r)
	h, before, err := npy.Read(r)
	if err != nil {
		return t, err
	}
	if h.Fortran && len(h.Shape) > 1 {
		return t, errors.New("in Fortran order; expected C order (save np.ascontiguousarray(array))")
	}
	number, known := arrayTypes[h.Type]
	if !known {
		return t, fmt.Errorf("values of type %q; expected \"<f4\", \"<f2\", \"<f8\" or \"<i8\"", h.Type)
	}
	const most = 1 << 32
	n, err := h.Size(most)
	if err != nil {
		return t, err
	}
	if n*int64(number.Size) != size-before {
		return t, fmt.Errorf("%d bytes of values; an array of shape %v and type %q has %d", size-before, h.Shape,
			h.Type, n*int64(number.Size))
	}
	t.Shape, t.Values = h.Shape, make([]float32, n)
	value := make([]byte, number.Size)
	for i := range t.Values {
		if _, err := io.ReadFull(r, value); err != nil {
			return t, fmt.Errorf("truncated: %w", err)
		}
		t.Values[i] = number.Read(value)
	}
	return t, inflate.End(r)
}
