package torch

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/inflate"
)

// A checkpoint is what torch.save writes: since PyTorch 1.6 a zip archive of data.pkl and a file
// per storage, before that four pickles and the storages one after the other.

// storageTypes are the classes of storages.
var storageTypes = map[string]modelfile.NumberType{
	"FloatStorage":    modelfile.NumberTypes["F32"],
	"HalfStorage":     modelfile.NumberTypes["F16"],
	"BFloat16Storage": modelfile.NumberTypes["BF16"],
	"DoubleStorage":   modelfile.NumberTypes["F64"],
	"LongStorage":     modelfile.NumberTypes["I64"],
}

// stateKeys are where training scripts put the weights in what they save, the first choice first.
var stateKeys = []string{"state_dict", "model_state_dict", "net", "model", "weights"}

// legacyMagic is the first pickle of the older form: 0x1950a86a20f9469cfc6c, little-endian.
var legacyMagic = []byte{0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19}

func isCheckpoint(data []byte) bool {
	return bytes.HasPrefix(data, []byte("PK\x03\x04")) || bytes.HasPrefix(data, []byte{0x80, 2})
}

// decodeCheckpoint reads the tensors of a table of weights of a checkpoint; of the first by
// stateKeys where table is "". It runs nothing of what the pickle asks for.
func decodeCheckpoint(data []byte, table string) (f File, err error) {
	var value any
	var storage func(key string) ([]byte, error)
	if data[0] == 'P' {
		value, storage, err = openArchive(data)
	} else {
		value, storage, err = openLegacy(data)
	}
	if err != nil {
		return f, err
	}
	var state *dict
	if state, f.Table, f.Others, err = stateOf(value, table); err != nil {
		return f, err
	}
	if state.twice != "" {
		return f, fmt.Errorf("tensor %q stands twice", state.twice)
	}
	spent := budget{packed: int64(len(data))}
	for _, name := range state.keys {
		make := rebuild
		if _, ok := state.values[name].([]any); ok {
			make = rebuildSparse
		}
		t, err := make(state.values[name], spent.onceInARow(storage), &spent)
		if err != nil {
			return f, fmt.Errorf("tensor %q: %w", name, err)
		}
		t.Name = name
		f.Tensors = append(f.Tensors, t)
	}
	return f, nil
}

// budget counts what the tensors of a file become: many may be views of one storage.
type budget struct {
	packed, total int64
	key           string // of the storage that was read last
	data          []byte
}

func (b *budget) spend(what string, bytes int64) error {
	b.total += bytes
	return inflate.Check(what, b.total, b.packed)
}

// onceInARow reads a storage again only where another came between.
func (b *budget) onceInARow(storage func(string) ([]byte, error)) func(string) ([]byte, error) {
	return func(key string) ([]byte, error) {
		if b.data != nil && b.key == key {
			return b.data, nil
		}
		data, err := storage(key)
		if err != nil {
			return nil, err
		}
		b.key, b.data = key, data
		return data, b.spend("its storages", int64(len(data)))
	}
}

func openArchive(data []byte) (value any, storage func(string) ([]byte, error), err error) {
	archive, err := inflate.Zip(data)
	if err != nil {
		return nil, nil, fmt.Errorf("truncated or damaged: %w", err)
	}
	files := map[string]*zip.File{} // below the one folder of the archive
	for _, file := range archive {
		_, name, _ := strings.Cut(path.Clean(file.Name), "/")
		if files[name] != nil {
			return nil, nil, fmt.Errorf("file %q of the archive stands twice", name)
		}
		files[name] = file
	}
	read := func(name string, limit int64) ([]byte, error) {
		file := files[name]
		if file == nil {
			return nil, fmt.Errorf("the archive has no %s", name)
		}
		return inflate.ReadZipped(file, limit)
	}
	const maxPickle, maxStorage = 1 << 24, 1 << 32
	text, err := read("data.pkl", maxPickle)
	if err != nil {
		return nil, nil, fmt.Errorf("a zip file, and no checkpoint of PyTorch: %w", err)
	}
	if files["byteorder"] != nil {
		if order, err := read("byteorder", 16); err != nil || string(order) != "little" {
			return nil, nil, fmt.Errorf("its numbers are %.10q-endian; expected little-endian", order)
		}
	}
	value, err = unpickle(bufio.NewReader(bytes.NewReader(text)))
	return value, func(key string) ([]byte, error) { return read("data/"+key, maxStorage) }, err
}

