package papers

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/lines/jackknife"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
)

// Study is the grid of pruned networks of Fridovich-Keil et al. 2022 on networks of ours (table
// C/table1), as far as it is trained.
type Study struct {
	Models    lines.Models // recorded
	Mixed     lines.Models // of mixed weights, from mixed.jsonl beside the manifest
	Published lines.Models // of networks of others, measured on the same images, from published.jsonl
	Tier      string
	planned   []string // names of all models
	failed    []store.Failure
}

// OpenStudy reads the folder of an experiment: its manifest and results/*.record.jsonl. A folder
// that is not there is an empty study.
func OpenStudy(folder string) *Study {
	s := &Study{}
	m, err := store.ReadManifest(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return s
	}
	s.Tier = nb.Must(m, err).Tier.Name
	s.failed = nb.Must(m.Failures(folder))
	for _, model := range m.Models {
		s.planned = append(s.planned, model.Name)
	}
	for _, path := range nb.Must(filepath.Glob(filepath.Join(folder, "results", "*.record.jsonl"))) {
		s.Models = append(s.Models, nb.Must(lines.Read(path, lines.CSV{}))...)
	}
	nb.Check(s.Models.Check())
	s.Mixed, s.Published = records(folder, "mixed.jsonl"), records(folder, "published.jsonl")
	return s
}

// State says in words how much of the study is there.
func (s *Study) State() string {
	switch {
	case s.planned == nil:
		return "not here yet; results/experiments/README.md has the command"
	case !s.complete():
		return fmt.Sprintf("PARTIAL: %d of %d networks, tier %s", len(s.Models), len(s.planned), s.Tier)
	case len(s.failed) > 0:
		return fmt.Sprintf("complete: %d of %d networks, tier %s; pruning leaves nothing of a layer of the other %d",
			len(s.Models), len(s.planned), s.Tier, len(s.failed))
	}
	return fmt.Sprintf("complete: %d networks, tier %s", len(s.planned), s.Tier)
}

// complete reports whether all networks are there that can be made.
func (s *Study) complete() bool {
	return s.planned != nil && len(s.Models)+len(s.failed) == len(s.planned)
}

// learned are the models without those that collapsed: whose accuracy without shift is below half
// of the dense network's of their architecture and augmentation.
func learned(models lines.Models) (kept lines.Models, collapsed []string) {
	dense := map[string]float64{}
	key := func(m lines.Model) string { return m.Labels["architecture"] + " " + m.Labels["augmentation"] }
	for _, m := range models.Where("method", "dense") {
		dense[key(m)] = max(dense[key(m)], m.Accuracies[clean].Share)
	}
	for _, m := range models {
		if m.Accuracies[clean].Share < dense[key(m)]/2 {
			collapsed = append(collapsed, m.Name)
		} else {
			kept = append(kept, m)
		}
	}
	return kept, collapsed
}

const clean = "cifar10_acc"

// Table is a table of the paper with networks of ours: slope and R² of each predictor, and in brackets as printed.
func (s *Study) Table(g lines.Grouping, printed lines.Published) *nb.Tabular {
	by, left := g.For(s.Models)
	ours, err := lines.Tabulate(s.Models, by, lines.Clip{})
	if err != nil {
		return nb.Facts(g.Title, "no group has three networks of one architecture yet: "+s.State())
	}
	t := nb.Columns(append([]string{"shift", "predictor"}, ours.Groups...)...)
	for _, shift := range ours.Shifts {
		for _, p := range ours.Predictors {
			row := []any{printable.Name(shift), p}
			for _, group := range ours.Groups {
				c, _ := ours.At(shift, p, group)
				cell := lines.Printed(c.Slope) + ", " + lines.Printed(c.R2)
				if at, ok := printed[lines.PublishedKey{Shift: shift, Predictor: p, Group: group}]; ok {
					cell += " (" + at.Slope + ", " + at.R2 + ")"
				}
				row = append(row, strings.ReplaceAll(cell, "-", "−"))
			}
			t.Add(row...)
		}
	}
	_, collapsed := learned(s.Models)
	t.Notes = []string{fmt.Sprintf("Slope and R², in brackets as printed. Ours: %s; severities 1, 3 and 5 of a JPEG "+
		"copy, 500 pairs a path: comparable by sign and order alone. %d networks collapsed, below half the accuracy "+
		"of their dense one. Not in it: %s.", s.State(), len(collapsed), listed(left))}
	return t
}

