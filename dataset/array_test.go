package dataset

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/npy"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
)

func TestArrayHeader(t *testing.T) {
	var b bytes.Buffer
	if err := npy.WriteHeader(&b, "|u1", 30000, 32, 32, 3); err != nil {
		t.Fatal(err)
	}
	// What NumPy 2.4 writes for np.save of np.zeros((30000, 32, 32, 3), np.uint8).
	want := "\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': False, 'shape': (30000, 32, 32, 3), }" + strings.Repeat(" ", 46) + "\n"
	if b.String() != want {
		t.Errorf("%q; expected %q", b.String(), want)
	}
	b.Reset()
	if err := npy.WriteHeader(&b, "<i8", 7); err != nil || !strings.Contains(b.String(), "(7,)") || b.Len()%64 != 0 {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestReadArray(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, shape []int, data []byte) string {
		var b bytes.Buffer
		if err := npy.WriteHeader(&b, "|u1", shape...); err != nil {
			t.Fatal(err)
		}
		return testkit.Write(t, append(b.Bytes(), data...), dir, name)
	}
	data := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	im, err := ReadArray(context.Background(), write("rgb.npy", []int{2, 1, 2, 3}, data))
	if err != nil || im.Shape != (pixel.Shape{Height: 1, Width: 2, Channels: 3}) || im.Len() != 2 ||
		!slices.Equal(im.Pixels, data) || !slices.Equal(im.Labels, []int{-1, -1}) {
		t.Errorf("%+v, %v", im, err)
	}
	im, err = ReadArray(context.Background(), write("grey.npy", []int{1, 3, 4}, data))
	if err != nil || im.Shape != (pixel.Shape{Height: 3, Width: 4, Channels: 1}) {
		t.Errorf("%+v, %v", im, err)
	}
	for name, shape := range map[string][]int{"four.npy": {1, 1, 3, 4}, "flat.npy": {12}, "short.npy": {2, 3, 4, 1}} {
		if _, err := ReadArray(context.Background(), write(name, shape, data)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestChanged(t *testing.T) {
	d, err := Open("synthetic/test[count=50]")
	if err != nil {
		t.Fatal(err)
	}
	invert := Change{Name: "invert", Apply: func(_ context.Context, _ pixel.Shape, ids []int, pixels []uint8) ([]uint8, error) {
		out := make([]uint8, len(pixels))
		size := len(pixels) / len(ids)
		for i, b := range pixels {
			out[i] = 255 - b + uint8(ids[i/size])
		}
		return out, nil
	}}
	changed := d.Changed(invert)
	if changed.String() != "synthetic/test[count=50,invert]" {
		t.Errorf("name %s", changed)
	}
	whole, err := changed.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	plain, err := d.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if plain.Digest == whole.Digest || !slices.Equal(plain.Labels, whole.Labels) || whole.Image(3)[7] != 255-plain.Image(3)[7]+uint8(plain.IDs[3]) {
		t.Error("the images are not what the change makes of them")
	}
	part, err := changed.Subset(Skip(3)).Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range part.IDs {
		if !bytes.Equal(part.Image(i), whole.Image(whole.Index(id))) {
			t.Errorf("image %d differs in a subset", id)
		}
	}
	short := Change{Name: "short", Apply: func(context.Context, pixel.Shape, []int, []uint8) ([]uint8, error) { return nil, nil }}
	if _, err := d.Changed(short).Load(context.Background()); err == nil || !strings.Contains(err.Error(), "short gives 0 bytes") {
		t.Errorf("a change that loses images: %v", err)
	}
}

// An array that is read by range where it is large is whole where all of it is asked for.
func TestReadLargeArray(t *testing.T) {
	values := make([]byte, 12*4*5*3)
	for i := range values {
		values[i] = byte(i)
	}
	path := testkit.Write(t, npyBytes("|u1", "False", "(12, 4, 5, 3)", values), t.TempDir(), "set.npy")
	want, err := ReadArray(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	large(t)
	got, err := ReadArray(t.Context(), path)
	if err != nil || !bytes.Equal(got.Pixels, values) || got.Digest != want.Digest || got.Shape != want.Shape {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if any, err := ReadAnyArray(t.Context(), path); err != nil || !bytes.Equal(any.Bytes, values) {
		t.Errorf("%+v, %v", any, err)
	}
}
