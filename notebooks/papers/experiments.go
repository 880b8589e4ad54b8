// Package papers holds the longer steps of the notebooks about training (act, fouriermix), which
// need networks or the results of experiments. Like a cell, its functions end the program with a
// message where something fails.
package papers

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/table"
)

// experiments are the filled tables of all folders below results/experiments at one tier whose name begins with the
// prefix.
func experiments(prefix, tier string, o resample.Options) (found []*results.Filled) {
	for _, manifest := range nb.Must(filepath.Glob("results/experiments/*/manifest.json")) {
		folder := filepath.Dir(manifest)
		m := nb.Must(store.ReadManifest(folder))
		for _, made := range m.Tables {
			if strings.HasPrefix(made.Name, prefix) && m.Tier.Name == tier {
				found = append(found, filled(filepath.Base(folder), made.Name, o))
			}
		}
	}
	return found
}

// filled is a table in a folder below results/experiments.
func filled(folder, table string, o resample.Options) *results.Filled {
	return nb.Must(results.Fill(nb.Context(), filepath.Join("results/experiments", folder), table, o))
}

// judge is a list of claims about the average certified radii of experiments, each with its paired difference.
type judge struct {
	found     []*results.Filled
	claims    []string
	of        []*compare.Difference // nil: not there yet
	published []*float64
}

// at is the value of a model on CIFAR-10 by the name of a metric, of the table where it has most starts.
func (j *judge) at(model, metric string) (best *results.Value) {
	for _, f := range j.found {
		k := slices.IndexFunc(f.Metrics, func(m results.Metric) bool { return m.Name == metric })
		for _, l := range f.Lines {
			if k >= 0 && l.Title == model && l.Data == "cifar10" && l.Values[k] != nil &&
				(best == nil || l.Values[k].Seeds > best.Seeds) {
				best = l.Values[k]
			}
		}
	}
	return best
}

// above claims that a model's value of a metric is above another model's, paired by image.
func (j *judge) above(claim, model, metric, other, otherMetric string) {
	a, b := j.at(model, metric), j.at(other, otherMetric)
	var d *compare.Difference
	if a != nil && b != nil {
		d = nb.Must(a.Minus(nb.Context(), b, resample.Options{}))
	}
	var gap *float64
	paper, _, _ := strings.Cut(model, ",") // without what the form is
	if a, ok := printed()[paper][metric]; ok {
		if b, ok := printed()[other][otherMetric]; ok {
			difference := a - b
			gap = &difference
		}
	}
	j.claims, j.of, j.published = append(j.claims, claim), append(j.of, d), append(j.published, gap)
}

// printed are the average certified radii of Sun et al. 2021 on CIFAR-10, by model and metric.
var printed = sync.OnceValue(func() map[string]map[string]float64 {
	all := map[string]map[string]float64{}
	for _, table := range []string{"A/table1", "A/table2", "A/table3", "A/table8", "A/table9"} {
		for model, values := range nb.Must(nb.Must(recipe.Open()).Table(table)).Published {
			if all[model] == nil {
				all[model] = map[string]float64{}
			}
			maps.Copy(all[model], values)
		}
	}
	return all
})

func (j *judge) findings() *Findings {
	f := &Findings{Unit: "difference of radii", Digits: 3}
	there := slices.DeleteFunc(slices.Clone(j.of), func(d *compare.Difference) bool { return d == nil })
	says := verdicts(false, there...)
	for i, d := range j.of {
		if d == nil {
			continue
		}
		f.List = append(f.List, Finding{j.claims[i], []Part{{Value: d.Difference, Low: d.Interval.Low,
			High:      d.Interval.High,
			Published: j.published[i], Of: fmt.Sprintf("%.3f and %.3f", d.B, d.A)}}, says[0].String()})
		says = says[1:]
	}
	f.Notes = notes(togetherNote(len(there)), startsNote(there))
	if left := len(j.of) - len(there); left > 0 {
		f.Notes = append(f.Notes, fmt.Sprintf("%d claims more ask for models or corruptions that are not there.", left))
	}
	if len(j.found) > 0 {
		f.Tier = j.found[0].Tier
		f.Notes = append(f.Notes, "Tier "+f.Tier+".")
	}
	return f
}

