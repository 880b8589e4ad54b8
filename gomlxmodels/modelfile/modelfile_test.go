package modelfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
)

// A file put together by hand from the description of the format.
var byHand = "\x58\x00\x00\x00\x00\x00\x00\x00" +
	`{"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}       ` +
	"\x00\x00\x80\x3f" + "\x00\x00\x00\xc0" // 1, −2

func TestDecodeByHand(t *testing.T) {
	tensors, metadata, err := Decode([]byte(byHand))
	if err != nil {
		t.Fatal(err)
	}
	want := []Tensor{{Name: "x", Shape: []int{1, 2}, Values: []float32{1, -2}}}
	if !reflect.DeepEqual(tensors, want) || metadata["a"] != "b" {
		t.Errorf("got %v with %v, want %v", tensors, metadata, want)
	}
	data, err := Encode(want, map[string]string{"a": "b"})
	if err != nil || string(data) != byHand {
		t.Errorf("wrote %q, %v", data, err)
	}
}

func TestEncodeDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}(/[a-zé"\\]{1,3})?`), 0, 5, rapid.ID).Draw(t, "names")
		var tensors []Tensor
		for _, name := range names {
			shape := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 3).Draw(t, "shape")
			size, _ := elements(shape)
			bits := rapid.SliceOfN(rapid.Uint32(), int(size), int(size)).Draw(t, "bits")
			values := make([]float32, size)
			for i, b := range bits {
				values[i] = math.Float32frombits(b)
			}
			tensors = append(tensors, Tensor{Name: name, Shape: shape, Values: values})
		}
		data, err := Encode(tensors, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(tensors, func(a, b Tensor) int { return strings.Compare(a.Name, b.Name) })
		slices.SortFunc(got, func(a, b Tensor) int { return strings.Compare(a.Name, b.Name) })
		if len(got) != len(tensors) {
			t.Fatalf("%d tensors, want %d", len(got), len(tensors))
		}
		for i, want := range tensors {
			same := slices.EqualFunc(got[i].Values, want.Values, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) })
			if got[i].Name != want.Name || !slices.Equal(got[i].Shape, want.Shape) || !same {
				t.Fatalf("%v, want %v", got[i], want)
			}
		}
		// No beginning of a file passes for the whole of it.
		cut := rapid.IntRange(0, len(data)-1).Draw(t, "cut")
		if _, _, err := Decode(data[:cut]); err == nil {
			t.Fatalf("%d of %d bytes were read without an error", cut, len(data))
		}
	})
}

