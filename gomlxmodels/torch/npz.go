package torch

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/sbinet/npyio/npy"
	"github.com/sbinet/npyio/npz"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
)

// arrayTypes are the types of numbers by NumPy's names.
var arrayTypes = map[string]modelfile.NumberType{
	"<f4": modelfile.NumberTypes["F32"],
	"<f2": modelfile.NumberTypes["F16"],
	"<f8": modelfile.NumberTypes["F64"],
	"<i8": modelfile.NumberTypes["I64"],
}

// maxArray bounds the bytes of one array.
const maxArray = 1 << 32

// encodeNPZ writes one float32 array per tensor, by name. Equal tensors give equal bytes.
func encodeNPZ(tensors []modelfile.Tensor) ([]byte, error) {
	var out bytes.Buffer
	w := npz.NewWriter(&out)
	for _, t := range tensors {
		if err := w.Write(t.Name+".npy", nested(t)); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// nested gives the values as arrays of arrays, from which npyio takes the shape.
func nested(t modelfile.Tensor) any {
	form := reflect.TypeFor[float32]()
	for _, side := range slices.Backward(t.Shape) {
		form = reflect.ArrayOf(side, form)
	}
	var data []byte
	for _, v := range t.Values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	array := reflect.New(form)
	if _, err := binary.Decode(data, binary.LittleEndian, array.Interface()); err != nil {
		panic(fmt.Sprintf("torch: tensor %q of shape %v has %d values", t.Name, t.Shape, len(t.Values)))
	}
	return array.Interface()
}

// decodeNPZ reads an archive of arrays of floats or integers.
func decodeNPZ(data []byte) ([]modelfile.Tensor, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("not an .npz file: %w", err)
	}
	var tensors []modelfile.Tensor
	for _, entry := range archive.File {
		name := strings.TrimSuffix(entry.Name, ".npy")
		if slices.ContainsFunc(tensors, func(t modelfile.Tensor) bool { return t.Name == name }) {
			return nil, fmt.Errorf("array %q is there twice", name)
		}
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
	data, err := io.ReadAll(io.LimitReader(r, maxArray))
	if err != nil {
		return modelfile.Tensor{}, err
	}
	return decodeArray(data)
}

// decodeArray reads a .npy file. npyio panics on some damaged headers.
func decodeArray(data []byte) (t modelfile.Tensor, err error) {
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("damaged .npy file: %v", failure)
		}
	}()
	// npyio makes room for a header before it reads it.
	if len(data) >= 12 && data[6] == 2 && int64(binary.LittleEndian.Uint32(data[8:])) > int64(len(data)) {
		return t, errors.New("truncated in its header")
	}
	rest := bytes.NewReader(data)
	reader, err := npy.NewReader(rest)
	if err != nil {
		return t, fmt.Errorf("damaged .npy file: %w", err)
	}
	descr := reader.Header.Descr
	if descr.Fortran && len(descr.Shape) > 1 {
		return t, errors.New("in Fortran order; expected C order (save np.ascontiguousarray(array))")
	}
	number, known := arrayTypes[descr.Type]
	if !known {
		return t, fmt.Errorf("values of type %q; expected \"<f4\", \"<f2\", \"<f8\" or \"<i8\"", descr.Type)
	}
	size := int64(1)
	for _, side := range descr.Shape {
		if side < 0 || int64(side) > maxArray || size*int64(side) > maxArray {
			return t, fmt.Errorf("shape %v is out of range", descr.Shape)
		}
		size *= int64(side)
	}
	if size*int64(number.Size) != int64(rest.Len()) {
		return t, fmt.Errorf("%d bytes of values; an array of shape %v and type %q has %d", rest.Len(), descr.Shape, descr.Type, size*int64(number.Size))
	}
	values := data[len(data)-rest.Len():]
	t.Shape = append([]int{}, descr.Shape...)
	t.Values = make([]float32, size)
	for i := range t.Values {
		t.Values[i] = number.Read(values[i*number.Size:])
	}
	return t, nil
}