// on says what a metric is of.
var on = map[string]string{"clean": " on clean images", "mACR C": " on C", "mACR C-bar": " on C-bar",
	"mACR F": " on CIFAR-F"}

// orderings judges the orderings of Sun et al. 2021, table 1 and section 5, by tables of one tier.
func orderings(found []*results.Filled) *Findings {
	j := &judge{found: found}
	models := []string{"Gaussian", "Gaussian+JSD", "AutoAugment+JSD", "AugMix+JSD", "AugMix+HCR", "FourierMix+JSD",
		"FourierMix+HCR"}
	for _, m := range models {
		j.above(m+": Mid above Low", m, "C Mid", m, "C Low")
		j.above(m+": High above Mid", m, "C High", m, "C Mid")
	}
	for _, metric := range []string{"clean", "mACR C", "mACR C-bar"} {
		j.above("Gaussian+JSD above Gaussian"+on[metric], "Gaussian+JSD", metric, "Gaussian", metric)
	}
	for _, metric := range []string{"mACR C", "mACR C-bar"} {
		for _, m := range models[:6] {
			j.above("FourierMix+HCR above "+m+on[metric], "FourierMix+HCR", metric, m, metric)
		}
		for _, m := range []string{"FourierMix+HCR, as in its code", "FourierMix+HCR, as in its code, λ = 20"} {
			if j.at(m, metric) != nil {
				j.above(m+", above Gaussian+JSD"+on[metric], m, metric, "Gaussian+JSD", metric)
			}
		}
	}
	for _, m := range []string{"AutoAugment", "AugMix", "FourierMix"} {
		j.above(m+" above Gaussian on C", m, "mACR C", "Gaussian", "mACR C")
	}
	for _, m := range []string{"AugMix", "FourierMix"} {
		j.above(m+" above Gaussian on C-bar", m, "mACR C-bar", "Gaussian", "mACR C-bar")
	}
	j.above("Gaussian above AutoAugment on C-bar", "Gaussian", "mACR C-bar", "AutoAugment", "mACR C-bar")
	for _, m := range []string{"Gaussian+JSD", "AugMix+JSD", "FourierMix+JSD"} {
		j.above(m+" above AutoAugment+JSD on C-bar", m, "mACR C-bar", "AutoAugment+JSD", "mACR C-bar")
	}
	for _, m := range []string{"Gaussian+BN", "Gaussian+TENT"} {
		j.above("without adaptation above "+m+" on C", "Gaussian", "mACR C", m, "mACR C")
	}
	j.above("FourierMix+HCR above AugMix+HCR on CIFAR-F", "FourierMix+HCR", "mACR F", "AugMix+HCR", "mACR F")
	return j.findings()
}

// bestMethods judges, by tables of one tier, whether the methods that maximise the certified radius are above Gaussian
// training (Sun et al. 2021, table 8; Jeong et al. 2021 and 2023), whether the best of them without views is above
// FourierMix+HCR, and whether FourierMix views add to it.
func bestMethods(found []*results.Filled) *Findings {
	j := &judge{found: found}
	for _, metric := range []string{"clean", "mACR C"} {
		above := func(model, other string) { j.above(model+" above "+other+on[metric], model, metric, other, metric) }
		for _, m := range []string{"SmoothAdv", "MACER", "SmoothMix", "CAT-RS"} {
			above(m, "Gaussian")
		}
		for _, m := range []string{"SmoothMix", "CAT-RS"} {
			above(m, "FourierMix+HCR")
			above("FourierMix+"+m, m)
		}
	}
	return j.findings()
}

