package run

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/ood/record"
	"github.com/certspec/certspec/resample"
)

// foreign are the options of a table of two networks, bounded and attacked on noise and on blocks of their own set.
func foreign(t *testing.T) plan.Options {
	file := tinyFile(t, "")
	more := filepath.Join(filepath.Dir(file), "foreign.yaml")
	text := `data:
  tiny-noise: {title: noise, at: "8x8x3", train: "noise:smooth,{},n=40,seed=1", test: "noise:uniform,{},n=12"}
recipes:
  tiny/plain: {from: B/base, title: Plain, data: tiny, network: small-cnn, batch: 16, rate: 0.02, epochs: 1, milestones: [], augment: none, seeds: [1]}
  tiny/good: {from: tiny/plain, title: GOOD, sets: {out: {data: tiny-noise, batch: 8}}, method: good, options: {quantile: 50, kappa: 1, epsilon: 0.02}}
tables:
  foreign:
    title: Told apart
    rows: [tiny/plain, tiny/good]
    measure:
      bound: &sets {sets: {tiny: {epsilon: 0.02, near: 0.01, foreign: [tiny-noise, "cifar10[resize=8]"]}}}
      attack: *sets
  tighter:
    title: Other bounds
    rows: [tiny/plain, {recipe: tiny/g*d, seeds: [1]}]
    measure:
      bound: {method: crown, images: count=6, sets: &few {tiny: {epsilon: 0.02, near: 0.01, foreign: [tiny-noise]}}}
      attack: {sets: *few, among: few}
  rigour: {title: Plain bounds, rows: [tiny/good], measure: {bound: {arithmetic: plain, sets: *few}}}
`
	testkit.Write(t, []byte(text), more)
	o := tiny(t, file)
	o.Add, o.Table = append(o.Add, more), "foreign"
	return o
}