func TestDecodeErrors(t *testing.T) {
	file := func(header, data string) string {
		return string([]byte{byte(len(header)), byte(len(header) >> 8), 0, 0, 0, 0, 0, 0}) + header + data
	}
	for want, data := range map[string]string{
		"3 bytes":                             "abc",
		"header of 1157442765409226768 bytes": "\x10\x10\x10\x10\x10\x10\x10\x10",
		"truncated: the header takes 9":       "\x09\x00\x00\x00\x00\x00\x00\x00{",
		"no JSON object":                      file(`[]`, ""),
		"not a table of strings":              file(`{"__metadata__":{"a":1}}`, ""),
		"of type \"F16\"; expected F32":       file(`{"x":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}`, "ab"),
		"shape [-1]":                          file(`{"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, "abcd"),
		"shape [1099511627776 8]":             file(`{"x":{"dtype":"F32","shape":[1099511627776,8],"data_offsets":[0,4]}}`, "abcd"),
		"expected 0 to 4":                     file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, "abcdefgh"),
		"expected 4 to 8":                     file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"y":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, "abcd"),
		"ends at byte 4 of 3":                 file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, "abc"),
		"1 bytes after the last tensor":       file(`{}`, "a"),
		"tensor \"x\" stands twice": file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[],"data_offsets":[8,12]},`+
			`"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, "abcdefghijkl"),
		"tensor \"\u00e4\" stands twice":       file(`{"\u00e4":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"ä":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`, ""),
		"tensor \"x\": \"shape\" stands twice": file(`{"x":{"dtype":"F32","shape":[2],"shape":[1],"data_offsets":[0,4]}}`, "abcd"),
		"unknown field":                        file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"z":1}}`, "abcd"),
	} {
		if _, _, err := Decode([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
}

// 1 and −2 by the definitions of the types.
func TestDecodeAny(t *testing.T) {
	for kind, bytes := range map[string]string{
		"F32":  "\x00\x00\x80\x3f\x00\x00\x00\xc0",
		"F16":  "\x00\x3c\x00\xc0",
		"BF16": "\x80\x3f\x00\xc0",
		"F64":  "\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00\xc0",
		"I64":  "\x01\x00\x00\x00\x00\x00\x00\x00\xfe\xff\xff\xff\xff\xff\xff\xff",
	} {
		header := fmt.Sprintf(`{"x":{"dtype":"%s","shape":[2],"data_offsets":[0,%d]}}`, kind, len(bytes))
		data := string([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}) + header + bytes
		got, _, err := DecodeAny([]byte(data))
		if want := []Tensor{{Name: "x", Shape: []int{2}, Values: []float32{1, -2}}}; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", kind, got, err)
		}
		if types := Types([]byte(data)); types["x"] != kind || len(types) != 1 {
			t.Errorf("%s: types %v", kind, types)
		}
		if _, _, err := DecodeAny([]byte(data[:len(data)-1])); err == nil {
			t.Errorf("%s: a byte less passes", kind)
		}
		if _, _, err := DecodeAny([]byte(strings.Replace(data, kind, kind[:len(kind)-1]+"?", 1))); err == nil || !strings.Contains(err.Error(), "expected F32, F16, BF16, F64 or I64") {
			t.Errorf("%s: unknown type: %v", kind, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(byHand))
	f.Add([]byte(byHand[:50]))
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, metadata, err := DecodeAny(data) // reads what Decode reads, and more
		if err != nil {
			return
		}
		again, err := Encode(tensors, metadata)
		if err != nil {
			return // e.g. a name that is reserved
		}
		if _, _, err := Decode(again); err != nil {
			t.Errorf("what was read and written cannot be read: %v", err)
		}
	})
}

func FuzzCard(f *testing.F) {
	card, err := json.Marshal(model().Card)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(card)
	f.Add(bytes.Replace(card, []byte(`"format":0`), []byte(`"format":1`), 1))
	f.Add([]byte(`{"format":2,"new":true}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if card, err := decodeCard(data); err == nil && card.Architecture.Check() != nil {
			t.Error("a card with a wrong architecture was read")
		}
	})
}

func model() *Model {
	m := &Model{Card: Card{
		Architecture: nets.Architecture{Name: "small-cnn", Shape: pixel.Shape{Height: 8, Width: 8, Channels: 1}, Classes: 3},
		Classes:      []string{"a", "b", "c"},
		Recipe:       Recipe{Method: "gaussian", Options: map[string]any{"share": "all"}, Sigma: new(0.25), Seed: 1<<63 + 1},
	}}
	for _, t := range m.Card.Architecture.Tensors() {
		m.Weights = append(m.Weights, Tensor{Name: t.Name, Shape: t.Shape, Values: t.Initialize(1)})
	}
	return m
}

func TestWriteRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "net")
	want := model()
	want.Weights[0].Values[3] = float32(math.NaN())
	if Exists(path) {
		t.Error("exists before it was written")
	}
	if err := Write(path, want); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + ".json", path + ".safetensors"} {
		if !Exists(name) {
			t.Errorf("%s does not exist", name)
		}
		got, err := Read(name)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Card, want.Card) {
			t.Errorf("card %+v, want %+v", got.Card, want.Card)
		}
		if !slices.Equal(got.Weights[3].Values, want.Weights[3].Values) || got.Weights[3].Name != want.Weights[3].Name {
			t.Error("other weights were read than written")
		}
		if got.NotFinite() != 1 {
			t.Errorf("%d weights that are not finite, want 1", got.NotFinite())
		}
	}
	if want.Card.Parameters != want.Card.Architecture.Parameters() || want.Card.Format != 1 {
		t.Errorf("card of format %d with %d parameters", want.Card.Format, want.Card.Parameters)
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if err != nil || len(files) > 0 {
		t.Errorf("left behind: %v %v", files, err)
	}
}

// What is wrong with a pair of files, and what the error says of it.
func TestReadErrors(t *testing.T) {
	edit := func(t *testing.T, path string, change func(string) string) {
		t.Helper()
		data := testkit.Read(t, path)
		if changed := change(string(data)); changed == string(data) {
			t.Fatalf("%s did not change", path)
		} else if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	inCard := func(old, new string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			edit(t, path+".json", func(s string) string { return strings.Replace(s, old, new, 1) })
		}
	}
	other := func(change func(*Model)) func(*testing.T, string) {
		return func(t *testing.T, path string) { // weights of another network, with a digest that fits
			m := model()
			change(m)
			data, err := Encode(m.Weights, nil)
			if err != nil {
				t.Fatal(err)
			}
			testkit.Write(t, data, path+".safetensors")
			card, err := ReadCard(path)
			if err != nil {
				t.Fatal(err)
			}
			inCard(card.Weights, digest(data))(t, path)
		}
	}
	for want, damage := range map[string]func(*testing.T, string){
		"net.json: no such file":        func(t *testing.T, path string) { os.Remove(path + ".json") },
		"net.safetensors: no such file": func(t *testing.T, path string) { os.Remove(path + ".safetensors") },
		"truncated": func(t *testing.T, path string) {
			edit(t, path+".safetensors", func(s string) string { return s[:len(s)-9] })
		},
		"its card says": func(t *testing.T, path string) {
			edit(t, path+".safetensors", func(s string) string { return s[:len(s)-1] + "x" })
		},
		"unexpected EOF":                                              func(t *testing.T, path string) { edit(t, path+".json", func(s string) string { return s[:40] }) },
		"card of format 2; this program":                              func(t *testing.T, path string) { inCard(`"format": 1`, `"format": 2, "zzz": 1`)(t, path) },
		"unknown field \"zzz\"":                                       inCard(`"format": 1`, `"format": 1, "zzz": 1`),
		"no network \"big-cnn\"":                                      inCard(`small-cnn`, `big-cnn`),
		"names 2 classes, its architecture has 3":                     inCard("\"a\",\n", ""),
		"is of shape [3 3 1 16]; a small-cnn for images of 8×8×2":     inCard(`"channels": 1`, `"channels": 2`),
		"holds the weights of a small-cnn, but its card says resnet8": inCard(`small-cnn`, `resnet8`),
		"tensor \"spare\" is not one of a small-cnn": other(func(m *Model) {
			m.Weights = append(m.Weights, Tensor{Name: "spare", Shape: []int{1}, Values: []float32{0}})
		}),
		"tensor \"head/bias\" of a small-cnn is missing": other(func(m *Model) { m.Weights = m.Weights[:len(m.Weights)-1] }),
	} {
		t.Run(want, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "net")
			if err := Write(path, model()); err != nil {
				t.Fatal(err)
			}
			damage(t, path)
			if _, err := Read(path); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v; want it to say %q", err, want)
			}
		})
	}
}

func TestWriteRefusesForeignWeights(t *testing.T) {
	m := model()
	m.Weights = m.Weights[1:]
	path := filepath.Join(t.TempDir(), "net")
	if err := Write(path, m); err == nil || Exists(path) {
		t.Errorf("error %v for a model without its first tensor", err)
	}
}

// Cards from before there were methods name none; networks of other programs have none.
func TestCardWithoutMethod(t *testing.T) {
	m := model()
	m.Card.Recipe.Method, m.Card.Recipe.Options = "", nil
	for want, source := range map[string]*Source{"gaussian": nil, "": {Origin: imported}} {
		path := filepath.Join(t.TempDir(), "net")
		m.Card.Source = source
		if err := Write(path, m); err != nil {
			t.Fatal(err)
		}
		card, err := ReadCard(path)
		if err != nil || card.Recipe.Method != want || (want != "") != (card.Recipe.Options["share"] == "all") {
			t.Errorf("recipe %+v, %v; want the method %q", card.Recipe, err, want)
		}
	}
}
