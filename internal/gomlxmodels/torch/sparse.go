package torch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
)

// A sparse tensor of RobustNets is a tuple of four: the places of its values in the flattened
// tensor, int32 [1, n]; the values [n]; the shape of the flattened tensor; and its own shape. All
// other values are 0.

func isSparse(value any) bool {
	parts, ok := value.([]any)
	return ok && len(parts) == 4 && isTensor(parts[0]) && isTensor(parts[1])
}

// rebuildSparse makes a dense tensor of one.
func rebuildSparse(value any, storage func(string) ([]byte, error), spent *budget) (t modelfile.Tensor, err error) {
	if !isSparse(value) {
		return t, errors.New("it is a tuple, and no sparse tensor of four parts: places, values, flat shape, shape")
	}
	parts := value.([]any)
	places, err := viewOf(parts[0], storage)
	if err != nil {
		return t, fmt.Errorf("its places: %w", err)
	}
	values, err := rebuild(parts[1], storage, spent)
	if err != nil {
		return t, fmt.Errorf("its values: %w", err)
	}
	if places.class != "IntStorage" && places.class != "LongStorage" {
		return t, fmt.Errorf("its places are a %s; expected int or long", places.class)
	}
	flat, okFlat := ints(parts[2])
	shape, okShape := ints(parts[3])
	if !okFlat || !okShape || len(flat) != 1 {
		return t, fmt.Errorf("its flat shape is %v, its shape %v; expected the number of its values, and its sides",
			parts[2], parts[3])
	}
	size := int64(1)
	for _, side := range shape {
		if side < 0 || side > 0 && size > math.MaxInt32/side {
			return t, fmt.Errorf("its shape %v is out of range", shape)
		}
		size *= side
		t.Shape = append(t.Shape, int(side))
	}
	n := int64(len(values.Values))
	if flat[0] != size || !slices.Equal(places.shape, []int64{1, n}) && !slices.Equal(places.shape, []int64{n}) ||
		len(values.Shape) != 1 {
		return t, fmt.Errorf("places of shape %v, values of shape %v, flat shape %v and shape %v do not fit",
			places.shape, values.Shape, flat, shape)
	}
	if err := spent.spend("its tensors", 4*size); err != nil {
		return t, err
	}
	t.Values = make([]float32, size)
	taken := make([]bool, size)
	places.each(func(i int, b []byte) {
		at := int64(int32(binary.LittleEndian.Uint32(b)))
		if places.class == "LongStorage" {
			at = int64(binary.LittleEndian.Uint64(b))
		}
		switch {
		case err != nil:
		case at < 0 || at >= size:
			err = fmt.Errorf("its value %d is at %d; expected a place from 0 to %d", i, at, size-1)
		case taken[at]:
			err = fmt.Errorf("two of its values are at %d", at)
		default:
			t.Values[at], taken[at] = values.Values[i], true
		}
	})
	return t, err
}