// Means are the average certified radii of some models by tables 2 and 3 of a folder, and behind each, in brackets,
// that of Sun et al. 2021. What is not there is –.
func Means(folder string, models ...string) *nb.Tabular {
	metrics := []string{"clean", "mACR C", "C Low", "C Mid", "C High", "mACR C-bar"}
	t := nb.Columns("training", "clean", "C", "C, low", "C, mid", "C, high", "C-bar")
	few := resample.Options{Resamples: 20} // no interval is shown
	j := &judge{found: []*results.Filled{filled(folder, "A/table2", few), filled(folder, "A/table3", few)}}
	for _, model := range models {
		row := []any{model}
		for _, metric := range metrics {
			cell := table.None
			if v := j.at(model, metric); v != nil {
				cell = fmt.Sprintf("%.3f", v.Mean)
			}
			if v, ok := printed()[model][metric]; ok {
				cell += fmt.Sprintf(" (%.3f)", v)
			}
			row = append(row, cell)
		}
		t.Add(row...)
	}
	t.Notes = []string{"In brackets: Sun et al. 2021, tables 2 and 3: ResNet-110, σ = 0.25, n = 100,000, all " +
		"severities. Tier " + j.found[0].Tier + "."}
	return t
}

// calibration judges the orderings of Emde et al. 2025 by the certified errors of the tables, and whether the attack
// (1, y) raises AdaECE. Errors and differences are in points of percent.
func calibration(found []*results.Filled) *Findings {
	out := &Findings{Unit: "points", Digits: 1}
	var lower, raised []*compare.Difference
	published := nb.Must(nb.Must(recipe.Open()).Table("D/table7")).Published
	for _, f := range found {
		out.Tier = f.Tier
		for _, metric := range []string{"CCE", "CBS"} {
			for _, method := range []string{"Brier-ACT", "ACCE-ACT", "Exact start", "Exact-ACT", "constant " +
				"push", "AT, fine-tuned"} {
				if method == f.Reference() || f.Selected == nil {
					continue
				}
				c := Finding{Claim: fmt.Sprintf("%s of %s below that of %s", metric, method, f.Reference())}
				for _, s := range f.Selected {
					spread := s.CCESpread
					if metric == "CBS" {
						spread = s.CBSSpread
					}
					if s.Group != method || spread == nil || spread.Difference == nil {
						continue
					}
					d := spread.Difference
					lower = append(lower, d)
					p := points(fmt.Sprintf("at R = %g:", s.Radius), d)
					key := fmt.Sprintf("%s at %g", metric, s.Radius)
					if v, ok := published[method][key]; ok {
						gap := 100 * (v - published["AT"][key])
						p.Published = &gap
					}
					c.Parts = append(c.Parts, p)
				}
				out.List = append(out.List, c)
			}
		}
	}
	says := verdicts(true, lower...)
	for i := range out.List {
		c := &out.List[i]
		below, above, n := 0, 0, len(c.Parts)
		for _, s := range says[:n] {
			below, above = below+count(s.over == shows), above+count(s.over == opposite)
		}
		says = says[n:]
		switch {
		case n == 0:
			c.Verdict = "not there yet"
			continue
		case below == 0 && above == 0:
			c.Verdict = open
		case below == n:
			c.Verdict = shows
		case above == n:
			c.Verdict = opposite
		default:
			c.Verdict = fmt.Sprintf("%s at %d of %d radii, the opposite at %d", shows, below, n, above)
		}
		if c.Parts[0].Starts == 1 && c.Verdict != open {
			c.Verdict = "for this start: " + c.Verdict
		}
	}
	var titles []string
	for _, f := range found {
		for _, l := range f.Lines {
			if d := l.Raised["(1,y)"]; d != nil {
				raised, titles = append(raised, d), append(titles, l.Title)
			}
		}
	}
	for i, says := range verdicts(false, raised...) {
		out.List = append(out.List, Finding{"the attack (1,y) raises AdaECE, " + titles[i],
			[]Part{points("", raised[i])}, says.String()})
	}
	kind := func(name string, of []*compare.Difference) string {
		if len(of) == 0 {
			return ""
		}
		return name + togetherNote(len(of))
	}
	out.Notes = notes(kind("Of the errors: ", lower), kind("Of the attack: ", raised))
	if len(lower) > 0 {
		out.Notes = append(out.Notes, "Differences of the smallest errors among models within three points of the "+
			"best certified accuracy, paired by image; what the choice of the models adds is not in the intervals.")
	}
	return out
}

