package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/gomlxmodels/prune"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/progress"
)

// A model of which pruning leaves nothing is written down and not tried again until that file is taken away; the other rows are made.
func TestAModelThatCannotBeMade(t *testing.T) {
	more := filepath.Join(t.TempDir(), "more.yaml")
	text := `recipes:
  tiny/empty: {from: tiny/g, title: empty, start: tiny/g, epochs: 1, milestones: [], prune: ft, sparsity: 0.99999}
tables:
  pruned: {title: Pruned, rows: [tiny/empty, tiny/g], measure: {clean: true}}
tiers:
  emptying:
    title: few images and nothing left
    epochs: 1
    fine_tune: 1
    batch: 16
    seeds: 1
    pruning: {sparsities: [0.99999]}
    certify: {rule: fixed, n: 100, n0: 20, block: 20}
    clean: count=2
    corrupted: {images: count=2, severities: [1]}
    fourier: {images: count=2, centres: [1], decays: [1], norms: [10]}
    calibration: {images: count=2, certify: {rule: fixed, n: 100, n0: 20, block: 20}, cells: 100, steps: 10}
    attack: {images: count=2, steps: 1}
`
	testkit.Write(t, []byte(text), more)
	o := tiny(t, tinyFile(t, ""))
	o.Add, o.Table, o.Tier = append(o.Add, more), "pruned", "emptying"
	run := func() (trained int, err error) {
		said := map[string]bool{}
		o.Progress = func(s progress.State) {
			if strings.Contains(s.Task, "train ") && !said[s.Task] {
				said[s.Task] = true
				trained++
			}
		}
		err = Table(t.Context(), o)
		return trained, err
	}
	var empty *prune.EmptyLayer
	if trained, err := run(); !errors.As(err, &empty) || trained == 0 {
		t.Fatalf("%d trainings, %v", trained, err)
	}
	_, status, err := plan.Status(o.Folder)
	if err != nil || len(status[0].Failed) != 1 || status[0].Failed[0].Model != "tiny/empty@1" || status[0].Done != 1 {
		t.Fatalf("%+v, %v", status, err)
	}
	e, err := plan.Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := e.Estimate(t.Context(), false); err != nil || left.Jobs != 0 {
		t.Errorf("%d jobs left, %v", left.Jobs, err)
	}
	var again store.Failure
	if trained, err := run(); !errors.As(err, &again) || again.Reason != empty.Error() || trained != 0 {
		t.Errorf("again: %d trainings, %v", trained, err)
	}
	if err := os.Remove(filepath.Join(o.Folder, "results", "tiny-empty-s1.failed.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := run(); !errors.As(err, &empty) {
		t.Errorf("without the file: %v", err)
	}
}