func openLegacy(data []byte) (value any, storage func(string) ([]byte, error), err error) {
	rest := bytes.NewReader(data)
	r := bufio.NewReader(rest)
	var parts [5]any // magic number, protocol, system, what was saved, keys of the storages
	for i := range parts {
		if parts[i], err = unpickle(r); err != nil {
			return nil, nil, err
		}
		if magic, ok := parts[0].(long); !ok || !bytes.Equal(magic, legacyMagic) {
			return nil, nil, errors.New("a pickle, and no checkpoint of PyTorch")
		}
	}
	keys, ok := parts[4].(*list)
	if !ok {
		return nil, nil, errors.New("damaged: it has no list of storages")
	}
	sizes := map[string]int{} // of a value of each storage
	collectSizes(parts[3], sizes)
	tail := data[len(data)-rest.Len()-r.Buffered():]
	storages := map[string][]byte{}
	for _, item := range keys.items {
		key, _ := item.(string)
		u := &unpickler{r: bufio.NewReader(bytes.NewReader(tail))}
		n, err := u.number(8)
		size, known := sizes[key]
		if err != nil || !known || n > uint64(len(tail)-8)/uint64(size) {
			return nil, nil, fmt.Errorf("truncated or damaged at storage %q", key)
		}
		storages[key], tail = tail[8:8+int(n)*size], tail[8+int(n)*size:]
	}
	return parts[3], func(key string) ([]byte, error) {
		b, ok := storages[key]
		if !ok {
			return nil, fmt.Errorf("the file has no storage %q", key)
		}
		return b, nil
	}, nil
}

// collectSizes finds the storages below a value, and the bytes that a number takes in each.
func collectSizes(root any, sizes map[string]int) {
	seen := map[any]bool{}
	for todo := []any{root}; len(todo) > 0; {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch v := v.(type) {
		case []any:
			todo = append(todo, v...)
		case persistent:
			if key, class, _, err := storageOf(v); err == nil {
				sizes[key] = sizeOf(class)
			}
		case *list, *dict, *object:
			if seen[v] {
				continue
			}
			seen[v] = true
			switch v := v.(type) {
			case *list:
				todo = append(todo, v.items...)
			case *dict:
				todo = append(todo, v.others...)
				for _, value := range v.values {
					todo = append(todo, value)
				}
			case *object:
				todo = append(todo, v.args...)
			}
		}
	}
}

// sizeOf is the bytes of a number of a class of storages, of those too that hold no weights.
func sizeOf(class string) int {
	switch class {
	case "ByteStorage", "CharStorage", "BoolStorage":
		return 1
	case "ShortStorage":
		return 2
	case "IntStorage":
		return 4
	}
	return max(1, storageTypes[class].Size)
}

// stateOf finds the table of weights in what was saved: the one that is asked for, where there is
// one of that name, or else what was saved itself, the first by stateKeys, or the only one.
func stateOf(value any, asked string) (state *dict, name string, others []string, err error) {
	if o, isObject := value.(*object); isObject {
		return nil, "", nil, fmt.Errorf("a whole %v was saved, which only its own program can build; save its "+
			"weights: torch.save(model.state_dict(), …)", o.class)
	}
	saved, ok := value.(*dict)
	if !ok || len(saved.keys) == 0 {
		return nil, "", nil, errors.New("it holds no table of weights; save one: torch.save(model.state_dict(), …)")
	}
	if isTable(saved) {
		return saved, "", nil, nil
	}
	tables := map[string]*dict{}
	names := findTables(saved, "", tables)
	if name = asked; tables[name] == nil {
		if name, err = chooseTable(saved, names); err != nil {
			return nil, "", nil, err
		}
	}
	return tables[name], name, slices.DeleteFunc(names, func(n string) bool { return n == name }), nil
}