// points is a difference in points of percent.
func points(name string, d *compare.Difference) Part {
	return Part{Name: name, Value: 100 * d.Difference, Low: 100 * d.Interval.Low, High: 100 * d.Interval.High,
		Starts: d.Starts}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// BySeverity is the average certified radius of a recipe over the corruptions of a group at each
// severity, and at 0 on the clean ones of the same images; the mean over its seeds. A severity at
// which a corruption is missing is left out.
func BySeverity(folder, recipe, name string, group []string) nb.Line {
	m := nb.Must(store.ReadManifest(folder))
	sum, count := map[int]float64{}, map[int]float64{}
	for _, model := range m.Models {
		if !strings.HasPrefix(model.Name, recipe+"@") {
			continue
		}
		radii := nb.Must(m.Radii(folder, &model))
		images := map[int]bool{}
		for severity := 1; severity <= 5; severity++ {
			total, complete := 0.0, true
			for _, corruption := range group {
				rows := radii.Outcomes(fmt.Sprintf("%s-%d", corruption, severity))
				complete = complete && rows != nil
				total += rows.ACR() / float64(len(group))
				for _, row := range rows {
					images[row.Image] = true
				}
			}
			if complete {
				sum[severity], count[severity] = sum[severity]+total, count[severity]+1
			}
		}
		if len(images) > 0 {
			clean := slices.DeleteFunc(slices.Clone(radii.Outcomes("clean")),
				func(row store.Outcome) bool { return !images[row.Image] })
			sum[0], count[0] = sum[0]+clean.ACR(), count[0]+1
		}
	}
	line := nb.Line{Name: name}
	for severity := range 6 {
		if count[severity] > 0 {
			line.X, line.Y = append(line.X, float64(severity)), append(line.Y, sum[severity]/count[severity])
		}
	}
	if len(line.X) == 0 {
		line.Name += " (not there yet)"
	}
	return line
}

// Centres are figures of the average certified radius against the centre frequency of filtered noise, one for each
// decay, a line for each model (Sun et al. 2021, figure 6).
func Centres(folder, title string) (figures []any) {
	f := nb.Must(results.Fill(nb.Context(), folder, "A/figure6", resample.Options{Resamples: 20}))
	lines := map[float64][]nb.Line{} // by decay
	for _, l := range f.Lines {
		of := map[float64]nb.Line{}
		for k, metric := range f.Metrics {
			var centre int
			var decay float64
			if n, _ := fmt.Sscanf(metric.Name, "fourier_fc%d_a%g", &centre, &decay); n == 2 && l.Values[k] != nil {
				line := of[decay]
				of[decay] = nb.Line{Name: l.Title, X: append(line.X, float64(centre)),
					Y: append(line.Y, l.Values[k].Mean)}
			}
		}
		for decay, line := range of {
			lines[decay] = append(lines[decay], line)
		}
	}
	nb.Assert(len(lines) > 0, "no curve under filtered noise")
	for _, decay := range slices.Sorted(maps.Keys(lines)) {
		figures = append(figures, nb.Lines(nb.Axes{X: "centre frequency (periods per image)",
			Y:     "average certified radius",
			Title: fmt.Sprintf("%s, decay %g\n%s", title, decay, Settings["A cpu"])}, lines[decay]...))
	}
	return figures
}

// differences are those of a metric between the lines of a table and the line that it compares with: above 0?
func differences(metric string, f *results.Filled) *Findings {
	j := &judge{found: []*results.Filled{f}}
	k := slices.IndexFunc(f.Metrics, func(m results.Metric) bool { return m.Name == metric })
	for _, l := range f.Lines {
		if k >= 0 && l.Values[k] != nil && l.Values[k].Difference != nil {
			j.claims = append(j.claims, l.Title)
			j.of, j.published = append(j.of, l.Values[k].Difference), append(j.published, nil)
		}
	}
	out := j.findings()
	out.Unit += " from " + f.Compare + on[metric]
	return out
}
