package modelfile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/x448/float16"
)

// Tensor is a named array of float32, row-major.
type Tensor struct {
	Name   string
	Shape  []int
	Values []float32
}

// The safetensors format: eight bytes of header length, little-endian; a JSON header that
// gives each tensor a type, a shape and the range of its bytes in the rest; then the bytes,
// without gaps. Only the type F32 is written here.

const (
	metadataKey   = "__metadata__"
	maxHeader     = 16 << 20
	headerAligned = 8
)

type entry struct {
	Type    string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// Encode writes tensors and metadata in the safetensors format. Equal contents give equal bytes.
func Encode(tensors []Tensor, metadata map[string]string) ([]byte, error) {
	sorted := slices.SortedFunc(slices.Values(tensors), func(a, b Tensor) int {
		return strings.Compare(a.Name, b.Name)
	})
	header := make(map[string]any, len(sorted)+1)
	if len(metadata) > 0 {
		header[metadataKey] = metadata
	}
	var end int64
	for _, t := range sorted {
		if _, twice := header[t.Name]; twice || t.Name == metadataKey || t.Name == "" {
			return nil, fmt.Errorf("modelfile: tensor name %q is empty, reserved or used twice", t.Name)
		}
		size, err := elements(t.Shape)
		if err != nil || size != int64(len(t.Values)) {
			return nil, fmt.Errorf("modelfile: tensor %q of shape %v has %d values", t.Name, t.Shape, len(t.Values))
		}
		start := end
		end += 4 * size
		header[t.Name] = entry{Type: "F32", Shape: append([]int{}, t.Shape...), Offsets: [2]int64{start, end}}
	}
	text, err := json.Marshal(header) // sorts the keys
	if err != nil {
		return nil, fmt.Errorf("modelfile: %w", err)
	}
	for len(text)%headerAligned != 0 {
		text = append(text, ' ')
	}
	out := make([]byte, 0, 8+int64(len(text))+end)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(text)))
	out = append(out, text...)
	for _, t := range sorted {
		for _, v := range t.Values {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
		}
	}
	return out, nil
}

// Decode reads a safetensors file whose tensors are all of type F32. Tensors are in the
// order of their bytes. Errors say what is wrong in the file.
func Decode(data []byte) ([]Tensor, map[string]string, error) {
	return decode(data, map[string]NumberType{"F32": NumberTypes["F32"]}, "F32")
}

// DecodeAny is Decode for files of other programs: tensors may also be of type F16 and BF16,
// which float32 holds exactly, and of F64 and I64, which are rounded to float32.
func DecodeAny(data []byte) ([]Tensor, map[string]string, error) {
	return decode(data, NumberTypes, "F32, F16, BF16, F64 or I64")
}

// Types are the types of the tensors by name, such as F16, of a file that DecodeAny has read.
func Types(data []byte) map[string]string {
	types := map[string]string{}
	var header map[string]json.RawMessage
	if len(data) >= 8 && json.Unmarshal(data[8:8+binary.LittleEndian.Uint64(data)], &header) == nil {
		for name, text := range header {
			var e entry
			if name != metadataKey && json.Unmarshal(text, &e) == nil {
				types[name] = e.Type
			}
		}
	}
	return types
}

// NumberType is a type of numbers in a file, little-endian.
type NumberType struct {
	Size int // in bytes
	Read func([]byte) float32
}

// NumberTypes are those that DecodeAny reads, by the names that safetensors has for them.
var NumberTypes = map[string]NumberType{
	"F32":  {4, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }},
	"F16":  {2, func(b []byte) float32 { return float16.Frombits(binary.LittleEndian.Uint16(b)).Float32() }},
	"BF16": {2, func(b []byte) float32 { return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16) }},
	"F64":  {8, func(b []byte) float32 { return float32(math.Float64frombits(binary.LittleEndian.Uint64(b))) }},
	"I64":  {8, func(b []byte) float32 { return float32(int64(binary.LittleEndian.Uint64(b))) }},
}