// foreignFiles are those whose bytes do not depend on interruptions.
func foreignFiles(t *testing.T, folder string) map[string]string {
	files := stable(t, folder)
	found, err := filepath.Glob(filepath.Join(folder, "ood", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		text := testkit.Read(t, f)
		name, _ := filepath.Rel(folder, f)
		files[filepath.ToSlash(name)] = string(text)
	}
	return files
}

// Results alone give the table that the files in ood/ gave, leave nothing to do, and know differences as the files say them.
func keptAreas(t *testing.T, o plan.Options, f *results.Filled, read func(slug, name string) *record.File) {
	t.Helper()
	copied := o
	copied.Folder = t.TempDir()
	for _, name := range []string{"manifest.json", "results"} {
		if out, err := exec.Command("cp", "-r", filepath.Join(o.Folder, name), copied.Folder).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	again, err := results.Fill(t.Context(), copied.Folder, "foreign", resample.Options{Resamples: 200})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(f.Lines)
	b, _ := json.Marshal(again.Lines)
	if !bytes.Equal(a, b) {
		t.Errorf("from results:\n%s\nfrom the files:\n%s", b, a)
	}
	if e, err := plan.Plan(copied); err != nil {
		t.Fatal(err)
	} else if left, err := e.Estimate(t.Context(), false); err != nil || left.Jobs != 0 {
		t.Errorf("%d jobs left where all results are there, %v", left.Jobs, err)
	}
	all, err := measure.ReadAreas(copied.Folder)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d sets, %v", len(all), err)
	}
	noise := all[slices.IndexFunc(all, func(a *measure.Areas) bool { return a.Set == "tiny-noise" })]
	var own, foreign [2][]float64
	for i, slug := range []string{"tiny-good-s1", "tiny-plain-s1"} {
		own[i], foreign[i] = logConfidences(read(slug, "in.ood").Lines), logConfidences(read(slug, "tiny-noise-0.02.ood").Lines)
	}
	want, deviation, err := ood.Difference(own[0], foreign[0], own[1], foreign[1])
	if err != nil {
		t.Fatal(err)
	}
	got, spread, err := noise.All.Contrast(map[[2]string]float64{{"tiny/good@1", "AUC"}: 1, {"tiny/plain@1", "AUC"}: -1})
	if err != nil || math.Abs(got-want) > 1e-9 || math.Abs(spread-deviation) > 1e-6 || deviation == 0 {
		t.Errorf("%v ± %v, want %v ± %v, %v", got, spread, want, deviation, err)
	}
	if _, _, err := noise.All.Contrast(map[[2]string]float64{{"tiny/good@1", "AAUC"}: 1}); err == nil {
		t.Error("AAUC of all images")
	}
	if c := noise.Attacked; c.Images != 10 || len(c.Values) != 6 || c.Values[0] < c.Values[1] || c.Values[1] < c.Values[2] {
		t.Errorf("%+v, want AUC, AAUC and GAUC in order", c)
	}
}

// A table of bounds and attacks is made, its numbers equal the files', and the points of each network serve the
// others. Stopped again and again it ends with the bytes of a run that was not; shards leave the transfers to
// the folder that they are merged into.
func TestForeignImages(t *testing.T) {
	o := foreign(t)
	if err := Table(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	f, err := results.Fill(t.Context(), o.Folder, "foreign", resample.Options{Resamples: 200})
	if err != nil {
		t.Fatal(err)
	}
	read := func(slug, name string) *record.File {
		t.Helper()
		file, err := record.Read(filepath.Join(o.Folder, "ood", slug, name))
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	for i, slug := range []string{"tiny-plain-s1", "tiny-good-s1"} {
		bounds, attacks := f.Lines[i].Found["bound"].([]*results.ForeignFigures), f.Lines[i].Found["attack"].([]*results.ForeignFigures)
		if len(bounds) != 2 || len(attacks) != 2 {
			t.Fatalf("%s: %d and %d sets", slug, len(bounds), len(attacks))
		}
		in, bound := read(slug, "in.ood"), read(slug, "tiny-noise-0.02.ood")
		attacked, transferred := read(slug, "tiny-noise-0.02.attack.ood"), read(slug, "tiny-noise-0.02.transfer.ood")
		c, err := ood.Compare(t.Context(), ood.CompareOptions{Resamples: 10}, in, bound, attacked)
		if err != nil {
			t.Fatal(err)
		}
		b := bounds[0]
		if b.AUC.Value != c.AUC || b.AUC.Conservative != c.CAUC || b.WorstAUC.Value != *c.GAUC || math.Abs(b.WorstAUC.Low-c.Intervals["gauc"].DeLong.Low) > 1e-12 || math.Abs(b.Worst-*c.Foreign.Bound) > 1e-12 {
			t.Errorf("%s: %+v, the files say %v", slug, b, c)
		}
		if len(transferred.Header.Attack.Transfer) != 1 || transferred.Header.Attack.BestTransfer != 1 || len(attacked.Lines) != 10 {
			t.Errorf("%s: %+v of %d images", slug, transferred.Header.Attack, len(attacked.Lines))
		}
		sum := 0.
		for k, l := range attacked.Lines {
			sum += math.Exp(max(l.Attacked, transferred.Lines[k].Attacked)) / float64(len(attacked.Lines))
		}
		if a := attacks[0]; math.Abs(a.Worst-sum) > 1e-12 || a.BoundAUC == nil || a.WorstAUC.Value > a.AUC.Value || a.BoundAUC.Value > a.WorstAUC.Value {
			t.Errorf("%s: %+v, want a mean of %v under attack", slug, a, sum)
		}
	}
	whole := foreignFiles(t, o.Folder)
	keptAreas(t, o, f, read)

	again := foreign(t)
	again.Add = o.Add
	stopEachJob(t, again, 1)
	sameFiles(t, foreignFiles(t, again.Folder), whole)

	// Where a disk was full, files are left without their first line, and no areas.
	for _, name := range []string{"in.ood", "tiny-noise-0.02.attack.ood"} {
		if err := os.Truncate(filepath.Join(again.Folder, "ood", "tiny-good-s1", name), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(again.Folder, "results", "tiny-tiny-noise-0.02"+measure.AreasSuffix)); err != nil {
		t.Fatal(err)
	}
	if err := Table(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, foreignFiles(t, again.Folder), whole)

	var folders []string
	for i := range 2 {
		part := foreign(t)
		part.Add, part.Shard, part.Shards = o.Add, i, 2
		if err := Table(t.Context(), part); err != nil {
			t.Fatal(err)
		}
		folders = append(folders, part.Folder)
	}
	merged := o
	merged.Folder = filepath.Join(t.TempDir(), "merged")
	if _, err := results.Merge(t.Context(), merged.Folder, folders); err != nil {
		t.Fatal(err)
	}
	e, err := plan.Plan(merged)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range e.Jobs {
		if done, err := plan.Done(e.Manifest, merged.Folder, j); err != nil || done != (j.Kind != measure.TransferJob) {
			t.Errorf("%v: done %v, %v", j, done, err)
		}
	}
	if err := Table(t.Context(), merged); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, foreignFiles(t, merged.Folder), whole)

	// Other bounds stand beside those by rigorous intervals, which they leave as they are, and are compared with them image by image.
	for _, c := range []struct {
		table, by, name string
		images          int
	}{{"tighter", "crown", "tiny-noise-0.02.crown.ood", 6}, {"rigour", "plain", "tiny-noise-0.02.plain.ood", 12}} {
		other := o
		other.Table = c.table
		if err := Table(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		f, err := results.Fill(t.Context(), o.Folder, c.table, resample.Options{Resamples: 200})
		if err != nil {
			t.Fatal(err)
		}
		got := f.Lines[len(f.Lines)-1].Found["bound"].([]*results.ForeignFigures)[0]
		in, by, intervals := read("tiny-good-s1", "in.ood"), read("tiny-good-s1", c.name), read("tiny-good-s1", "tiny-noise-0.02.ood")
		var mean, meanIntervals, apart float64
		var same []record.Line
		for _, l := range by.Lines {
			beside := intervals.Lines[slices.IndexFunc(intervals.Lines, func(o record.Line) bool { return o.Image == l.Image })]
			if same = append(same, beside); l.Upper > beside.Upper {
				t.Errorf("%s: image %d is bounded by %v, by rigorous intervals by %v", c.name, l.Image, l.Upper, beside.Upper)
			}
			a, b := math.Exp(l.Upper), math.Exp(beside.Upper)
			mean, meanIntervals, apart = mean+a/float64(c.images), meanIntervals+b/float64(c.images), max(apart, math.Abs(a-b))
		}
		area, err := ood.Area(upperBounds(in.Lines), upperBounds(same))
		if err != nil {
			t.Fatal(err)
		}
		if got.Images != c.images || got.BoundAUC == nil || got.BoundAUC.Value != area.Value || math.Abs(got.Worst-mean)+math.Abs(got.Intervals-meanIntervals) > 1e-12 || got.Apart != apart || apart == 0 {
			t.Errorf("%s: %+v; the files say %d images, means %v and %v, %v apart", c.name, got, len(by.Lines), mean, meanIntervals, apart)
		}
		all, err := measure.ReadAreas(o.Folder)
		if err != nil {
			t.Fatal(err)
		}
		kept := all[slices.IndexFunc(all, func(a *measure.Areas) bool { return a.By == c.by })]
		gain, _, err := kept.All.Contrast(map[[2]string]float64{{"tiny/good@1", "GAUC"}: 1, {"tiny/good@1", "GAUC by intervals"}: -1})
		if n := kept.Network("tiny/good@1"); err != nil || kept.Set != "tiny-noise" || kept.All.Images != c.images || math.Abs(gain-got.WorstAUC.Value+area.Value) > 1e-12 || n.Attack != nil || n.Bound.Apart != apart {
			t.Errorf("%s: kept %+v, %v", c.name, kept, err)
		}
	}
	if few := read("tiny-good-s1", "tiny-noise-0.02.few.transfer.ood"); len(few.Header.Attack.Transfer) != 1 {
		t.Errorf("%+v", few.Header.Attack)
	}
	all, err := measure.ReadAreas(o.Folder)
	if err != nil {
		t.Fatal(err)
	}
	kept := all[slices.IndexFunc(all, func(a *measure.Areas) bool { return a.By == "few" && a.Set == "tiny-noise" })]
	if n := kept.Network("tiny/good@1"); n == nil || n.Attack == nil || !n.Transfer {
		t.Errorf("kept of attacks among few: %+v", kept)
	}
	now := foreignFiles(t, o.Folder)
	for name, text := range whole {
		if strings.HasPrefix(name, "ood/") && now[name] != text {
			t.Errorf("other tables change %s", name)
		}
	}

	// A bound below what an attack found fails the run.
	path := filepath.Join(o.Folder, "ood", "tiny-good-s1", "tiny-noise-0.02")
	low := read("tiny-good-s1", "tiny-noise-0.02.ood")
	for i := range low.Lines {
		low.Lines[i].Upper = low.Lines[i].Log
	}
	if err := os.Remove(path + measure.BoundEnds); err != nil {
		t.Fatal(err)
	}
	w, _, err := record.Open(path+measure.BoundEnds, low.Header)
	if err != nil {
		t.Fatal(err)
	}
	w.Append(low.Lines...)
	if _, _, err := w.Finish(low.Lines); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := os.Remove(path + measure.AttackEnds); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(o.Folder, "results", "tiny-tiny-noise-0.02"+measure.AreasSuffix)); err != nil {
		t.Fatal(err)
	}
	if err := Table(t.Context(), o); err == nil || !strings.Contains(err.Error(), "above its bound") {
		t.Errorf("a bound below an attack: %v", err)
	}
}

func logConfidences(lines []record.Line) (all []float64) {
	for _, l := range lines {
		all = append(all, l.Log)
	}
	return all
}

func upperBounds(lines []record.Line) (all []float64) {
	for _, l := range lines {
		all = append(all, l.Upper)
	}
	return all
}
