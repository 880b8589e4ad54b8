package spectral_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/spectral"
)

func TestPathSets(t *testing.T) {
	d, err := dataset.Open("synthetic/test[max_index=60]")
	if err != nil {
		t.Fatal(err)
	}
	images, err := d.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind  spectral.PathKind
		pairs int
		want  map[string]int
	}{
		{spectral.PathKind("amplitude"), 0, map[string]int{"amplitude": 30}}, // half of the images, as there are fewer than 10,000
		{spectral.PathKind("phase"), 7, map[string]int{"phase": 7}},
		{"pixel", 1, map[string]int{"pixel within": 10, "pixel between": 45}}, // ten classes, and 10·9/2 pairs of them
	} {
		sets, err := spectral.PathSets(c.kind, images, c.pairs, spectral.FourierOptions{Points: 10})
		if err != nil || len(sets) != len(c.want) {
			t.Fatalf("%s: %v, %v", c.kind, sets, err)
		}
		for _, s := range sets {
			if len(s.Pairs) != c.want[s.Name] || s.Path == nil {
				t.Errorf("%s: %d pairs, want %d", s.Name, len(s.Pairs), c.want[s.Name])
			}
		}
	}
	var input *spectral.InputError
	for kind, pairs := range map[spectral.PathKind]int{"sound": 0, spectral.PathKind("amplitude"): 31, "pixel": 200} {
		if _, err := spectral.PathSets(kind, images, pairs, spectral.FourierOptions{}); !errors.As(err, &input) {
			t.Errorf("%s, %d pairs: %v", kind, pairs, err)
		}
	}
}

// What WriteTSV writes, ReadMap reads.
func TestWriteTSV(t *testing.T) {
	m := &spectral.Map{Height: 8, Width: 6, U: []int{-1, 0, 1}, V: []int{-2, 2}, Values: []float64{.1, 1. / 3, 2, 3, 4, 5e-300}}
	var text bytes.Buffer
	if err := m.WriteTSV(&text, "acr", 7); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(text.Bytes(), []byte("i\tj\tacr\tn_images\n-1\t-2\t0.1\t7\n")) {
		t.Errorf("%s", &text)
	}
	got, err := spectral.ReadMap("map", &text, 8, 6)
	if err != nil {
		t.Fatal(err)
	}
	for i, u := range m.U {
		for j, v := range m.V {
			if value, found := got.At(u, v); !found || value != m.Values[2*i+j] {
				t.Errorf("(%d, %d): %v, %v", u, v, value, found)
			}
		}
	}
}
