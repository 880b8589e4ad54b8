// Package classfile reads and writes the files in a folder of predictions: the labels, and the
// classes that a model chose.
package classfile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/npy"
	"github.com/certspec/certspec/internal/textfile"
)

// Labels is the file of labels in a folder of predictions.
const Labels = "labels.npy"

// FormatIDs writes ascending ids as PredictionCard has them.
func FormatIDs(ids []int) string {
	var parts []string
	for i := 0; i < len(ids); {
		j := i + 1
		for j+1 < len(ids) && ids[j+1]-ids[j] == ids[i+1]-ids[i] {
			j++
		}
		if j < i+2 {
			parts = append(parts, strconv.Itoa(ids[i]))
			i++
			continue
		}
		parts = append(parts, fmt.Sprintf("%d:%d:%d", ids[i], ids[j]+1, ids[i+1]-ids[i]))
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// Write writes whole numbers as a .npy file of 32-bit integers.
func Write(path string, classes []int) error {
	data := npy.Header{Type: "<i4", Shape: []int{len(classes)}}.Append(nil)
	for _, c := range classes {
		data = binary.LittleEndian.AppendUint32(data, uint32(int32(c)))
	}
	return atomicfile.Write(path, data)
}

// Read reads whole numbers: a .npy file of one dimension, or a .json list.
func Read(path string) ([]int, error) {
	data, err := textfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("lines: %w", err)
	}
	classes, err := decodeClasses(data)
	if err != nil {
		return nil, fmt.Errorf("lines: %s: %w", path, err)
	}
	return classes, nil
}

func decodeClasses(data []byte) ([]int, error) {
	if !bytes.HasPrefix(data, []byte("\x93NUMPY")) {
		var classes []int
		if err := json.Unmarshal(data, &classes); err != nil {
			return nil, fmt.Errorf("neither a .npy file nor a list of whole numbers: %w", err)
		}
		return classes, nil
	}
	r := bytes.NewReader(data)
	h, _, err := npy.Read(r)
	if err != nil {
		return nil, err
	}
	width := map[string]int{"|u1": 1, "|i1": 1, "<u2": 2, "<i2": 2, "<u4": 4, "<i4": 4, "<u8": 8, "<i8": 8}[h.Type]
	if width == 0 || len(h.Shape) != 1 {
		return nil, fmt.Errorf("values of type %s with %d dimensions; expected whole numbers (as int32) in one", h.Type,
			len(h.Shape))
	}
	rest, _ := io.ReadAll(r)
	if h.Shape[0] < 0 || h.Shape[0] > len(rest) || len(rest) != width*h.Shape[0] {
		return nil, fmt.Errorf("%d bytes for %d values of type %s", len(rest), h.Shape[0], h.Type)
	}
	classes := make([]int, h.Shape[0])
	for i := range classes {
		var padded [8]byte
		copy(padded[:], rest[width*i:width*(i+1)])
		v := int64(binary.LittleEndian.Uint64(padded[:]))
		if strings.Contains(h.Type, "i") {
			v = v << (64 - 8*width) >> (64 - 8*width)
		}
		classes[i] = int(v)
	}
	return classes, nil
}
