//go:build external

package external

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/testkit"
)

func TestExternalSafetensors(t *testing.T) {
	tensors := []modelfile.Tensor{
		{Name: "stage1/conv/kernel", Shape: []int{2, 3}, Values: []float32{1, -2.5, 3e-30, 4, 5e30, -0.125}},
		{Name: "bias", Shape: []int{2}, Values: []float32{0.1, 0.2}},
		{Name: "scale", Shape: []int{}, Values: []float32{7}},
	}
	data, err := modelfile.Encode(tensors, map[string]string{"architecture": "toy"})
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := filepath.Join(t.TempDir(), "ours.safetensors"), filepath.Join(t.TempDir(), "theirs.safetensors")
	testkit.Write(t, data, ours)
	var read map[string]struct {
		Shape  []int
		Values []float32
	}
	python(t, `
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
tensors = load_file(arg["ours"])
answer = {name: {"Shape": list(v.shape), "Values": v.ravel().tolist()} for name, v in tensors.items()}
with safe_open(arg["ours"], "np") as f:
    save_file(tensors, arg["theirs"], f.metadata())`, map[string]string{"ours": ours, "theirs": theirs}, &read)
	if len(read) != len(tensors) {
		t.Errorf("Python reads %d tensors, want %d", len(read), len(tensors))
	}
	for _, want := range tensors {
		if got := read[want.Name]; !reflect.DeepEqual(got.Shape, want.Shape) || !reflect.DeepEqual(got.Values, want.Values) {
			t.Errorf("Python reads %s as %v %v, want %v %v", want.Name, got.Shape, got.Values, want.Shape, want.Values)
		}
	}
	if data, err = os.ReadFile(theirs); err != nil {
		t.Fatal(err)
	}
	back, metadata, err := modelfile.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]modelfile.Tensor{}
	for _, tensor := range back {
		byName[tensor.Name] = tensor
	}
	for _, want := range tensors {
		if got := byName[want.Name]; len(got.Shape) != len(want.Shape) || !reflect.DeepEqual(got.Values, want.Values) {
			t.Errorf("what Python writes reads back as %+v, want %+v", got, want)
		}
	}
	if len(back) != len(tensors) || metadata["architecture"] != "toy" {
		t.Errorf("%d tensors and metadata %v read back", len(back), metadata)
	}
}
