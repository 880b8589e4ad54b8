package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/resample"
)

// A table is made, and its numbers equal the ledgers'; the second run does nothing.
func TestTable(t *testing.T) {
	o := tiny(t, tinyFile(t, ""))
	if err := Table(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	filled, err := results.Fill(t.Context(), o.Folder, "tiny", resample.Options{Resamples: 200})
	if err != nil {
		t.Fatal(err)
	}
	cells := []string{"clean", "brightness-3", "contrast-3"}
	if len(filled.Lines) != 3 || len(filled.Metrics) != 3 {
		t.Fatalf("%d lines, %d metrics", len(filled.Lines), len(filled.Metrics))
	}
	weights := map[string]bool{}
	for i, slug := range []string{"tiny-g-s1", "tiny-hcr-s1", "tiny-bn-s1"} {
		for k, cell := range cells {
			l, err := ledgerio.Read(filepath.Join(o.Folder, "ledgers", slug, cell+".ledger"))
			if err != nil {
				t.Fatal(err)
			}
			// The ledger states its average radius itself, to nine decimals.
			v := filled.Lines[i].Values[k]
			if want := l.Claims.ACR; math.Abs(v.Mean-number(t, want)) > 1e-9 || v.Seeds != 1 || v.Images != 8 {
				t.Errorf("%s %s: %+v, the ledger claims %s", slug, cell, v.OverSeeds, want)
			}
			if i == 2 {
				weights[l.Header.Model.Identity.Weights] = true
			}
			if d := v.Difference; (i == 0) != (d == nil) {
				t.Errorf("%s %s: difference %v", slug, cell, d)
			} else if d != nil && math.Abs(d.Difference-(v.Mean-filled.Lines[0].Values[k].Mean)) > 1e-9 {
				t.Errorf("%s %s: difference %v", slug, cell, d.Difference)
			}
		}
	}
	if filled.Lines[0].Values[0].Mean < .05 {
		t.Errorf("the clean ACR is %v: nothing was learned", filled.Lines[0].Values[0].Mean)
	}
	if len(weights) != len(cells) {
		t.Errorf("%d networks adapted to %d cells", len(weights), len(cells))
	}
	card, err := modelfile.ReadCard(filepath.Join(o.Folder, "adapted", "tiny-bn-s1", "contrast-3"))
	if err != nil {
		t.Fatal(err)
	}
	if a := card.Adaptation; a == nil || a.Method != "bn" || a.Images != 16 || a.Steps != 2 || a.Sigma != .25 || !strings.Contains(a.Data.Name, "corrupt=contrast:3") || card.Recipe.Method != "gaussian" {
		t.Errorf("the card says %+v", a)
	}
	notes := strings.Join(filled.Notes, "\n")
	for _, want := range []string{"Tier T0", "made by certspec", "8 images in each", "Trained on go", "Certified on go"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in the caption:\n%s", want, notes)
		}
	}
	for _, table := range filled.Tables() {
		if s := table.Markdown(); strings.Contains(s, "NaN") || !strings.Contains(s, "HCR") {
			t.Errorf("%s", s)
		}
	}

	before := modified(t, o.Folder)
	o.Progress = func(s progress.State) {
		if s.Unit == "images" {
			t.Errorf("a second run works: %v", s)
		}
	}
	if err := Table(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for name, at := range modified(t, o.Folder) {
		if name != "manifest.json" && before[name] != at {
			t.Errorf("a second run touches %s", name)
		}
	}
	// The results alone are enough for the table.
	for _, part := range []string{"ledgers", "models", "adapted"} {
		if err := os.RemoveAll(filepath.Join(o.Folder, part)); err != nil {
			t.Fatal(err)
		}
	}
	again, err := results.Fill(t.Context(), o.Folder, "", resample.Options{Resamples: 200})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(asJSON(t, again), asJSON(t, filled)) {
		t.Error("without ledgers the table differs")
	}
	_, status, err := plan.Status(o.Folder)
	if err != nil || status[0].Done != 9 || status[0].Jobs != 9 {
		t.Errorf("status %+v, %v", status, err)
	}
	toTrain := 0
	for _, l := range status[0].Lines {
		toTrain += l.ToTrain
	}
	if toTrain != 2 { // the third is adapted
		t.Errorf("%d networks to train, want 2: %+v", toTrain, status[0].Lines)
	}
}

// A run that is stopped again and again ends with the bytes of one that was not; so do shards that are merged.
func TestStopsAndShards(t *testing.T) {
	file := tinyFile(t, "")
	o := tiny(t, file)
	if err := Table(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	whole := stable(t, o.Folder)
	if len(whole) != 1+2+3+9+3+3 { // manifest, networks, adapted ones, ledgers, radii, shares
		t.Fatalf("%d files", len(whole))
	}

	o = tiny(t, file)
	stopEachJob(t, o, 2)
	sameFiles(t, stable(t, o.Folder), whole)

	var folders []string
	for i := range 3 { // the third has the adapted network, and trains its start again
		part := tiny(t, file)
		part.Shard, part.Shards = i, 3
		if err := Table(t.Context(), part); err != nil {
			t.Fatal(err)
		}
		folders = append(folders, part.Folder)
	}
	out := filepath.Join(t.TempDir(), "merged")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if added, err := results.Merge(ended, out, folders); added != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d files merged after the context had ended: %v", added, err)
	}
	if _, err := results.Merge(t.Context(), out, folders); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, stable(t, out), whole)

	// Shards that do not agree are not merged.
	path := filepath.Join(folders[2], "models", "tiny-g-s1.safetensors")
	text := testkit.Read(t, path)
	text[len(text)-1] ^= 1
	testkit.Write(t, text, path)
	if _, err := results.Merge(t.Context(), out, folders); err == nil || !strings.Contains(err.Error(), "differ") {
		t.Errorf("two networks of one name are merged: %v", err)
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func modified(t *testing.T, folder string) map[string]int64 {
	t.Helper()
	times := map[string]int64{}
	err := filepath.Walk(folder, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			name, _ := filepath.Rel(folder, path)
			times[name] = info.ModTime().UnixNano()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return times
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