// chooseTable takes one of the tables where none is asked for.
func chooseTable(saved *dict, names []string) (string, error) {
	choose := ""
	if len(names) > 0 {
		choose = fmt.Sprintf("; choose by --table: %s", some(names))
	}
	for _, key := range stateKeys {
		if o, isObject := saved.values[key].(*object); isObject && !isTensor(o) {
			return "", fmt.Errorf("%q asks to call %v, which is never done; expected a table of tensors%s", key,
				o.class, choose)
		}
		at := slices.IndexFunc(names, func(name string) bool { return name == key || strings.HasPrefix(name, key+".") })
		if at >= 0 {
			return names[at], nil
		}
	}
	if len(names) == 1 && !slices.ContainsFunc(saved.keys,
		func(key string) bool { return isTensor(saved.values[key]) }) {
		return names[0], nil
	}
	for _, key := range saved.keys {
		if isTensor(saved.values[key]) || isSparse(saved.values[key]) {
			continue
		}
		if called, ok := saved.values[key].(*object); ok {
			return "", fmt.Errorf("%q asks to call %v, which is never done; expected tensors alone, or a table of "+
				"them under %s%s",
				key, called.class, strings.Join(stateKeys, ", "), choose)
		}
		break
	}
	return "", fmt.Errorf("it holds %s, and no table of weights under %s%s", some(saved.keys), strings.Join(stateKeys,
		", "), choose)
}

// isTable reports whether a dictionary holds tensors and nothing else.
func isTable(d *dict) bool {
	for _, value := range d.values {
		if !isTensor(value) && !isSparse(value) {
			return false
		}
	}
	return len(d.keys) > 0
}

// findTables collects the tables below a dictionary by their keys, joined by dots, and gives these in the file's order.
// What an optimizer keeps for each weight is none.
func findTables(d *dict, prefix string, tables map[string]*dict) (names []string) {
	const deepest = 3
	for _, key := range d.keys {
		below, ok := d.values[key].(*dict)
		name := prefix + key
		if !ok || strings.Contains(strings.ToLower(key), "optim") || strings.Count(name, ".") >= deepest {
			continue
		}
		var inner []string
		if !isTable(below) {
			inner = findTables(below, name+".", tables)
		}
		// Under a usual name, what is no table is taken for one, so that the error names the tensor.
		if isTable(below) || len(inner) == 0 && slices.Contains(stateKeys, name) {
			tables[name], inner = below, []string{name}
		}
		names = append(names, inner...)
	}
	return names
}

func (g global) String() string { return g.module + "." + g.name }

// tensorCall takes a call apart that makes a tensor. A parameter is a call around one.
func tensorCall(value any) ([]any, bool) {
	o, ok := value.(*object)
	if !ok {
		return nil, false
	}
	switch o.class {
	case any(global{"torch._utils", "_rebuild_tensor_v2"}), any(global{"torch._utils", "_rebuild_tensor"}):
		return o.args, len(o.args) >= 4
	case any(global{"torch._utils", "_rebuild_parameter"}):
		if len(o.args) > 0 && o.args[0] != value {
			if inner, ok := o.args[0].(*object); ok && inner.class != o.class {
				return tensorCall(inner)
			}
		}
	}
	return nil, false
}

func isTensor(value any) bool {
	_, ok := tensorCall(value)
	return ok
}