// Figure is figure 2 or 3 of the paper with networks of ours, with best 10 or 11: all shifts, or some.
func (s *Study) Figure(g lines.Grouping, best bool, shifts ...string) any {
	by, _ := g.For(s.Models)
	if _, err := lines.Tabulate(s.Models, by, lines.Clip{}); err != nil {
		return nb.Facts(g.Title, s.State())
	}
	return nb.LinesBy(s.Models, by, best, shifts...)
}

// claim is one sentence of the paper as a number that must lie above a bound, or below.
type claim struct {
	number string
	text   string
	of     func(lines.Models) (float64, error)
	strata []string
	keep   func(lines.Model) bool
	below  bool
	bound  float64
	can    span
}

// span is what a number of a claim can be.
type span struct{ low, high float64 }

var (
	ofR2         = span{0, 1}
	ofDifference = span{-1, 1}
	ofSlope      = span{math.Inf(-1), math.Inf(1)}

	low  = []string{"brightness", "contrast"}
	mid  = []string{"defocus_blur", "pixelate"}
	high = []string{"gaussian_noise", "impulse_noise"}
)

func slope(l lines.Cell) float64   { return l.Slope }
func squared(l lines.Cell) float64 { return l.R2 }

// mean is the mean over shifts of a number of the cells of one group and predictor.
func mean(group lines.Group, field string, number func(lines.Cell) float64,
	shifts ...string) func(lines.Models) (float64, error) {
	by := lines.Grouping{Title: group.Name, Groups: []lines.Group{group}, Lines: "architecture", Shifts: shifts,
		ID: clean, Predictors: []lines.Predictor{{Field: field, Name: field}}}
	return func(models lines.Models) (float64, error) {
		t, err := lines.Tabulate(models, by, lines.Clip{})
		if err != nil {
			return 0, err
		}
		sum := 0.
		for _, c := range t.Cells {
			sum += number(c)
		}
		return sum / float64(len(shifts)), nil
	}
}

func minus(a, b func(lines.Models) (float64, error)) func(lines.Models) (float64, error) {
	return func(models lines.Models) (float64, error) {
		x, err := a(models)
		if err != nil {
			return 0, err
		}
		y, err := b(models)
		return x - y, err
	}
}

// claims are 1 to 5 of the specification of the paper's qualitative claims. Those on R² are asked
// of all prunings of one augmentation, twenty networks an architecture, where intervals of R² hold
// the truth.
func claims() []claim {
	plain, augmix, gaussian := lines.ByAugmentation.Groups[0], lines.ByAugmentation.Groups[1],
		lines.ByAugmentation.Groups[2]
	initial := lines.ByPruning.Groups[2]
	all := slices.Concat(low, mid, high)
	nets := []string{"architecture"}
	both := []string{"architecture", "augmentation"}
	either := func(g lines.Group) func(lines.Model) bool {
		return func(m lines.Model) bool { return g.Keep(m) || plain.Keep(m) }
	}
	id := func(g lines.Group, shifts ...string) func(lines.Models) (float64, error) {
		return mean(g, clean, squared, shifts...)
	}
	return []claim{
		{"1", "accuracy predicts low-frequency shifts: R² on brightness and contrast above 0.5", id(plain, low...),
			nets, plain.Keep, false, 0.5, ofR2},
		{"1", "it predicts mid-frequency shifts (defocus blur, pixelate) less: difference of R² above 0",
			minus(id(plain, low...), id(plain, mid...)), nets, plain.Keep, false, 0, ofDifference},
		{"1", "it predicts high-frequency shifts (Gaussian, impulse noise) less: difference of R² above 0",
			minus(id(plain, low...), id(plain, high...)), nets, plain.Keep, false, 0, ofDifference},
		{"2", "HFF within classes falls where accuracy predicts (brightness, contrast): slope below 0",
			mean(plain, "high_freq_fracs_within", slope, low...), nets, plain.Keep, true, 0, ofSlope},
		{"2", "HFF within classes predicts as well: R² above 0.5", mean(plain, "high_freq_fracs_within", squared,
			low...), nets,
			plain.Keep, false, 0.5, ofR2},
		{"3", "the Jacobian norm rarely predicts: mean R² of six shifts below 0.5", mean(plain, "jacobian_norm",
			squared, all...), nets, plain.Keep, true, 0.5, ofR2},
		{"4", "initialization tickets: slope on Gaussian noise below 0", mean(initial, clean, slope, "gaussian_noise"),
			nets, initial.Keep, true, 0, ofSlope},
		{"4", "initialization tickets: slope on impulse noise below 0", mean(initial, clean, slope, "impulse_noise"),
			nets, initial.Keep, true, 0, ofSlope},
		{"5", "AugMix, defocus blur almost on a line: R² above 0.9", id(augmix, "defocus_blur"), nets, augmix.Keep,
			false, 0.9, ofR2},
		{"5", "AugMix, defocus blur: R² above that without it", minus(id(augmix, "defocus_blur"),
			id(plain, "defocus_blur")), both, either(augmix), false, 0, ofDifference},
		{"5", "Gaussian augmentation, Gaussian noise: R² above that without", minus(id(gaussian, "gaussian_noise"),
			id(plain, "gaussian_noise")), both, either(gaussian), false, 0, ofDifference},
		{"5", "Gaussian augmentation, impulse noise: R² above that without", minus(id(gaussian, "impulse_noise"),
			id(plain, "impulse_noise")), both, either(gaussian), false, 0, ofDifference},
	}
}

