package torch

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
)

// Pickles are put together from the description of the format in Python's Lib/pickletools.py, in the
// order in which PyTorch 2.15 writes them; internal/external reads real ones.

func text(s string) string { return "X" + little(uint32(len(s))) + s }

func little(values ...any) string {
	var b bytes.Buffer
	for _, v := range values {
		binary.Write(&b, binary.LittleEndian, v)
	}
	return b.String()
}

func tuple(numbers ...byte) string {
	s := "("
	for _, n := range numbers {
		s += "K" + string(rune(n))
	}
	return s + "t"
}

func table(pairs ...string) string {
	s := "ccollections\nOrderedDict\n)R("
	for i := 0; i < len(pairs); i += 2 {
		s += text(pairs[i]) + pairs[i+1]
	}
	return s + "u"
}

func tensorOf(class, key string, count, offset byte, shape, strides string) string {
	return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + class + "\n" + text(key) + text("cpu") +
		"K" + string(rune(count)) + "tQK" + string(rune(offset)) + shape + strides + "\x89ccollections\nOrderedDict\n)RtR"
}

// What is saved beside the weights: a call that must not be made, tensors of other types, a list.
var beside = "}(" + text("epoch") + "K\x07" + text("call") + "cos\nsystem\n(" + text("touch called") + "tR" +
	text("optimizer") + "}(K\x00" + table("step", tensorOf("IntStorage", "9", 1, 0, ")", ")")) + "u" + text("names") + "](" + text("a") + text("b") + "e"

var state = table(
	"transposed", tensorOf("FloatStorage", "0", 7, 1, tuple(3, 2), tuple(1, 3)),
	"half", tensorOf("HalfStorage", "1", 2, 0, tuple(2), tuple(1)),
	"parameter", "ctorch._utils\n_rebuild_parameter\n("+tensorOf("DoubleStorage", "3", 1, 0, tuple(1), tuple(1))+"\x88tR",
	"count", tensorOf("LongStorage", "2", 1, 0, ")", ")"),
)

var want = []modelfile.Tensor{
	{Name: "transposed", Shape: []int{3, 2}, Values: []float32{1, 4, 2, 5, 3, 6}},
	{Name: "half", Shape: []int{2}, Values: []float32{1, -2}},
	{Name: "parameter", Shape: []int{1}, Values: []float32{0.5}},
	{Name: "count", Shape: []int{}, Values: []float32{-3}},
}

var storages = map[string]string{
	"0": little(float32(0), float32(1), float32(2), float32(3), float32(4), float32(5), float32(6)),
	"1": little(uint16(0x3c00), uint16(0xc000)),
	"2": little(int64(-3)),
	"3": little(0.5),
	"9": little(int32(4)),
}

func zipped(pickle string) []byte {
	files := map[string]string{"net/data.pkl": pickle, "net/byteorder": "little", "net/version": "3\n"}
	for key, data := range storages {
		files["net/data/"+key] = data
	}
	return archive(files)
}

func legacy(pickle string, keys ...string) []byte {
	s := "\x80\x02\x8a\x0a" + string(legacyMagic) + "." + "\x80\x02M\xe9\x03." + "\x80\x02}(" + text("little_endian") + "\x88u." + pickle + "\x80\x02]("
	for _, key := range keys {
		s += text(key)
	}
	s += "e."
	sizes := map[string]int{"0": 7, "1": 2, "2": 1, "3": 1, "9": 1}
	for _, key := range keys {
		s += little(int64(sizes[key])) + storages[key]
	}
	return []byte(s)
}