func decode(data []byte, types map[string]NumberType, expected string) ([]Tensor, map[string]string, error) {
	if len(data) < 8 {
		return nil, nil, fmt.Errorf("not a safetensors file: %d bytes, the header's length alone takes 8", len(data))
	}
	length := binary.LittleEndian.Uint64(data)
	if length > maxHeader {
		return nil, nil, fmt.Errorf("not a safetensors file: header of %d bytes; at most %d are read", length,
			maxHeader)
	}
	data = data[8:]
	if uint64(len(data)) < length {
		return nil, nil, fmt.Errorf("truncated: the header takes %d bytes, the file has %d more", length, len(data))
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data[:length], &raw); err != nil {
		return nil, nil, fmt.Errorf("header is no JSON object: %w", err)
	}
	if err := keysOnce(data[:length]); err != nil {
		return nil, nil, err
	}
	data = data[length:]

	var metadata map[string]string
	if text, ok := raw[metadataKey]; ok {
		if err := json.Unmarshal(text, &metadata); err != nil {
			return nil, nil, fmt.Errorf("%s is not a table of strings: %w", metadataKey, err)
		}
		delete(raw, metadataKey)
	}
	entries := make(map[string]entry, len(raw))
	names := make([]string, 0, len(raw))
	for name, text := range raw {
		var e entry
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&e); err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		entries[name] = e
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := entries[names[i]].Offsets, entries[names[j]].Offsets
		return a[0] < b[0] || a[0] == b[0] && (a[1] < b[1] || a[1] == b[1] && names[i] < names[j])
	})

	tensors := make([]Tensor, 0, len(names))
	var end int64
	for _, name := range names {
		e := entries[name]
		size, err := elements(e.Shape)
		number, known := types[e.Type]
		width := int64(number.Size)
		switch {
		case !known:
			return nil, nil, fmt.Errorf("tensor %q is of type %q; expected %s", name, e.Type, expected)
		case err != nil:
			return nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		case e.Offsets[0] != end || e.Offsets[1]-e.Offsets[0] != width*size:
			return nil, nil, fmt.Errorf("tensor %q of shape %v is at bytes %d to %d; expected %d to %d",
				name, e.Shape, e.Offsets[0], e.Offsets[1], end, end+width*size)
		case e.Offsets[1] > int64(len(data)):
			return nil, nil, fmt.Errorf("truncated: tensor %q ends at byte %d of %d", name, e.Offsets[1], len(data))
		}
		values := make([]float32, size)
		for i := range values {
			values[i] = number.Read(data[end+width*int64(i):])
		}
		tensors = append(tensors, Tensor{Name: name, Shape: e.Shape, Values: values})
		end = e.Offsets[1]
	}
	if end != int64(len(data)) {
		return nil, nil, fmt.Errorf("%d bytes after the last tensor", int64(len(data))-end)
	}
	return tensors, metadata, nil
}

// keysOnce refuses a JSON object in which a key stands twice, at any depth: encoding/json would take the last.
func keysOnce(text []byte) error {
	type level struct {
		keys  map[string]bool // nil in a list
		value bool            // a value comes next, and no key
	}
	var open []*level
	var tensor string
	for dec := json.NewDecoder(bytes.NewReader(text)); ; {
		token, err := dec.Token()
		if err != nil { // its end: that it is JSON was found before
			return nil
		}
		if token == json.Delim('}') || token == json.Delim(']') {
			open = open[:len(open)-1]
			continue
		}
		if len(open) > 0 && open[len(open)-1].keys != nil {
			in := open[len(open)-1]
			if in.value = !in.value; in.value {
				key := token.(string)
				if len(open) == 1 {
					tensor = key
				}
				switch {
				case in.keys[key] && len(open) == 1:
					return fmt.Errorf("tensor %q stands twice", key)
				case in.keys[key]:
					return fmt.Errorf("tensor %q: %q stands twice", tensor, key)
				}
				in.keys[key] = true
				continue
			}
		}
		switch token {
		case json.Delim('{'):
			open = append(open, &level{keys: map[string]bool{}})
		case json.Delim('['):
			open = append(open, &level{})
		}
	}
}

// elements is the product of the sides, which may be empty (a scalar).
func elements(shape []int) (int64, error) {
	const limit = 1 << 40
	n := int64(1)
	for _, d := range shape {
		if d < 0 || d > limit || n*int64(d) > limit {
			return 0, fmt.Errorf("shape %v is out of range", shape)
		}
		n *= int64(d)
	}
	return n, nil
}