// Claims judges the six claims of the paper by intervals over networks: with all that are there, or without those
// that collapsed.
func (s *Study) Claims(collapsed bool) *Findings {
	models, left := s.Models, []string(nil)
	if !collapsed {
		models, left = learned(s.Models)
	}
	f := &Findings{Unit: "R², or slope", Tier: s.Tier, Digits: 2}
	f.List = judged(claims(), models, s.complete())
	s.mixed(f)
	f.Notes = []string{s.State() +
		"; a JPEG copy of CIFAR-10. Means over architectures. Intervals: the jackknife over " +
		"networks, Student's t, about the value freed of its bias; they end where the number does. Verdicts follow the " +
		"interval that is not cut.", togetherNote(len(claims()))}
	if !collapsed {
		f.Notes = append(f.Notes, "Left out, as below half the accuracy of their dense network: "+listed(left)+".")
	}
	return f
}

func judged(list []claim, models lines.Models, complete bool) (out []Finding) {
	var of []*compare.Difference
	var which []int
	for i, c := range list {
		mine := slices.DeleteFunc(slices.Clone(models), func(m lines.Model) bool { return !c.keep(m) })
		out = append(out, Finding{Claim: c.number + ": " + c.text, Verdict: "not there yet"})
		j, err := jackknife.Of(mine, c.strata, c.of)
		if err != nil { // a group without enough networks
			continue
		}
		in := j.Interval(0.95)
		out[i].Parts = []Part{{Value: j.Value, Low: max(c.can.low, min(in.Low, j.Value)),
			High: min(c.can.high, max(in.High, j.Value)), Bound: c.bound, Of: fmt.Sprintf("%d networks", len(mine))}}
		d := &compare.Difference{Difference: j.Corrected - c.bound, P: j.P(c.bound),
			Interval: resample.Interval{Low: in.Low - c.bound, High: in.High - c.bound}}
		if c.below {
			d.Difference = -d.Difference
		}
		of, which = append(of, d), append(which, i)
	}
	for k, verdict := range verdicts(false, of...) {
		v := &out[which[k]].Verdict
		if *v = verdict.String(); !complete {
			*v = "so far: " + *v
		}
	}
	return out
}

// mixed adds claim 6, which is about CLIP and so stays open: what mixtures of two networks of ours show.
func (s *Study) mixed(f *Findings) {
	for _, p := range []lines.Predictor{lines.Predictors[6], lines.Predictors[7]} {
		text := fmt.Sprintf("CLIP: %s predicts most shifts with R² of at least 0.9; here mixtures of two networks "+
			"of ours", p.Name)
		by := lines.Grouping{Title: text,
			Groups: []lines.Group{{Name: "mixed", Keep: func(lines.Model) bool { return true }}}, Lines: "architecture",
			Shifts: slices.Concat(low, mid, high), ID: clean, Predictors: []lines.Predictor{p}}
		value := "–"
		if table, err := lines.Tabulate(s.Mixed, by, lines.Clip{}); err == nil {
			above, falling := 0, 0
			for _, c := range table.Cells {
				above, falling = above+count(c.R2 >= 0.9), falling+count(c.Slope < 0)
			}
			value = fmt.Sprintf("R² of at least 0.9 on %d of %d shifts, slope below 0 on %d", above, len(table.Cells),
				falling)
		}
		f.List = append(f.List, Finding{Claim: "6: " + text + ": " + value, Verdict: "open: not CLIP"})
	}
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