// rebuild makes a tensor of a call _rebuild_tensor_v2(storage, offset, shape, strides, …).
func rebuild(value any, storage func(string) ([]byte, error), spent *budget) (t modelfile.Tensor, err error) {
	v, err := viewOf(value, storage)
	if err != nil {
		return t, err
	}
	number, known := storageTypes[v.class]
	if !known {
		return t, fmt.Errorf("values of a %s; expected float, half, bfloat16, double or long", v.class)
	}
	if err := spent.spend("its tensors", 4*v.size); err != nil {
		return t, err
	}
	t.Values = make([]float32, v.size)
	v.each(func(i int, b []byte) { t.Values[i] = number.Read(b) })
	for _, side := range v.shape {
		t.Shape = append(t.Shape, int(side))
	}
	if t.Shape == nil {
		t.Shape = []int{}
	}
	return t, nil
}

// view is a tensor as a part of a storage.
type view struct {
	data           []byte
	class          string // of the storage
	width          int    // bytes of a number
	offset, size   int64
	shape, strides []int64
}

func viewOf(value any, storage func(string) ([]byte, error)) (v view, err error) {
	args, ok := tensorCall(value)
	if !ok {
		if o, isObject := value.(*object); isObject {
			return v, fmt.Errorf("it asks to call %v, which is never done; expected a plain tensor", o.class)
		}
		return v, errors.New("it is no plain tensor")
	}
	key, class, count, err := storageOf(args[0])
	if err != nil {
		return v, err
	}
	offset, okOffset := args[1].(int64)
	shape, okShape := ints(args[2])
	strides, okStrides := ints(args[3])
	if !okOffset || !okShape || !okStrides || len(shape) != len(strides) || offset < 0 {
		return v, fmt.Errorf("offset %v, shape %v, strides %v", args[1], args[2], args[3])
	}
	v = view{class: class, width: sizeOf(class), offset: offset, size: 1, shape: shape, strides: strides}
	if v.data, err = storage(key); err != nil {
		return v, err
	}
	if count < 0 || count > int64(len(v.data)/v.width) {
		return v, fmt.Errorf("truncated: %d of %d values are there", len(v.data)/v.width, count)
	}
	last := offset
	for axis, side := range shape {
		if side < 0 || strides[axis] < 0 || side > 0 && (v.size > math.MaxInt32/side || strides[axis] > math.MaxInt32) {
			return v, fmt.Errorf("shape %v and strides %v are out of range", shape, strides)
		}
		v.size *= side
		if last += max(0, side-1) * strides[axis]; last > count { // and before it overflows
			break
		}
	}
	if v.size > 0 && last >= count || v.size > count {
		return v, fmt.Errorf("shape %v, strides %v and offset %d leave its %d values", shape, strides, offset, count)
	}
	return v, nil
}

// each gives the bytes of all numbers, row by row.
func (v view) each(see func(i int, b []byte)) {
	index := make([]int64, len(v.shape))
	for i := range int(v.size) {
		at := v.offset
		for axis, n := range index {
			at += n * v.strides[axis]
		}
		see(i, v.data[at*int64(v.width):][:v.width])
		for axis := len(index) - 1; axis >= 0; axis-- {
			if index[axis]++; index[axis] < v.shape[axis] {
				break
			}
			index[axis] = 0
		}
	}
}

// storageOf takes a reference ('storage', class, key, device, number of values, …) apart.
func storageOf(value any) (key, class string, count int64, err error) {
	p, _ := value.(persistent)
	id, _ := p.id.([]any)
	if len(id) < 5 || id[0] != "storage" {
		return "", "", 0, errors.New("it has no storage")
	}
	g, okClass := id[1].(global)
	key, okKey := id[2].(string)
	count, okCount := id[4].(int64)
	if !okClass || !okKey || !okCount {
		return "", "", 0, errors.New("its storage is damaged")
	}
	return key, g.name, count, nil
}

func ints(value any) ([]int64, bool) {
	if o, isObject := value.(*object); isObject && o.class == any(global{"torch", "Size"}) && len(o.args) == 1 {
		value = o.args[0]
	}
	items, ok := value.([]any)
	out := make([]int64, len(items))
	for i, item := range items {
		n, isInt := item.(int64)
		out[i], ok = n, ok && isInt
	}
	return out, ok && !slices.Contains(out, math.MinInt64)
}