func TestCheckpoint(t *testing.T) {
	for name, data := range map[string][]byte{
		"weights alone":         zipped("\x80\x02" + state + "."),
		"under state_dict":      zipped("\x80\x02" + beside + text("state_dict") + state + "u."),
		"under net":             zipped("\x80\x02" + beside + text("net") + state + "u."),
		"protocol 4":            zipped("\x80\x04\x95" + little(uint64(9)) + strings.ReplaceAll(state, "ctorch._utils\n_rebuild_tensor_v2\n", "\x8c\x0ctorch._utils\x8c\x12_rebuild_tensor_v2\x93\x94") + "."),
		"before 1.6":            legacy("\x80\x02"+beside+text("state_dict")+state+"u.", "0", "1", "2", "3", "9"),
		"before 1.6, reordered": legacy("\x80\x02"+state+".", "3", "2", "1", "0"),
	} {
		got, err := decodeCheckpoint(data, "")
		if err != nil || !reflect.DeepEqual(got.Tensors, want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// Of several tables of weights one is taken by a rule or by name, and the others are named.
func TestTables(t *testing.T) {
	none := table("w", tensorOf("LongStorage", "2", 1, 0, ")", ")"))
	keep := func(pairs ...string) string {
		return string(zipped("\x80\x02" + beside + table(pairs...)[len(table())-1:] + "."))
	}
	dir := t.TempDir()
	for name, c := range map[string]struct {
		data, ask, table, others string
		first                    string // the name of the first tensor
	}{
		"an average":                  {keep("model_ema", none, "model", state), "", "model", "model_ema", "transposed"},
		"the average":                 {keep("model", state, "model_ema", none), "model_ema", "model_ema", "model", "w"},
		"state_dict before its other": {keep("state_dict_ema", none, "state_dict", state), "", "state_dict", "state_dict_ema", "transposed"},
		"deeper":                      {keep("ema", table("shadow", none), "model", table("state_dict", state)), "", "model.state_dict", "ema.shadow", "transposed"},
		"the deeper":                  {keep("ema", table("shadow", none), "model", state), "ema.shadow", "ema.shadow", "model", "w"},
		"another name":                {keep("params", state), "", "params", "", "transposed"},
		"below a prefix":              {string(zipped("\x80\x02" + table("a.w", tensorOf("LongStorage", "2", 1, 0, ")", ")"), "b.w", tensorOf("LongStorage", "2", 1, 0, ")", ")")) + ".")), "b", "b", "", "w"},
	} {
		path := filepath.Join(dir, "w.pt")
		if err := os.WriteFile(path, []byte(c.data), 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := Read(path, c.ask)
		if err != nil || f.Table != c.table || strings.Join(f.Others, " ") != c.others || f.Tensors[0].Name != c.first {
			t.Errorf("%s: table %q beside %q, %v", name, f.Table, f.Others, err)
		}
	}
	for want, c := range map[string]struct{ data, ask string }{
		"no table of weights under state_dict, model_state_dict, net, model, weights; choose by --table: student, teacher": {keep("student", none, "teacher", state), ""},
		`it has no table "ema"; expected one of model, model_ema`:                                                          {keep("model", state, "model_ema", none), "ema"},
		`no table "ema", and no tensor whose name begins with "ema."; leave --table out`:                                   {string(zipped("\x80\x02" + state + ".")), "ema"},
		`"model" asks to call __main__.Net, which is never done; expected a table of tensors; choose by --table: ema`:      {keep("ema", state, "model", "c__main__\nNet\n)\x81"), ""},
	} {
		path := filepath.Join(dir, "w.pt")
		if err := os.WriteFile(path, []byte(c.data), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path, c.ask); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
}

func TestCheckpointErrors(t *testing.T) {
	one := func(value string) []byte { return zipped("\x80\x02" + table("w", value) + ".") }
	for want, data := range map[string][]byte{
		"a whole __main__.Net was saved":                       zipped("\x80\x02c__main__\nNet\n)\x81}b."),
		"it holds epoch, call, optimizer, names, and no table": zipped("\x80\x02" + beside + "u."),
		`"w" asks to call posix.system, which is never done`:   one("cposix\nsystem\n(" + text("true") + "tR"),
		`tensor "w": it asks to call posix.system`:             zipped("\x80\x02" + table("state_dict", table("w", "cposix\nsystem\n("+text("true")+"tR")) + "."),
		"it holds no table of weights":                         zipped("\x80\x02K\x01."),
		`"w": values of a ByteStorage`:                         one(tensorOf("ByteStorage", "0", 1, 0, ")", ")")),
		`"w": the archive has no data/7`:                       one(tensorOf("FloatStorage", "7", 1, 0, ")", ")")),
		`"w": truncated: 7 of 9 values are there`:              one(tensorOf("FloatStorage", "0", 9, 0, tuple(9), tuple(1))),
		"shape [3 3], strides [3 1] and offset 0 leave its 7":  one(tensorOf("FloatStorage", "0", 7, 0, tuple(3, 3), tuple(3, 1))),
		"shape [2 2], strides [5 2] and offset 0 leave its 7":  one(tensorOf("FloatStorage", "0", 7, 0, tuple(2, 2), tuple(5, 2))),
		"offset 0, shape [2], strides []":                      one(tensorOf("FloatStorage", "0", 7, 0, tuple(2), ")")),
		"none that PyTorch writes":                             zipped("\x80\x02I5\n."),
		"protocol 9":                                           zipped("\x80\x09}."),
		"its stack is empty":                                   zipped("\x80\x02R."),
		"has no mark":                                          zipped("\x80\x02t."),
		"refers to value 3":                                    zipped("\x80\x02h\x03."),
		`tensor "w" stands twice`:                              zipped("\x80\x02" + table("w", tensorOf("LongStorage", "2", 1, 0, ")", ")"), "w", tensorOf("LongStorage", "2", 1, 0, ")", ")")) + "."),
		"truncated pickle":                                     zipped("\x80\x02" + state[:60]),
		"big":                                                  archive(map[string]string{"net/data.pkl": state + ".", "net/byteorder": "big"}),
		`truncated or damaged at storage "2"`:                  legacy("\x80\x02"+state+".", "0", "1", "3", "2")[:len(legacy("\x80\x02"+state+".", "0", "1", "3", "2"))-1],
		`the file has no storage "3"`:                          legacy("\x80\x02"+state+".", "0", "1", "2"),
		"a pickle, and no checkpoint of PyTorch":               []byte("\x80\x02" + state + "."),
	} {
		if _, err := decodeCheckpoint(data, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
}

// sparse is a tensor as RobustNets stores it, where 7 holds the places.
func sparse(places, values, flat, shape string) string {
	size := func(of string) string { return "ctorch\nSize\n(" + of + "tR" }
	return "(" + places + values + size(flat) + size(shape) + "t"
}

// A sparse tensor is put together exactly, and one that is damaged refused.
func TestSparse(t *testing.T) {
	storages["7"], storages["8"] = little(int32(5), int32(0), int32(3), int32(6), int32(-1), int32(3)), little(int64(1), int64(4))
	defer func() { delete(storages, "7"); delete(storages, "8") }()
	ints := func(n, offset byte) string { return tensorOf("IntStorage", "7", 6, offset, tuple(1, n), tuple(n, 1)) }
	values := func(n byte) string { return tensorOf("FloatStorage", "0", 7, 1, tuple(n), tuple(1)) }
	got, err := decodeCheckpoint(zipped("\x80\x02"+table(
		"w", sparse(ints(3, 0), values(3), tuple(6), tuple(2, 3)),
		"none", sparse(tensorOf("IntStorage", "7", 6, 0, tuple(1, 0), tuple(1, 1)), values(0), tuple(2), tuple(2)),
		"long", sparse(tensorOf("LongStorage", "8", 2, 0, tuple(1, 2), tuple(2, 1)), values(2), tuple(6), tuple(6, 1)),
	)+"."), "")
	want := []modelfile.Tensor{
		{Name: "w", Shape: []int{2, 3}, Values: []float32{2, 0, 0, 3, 0, 1}},
		{Name: "none", Shape: []int{2}, Values: []float32{0, 0}},
		{Name: "long", Shape: []int{6, 1}, Values: []float32{0, 1, 0, 0, 2, 0}},
	}
	if err != nil || !reflect.DeepEqual(got.Tensors, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for want, value := range map[string]string{
		"its value 3 is at 6; expected a place from 0 to 5": sparse(ints(4, 0), values(4), tuple(6), tuple(2, 3)),
		"its value 0 is at -1":                              sparse(ints(1, 4), values(1), tuple(6), tuple(2, 3)),
		"two of its values are at 3":                        sparse(tensorOf("IntStorage", "7", 6, 2, tuple(1, 2), tuple(1, 3)), values(2), tuple(6), tuple(6)),
		"places of shape [1 3], values of shape [2]":        sparse(ints(3, 0), values(2), tuple(6), tuple(2, 3)),
		"flat shape [5] and shape [2 3] do not fit":         sparse(ints(3, 0), values(3), tuple(5), tuple(2, 3)),
		"its places are a FloatStorage":                     sparse(values(3), values(3), tuple(6), tuple(2, 3)),
		"its flat shape is":                                 "(" + ints(3, 0) + values(3) + "K\x06" + tuple(6) + "t",
		"no table of weights under":                         "(" + ints(3, 0) + values(3) + "t",
	} {
		if _, err := decodeCheckpoint(zipped("\x80\x02"+table("w", value)+"."), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
}

func FuzzCheckpoint(f *testing.F) {
	f.Add(zipped("\x80\x02" + state + "."))
	f.Add(zipped("\x80\x02" + beside + text("net") + state + "u."))
	f.Add(zipped("\x80\x02" + table("w", sparse(tensorOf("IntStorage", "9", 1, 0, tuple(1, 1), tuple(1, 1)), tensorOf("FloatStorage", "0", 7, 1, tuple(1), tuple(1)), tuple(6), tuple(2, 3))) + "."))
	f.Add(legacy("\x80\x02"+beside+text("state_dict")+state+"u.", "0", "1", "2", "3", "9"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !isCheckpoint(data) {
			return
		}
		file, err := decodeCheckpoint(data, "")
		if err != nil {
			return
		}
		for _, tensor := range file.Tensors {
			if size(tensor.Shape) != len(tensor.Values) {
				t.Errorf("tensor %q of shape %v has %d values", tensor.Name, tensor.Shape, len(tensor.Values))
			}
		}
	})
}

// FuzzPickle is FuzzCheckpoint past the archive around the pickle.
func FuzzPickle(f *testing.F) {
	f.Add([]byte("\x80\x02" + state + "."))
	f.Add([]byte("\x80\x02" + beside + text("state_dict") + state + "u."))
	f.Add([]byte("(ccollections\nOrderedDict\n)RX\x01\x00\x00\x00a](K\x01eq\x00h\x00\x86s."))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := decodeCheckpoint(zipped(string(data)), "")
		if err != nil {
			return
		}
		for _, tensor := range file.Tensors {
			if size(tensor.Shape) != len(tensor.Values) {
				t.Errorf("tensor %q of shape %v has %d values", tensor.Name, tensor.Shape, len(tensor.Values))
			}
		}
	})
}
