package run

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/resample"
)

// Training begins with the weights of the file: with a rate near 0 it ends with them. A file that is another one by now is refused.
func TestBeginsWithTheGivenWeights(t *testing.T) {
	file := tinyFile(t, `tiers:
  near: {title: near, epochs: 1, certify: {rule: fixed, n: 50, n0: 10, block: 10}, clean: "skip=3,count=4", corrupted: {images: count=4, severities: [3]}, data: {tiny: {rate: 1.0e-30, given: true}}}
`)
	o := tiny(t, file)
	if _, err := TrainRecipe(t.Context(), "tiny/g", nil, filepath.Join(o.Folder, "first"), o); err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(o.Folder, "first")
	near := tiny(t, file)
	near.Tier, near.Places, near.Rows = "near", map[string]string{"tiny-start": first}, []string{"tiny/g"}
	e, err := plan.Plan(near)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := e.Estimate(t.Context(), false); err != nil || len(left.Warnings) == 0 || !strings.Contains(left.Warnings[0], "2 of 3 classes have no image") {
		t.Errorf("of every third image: warnings %q, %v", left.Warnings, err)
	}
	if err := Jobs(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	filled, err := results.Fill(t.Context(), near.Folder, "", resample.Options{Resamples: 100})
	if err != nil {
		t.Fatal(err)
	}
	ends := e.Manifest.Model("tiny/g@1")
	if ends.Begin == nil || ends.Begin.File != first {
		t.Fatalf("%+v", ends)
	}
	if card := store.ModelPath(near.Folder, ends) + ".json"; !strings.Contains(string(testkit.Read(t, card)), `"start": "`+ends.Begin.Weights) {
		t.Errorf("the card does not name the weights %s", ends.Begin.Weights)
	}
	if len(filled.Lines[0].Shares) != 3 { // clean, brightness and contrast
		t.Errorf("shares: %+v", filled.Lines[0].Shares)
	}
	for _, ending := range []string{".json", ".safetensors"} {
		testkit.Write(t, testkit.Read(t, first+ending), near.Folder, "moved"+ending)
	}
	moved := near
	moved.Places = map[string]string{"tiny-start": filepath.Join(near.Folder, "moved")}
	if e, err = plan.Plan(moved); err != nil || e.Manifest.Model("tiny/g@1").Begin.File != moved.Places["tiny-start"] || e.Manifest.Places["tiny-start"] != moved.Places["tiny-start"] {
		t.Errorf("the same network elsewhere: %v", err)
	}
	var mismatch *store.MismatchError
	moved.Places["tiny-start"] = store.ModelPath(near.Folder, ends)
	if _, err := plan.Plan(moved); !errors.As(err, &mismatch) || !strings.Contains(mismatch.Here, "sha256:") {
		t.Errorf("another network to begin with: %v", err)
	}
	ends.Begin.Weights = "sha256:other"
	if err := ends.Begin.Check(); err == nil || !strings.Contains(err.Error(), "sha256:other") {
		t.Errorf("another file: %v", err)
	}
}
