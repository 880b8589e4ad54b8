package jupyter

import (
	"slices"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

func TestStandIns(t *testing.T) {
	for name, c := range map[string]struct {
		cells string
		want  []int
	}{
		"real data":                {`{"source": "a", "outputs": [{"data": {"text/plain": ["fashionmnist/test"]}}]}`, nil},
		"a note":                   {`{"source": "a"}, {"source": ["b"], "outputs": [{"data": {"text/html": "<p class=\"certspec-stand-in\">"}}]}`, []int{1}},
		"the drawn set":            {`{"source": "nb.Data(\"fashionmnist/test\")", "outputs": [{"data": {"text/plain": ["synthetic/test[count=2]"]}}]}`, []int{0}},
		"in a stream":              {`{"source": "a", "outputs": [{"text": ["x", "synthetic/train"]}]}`, []int{0}},
		"the drawn set, asked for": {`{"source": ["x", "dataset.Open(\"synthetic/test\")"]}, {"source": "b", "outputs": [{"text": "synthetic/test"}]}`, nil},
	} {
		file := testkit.Write(t, []byte(`{"cells": [`+c.cells+`]}`), t.TempDir(), "a.ipynb")
		if got, err := StandIns(file); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
		}
	}
}
