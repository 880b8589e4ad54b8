// Package papers holds the longer steps of the notebooks about training (act, fouriermix), which need networks or the results of
// experiments. Like a cell, its functions end the program with a message where something fails.
package papers

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/experiment"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
)

// Experiments are the filled tables of all folders below results/experiments whose name begins with the prefix.
func Experiments(prefix string) (found []*experiment.Filled) {
	for _, manifest := range nb.Must(filepath.Glob("results/experiments/*/manifest.json")) {
		folder := filepath.Dir(manifest)
		for _, made := range nb.Must(experiment.ReadManifest(folder)).Tables {
			if strings.HasPrefix(made.Name, prefix) {
				found = append(found, Filled(filepath.Base(folder), made.Name))
			}
		}
	}
	return found
}

// Filled is a table in a folder below results/experiments.
func Filled(folder, table string) *experiment.Filled {
	return nb.Must(experiment.Fill(nb.Context(), filepath.Join("results/experiments", folder), table, resample.Options{}))
}

// ByTier parts tables by their tiers, in the order in which these come first: what one tier shows is no verdict on another.
func ByTier(found []*experiment.Filled) (parts [][]*experiment.Filled) {
	for _, f := range found {
		k := slices.IndexFunc(parts, func(of []*experiment.Filled) bool { return of[0].Tier == f.Tier })
		if k < 0 {
			k, parts = len(parts), append(parts, nil)
		}
		parts[k] = append(parts[k], f)
	}
	return parts
}

// FastFolder is where the fast tier makes its small experiment.
const FastFolder = "fast-experiment"

// Fast makes some rows of a table at the smallest tier in FastFolder, and fills it.
func Fast(table string, rows ...string) []*experiment.Filled {
	nb.Check(experiment.Run(nb.Context(), experiment.Options{Folder: FastFolder, Table: table, Tier: "T0", Rows: rows, Progress: nb.Progress()}))
	return []*experiment.Filled{nb.Must(experiment.Fill(nb.Context(), FastFolder, table, resample.Options{}))}
}

// Show shows all tables, and which they are.
func Show(found []*experiment.Filled) {
	var names []string
	for _, f := range found {
		names = append(names, fmt.Sprintf("%s at tier %s", f.Name, f.Tier))
		for _, t := range f.Tables() {
			nb.Show(t)
		}
	}
	nb.Show(nb.Facts("tables here", cmp.Or(strings.Join(names, ", "), "none yet; results/experiments/README.md has the commands")))
}

// level is that at which the verdicts of a table are right together.
const level = 0.05

// ruling is what a claim shows: "shows", "the opposite shows" or "open". Of two starts given says so for these
// starts alone.
type ruling struct {
	over   string
	given  string
	starts int // 0: no starts; 1: over is for this start
}

const (
	shows    = "shows"
	opposite = "the opposite shows"
	open     = "open"
)

func (v ruling) String() string {
	switch {
	case v.starts == 1 && v.over != open:
		return "for this start: " + v.over
	case v.starts == 2 && v.over == open && v.given != open:
		return "open; for these 2 starts: " + v.given
	}
	return v.over
}

// verdicts say what differences show of the claims that they are above 0, or below, all together: by Holm's
// correction of their p-values; so do, apart, those for the starts that are there.
func verdicts(below bool, of ...*compare.Difference) (all []ruling) {
	var over, given []float64
	for _, d := range of {
		p := d.P
		if d.Given != nil {
			p = d.Given.P
		}
		over, given = append(over, d.P), append(given, p)
	}
	over, given = nb.Must(resample.Holm(over)), nb.Must(resample.Holm(given))
	for i, d := range of {
		word := func(corrected float64) string {
			switch {
			case corrected > level:
				return open
			case d.Difference > 0 != below:
				return shows
			}
			return opposite
		}
		all = append(all, ruling{word(over[i]), word(given[i]), d.Starts})
	}
	return all
}

// togetherNote is the caption of verdicts; "" where there are none.
func togetherNote(claims int) string {
	if claims == 0 {
		return ""
	}
	return fmt.Sprintf("Verdicts hold together: p-values of the %d differences, corrected by Holm, are at most %g; the adjusted level of the smallest is %.2g. Intervals are 95 %% ones of one difference alone.",
		claims, level, level/float64(claims))
}

// startsNote is the caption of verdicts over starts.
func startsNote(of []*compare.Difference) string {
	if !slices.ContainsFunc(of, func(d *compare.Difference) bool { return d.Given != nil }) {
		return ""
	}
	return "Intervals are over images and starts, by Student's t. What is said for these starts, by p-values " +
		"over images alone, holds together likewise."
}

// notes leaves out empty ones.
func notes(all ...string) []string {
	return slices.DeleteFunc(all, func(note string) bool { return note == "" })
}

func signed(difference float64, i resample.Interval) string {
	return fmt.Sprintf("%+.3f (%+.3f to %+.3f)", difference, i.Low, i.High)
}

// judge is a list of claims about the average certified radii of experiments, each with its paired difference.
type judge struct {
	found  []*experiment.Filled
	claims []string
	of     []*compare.Difference // nil: not there yet
}

// at is the first value there is of a model on CIFAR-10 by the name of a metric.
func (j *judge) at(model, metric string) *experiment.Value {
	for _, f := range j.found {
		k := slices.IndexFunc(f.Metrics, func(m experiment.Metric) bool { return m.Name == metric })
		for _, l := range f.Lines {
			if k >= 0 && l.Title == model && l.Data == "cifar10" && l.Values[k] != nil {
				return l.Values[k]
			}
		}
	}
	return nil
}

// above claims that a model's value of a metric is above another model's, paired by image.
func (j *judge) above(claim, model, metric, other, otherMetric string) {
	a, b := j.at(model, metric), j.at(other, otherMetric)
	var d *compare.Difference
	if a != nil && b != nil {
		d = nb.Must(a.Minus(nb.Context(), b, resample.Options{}))
	}
	j.claims, j.of = append(j.claims, claim), append(j.of, d)
}

func (j *judge) table() *nb.Tabular {
	t := nb.Columns("ordering", "here", "verdict")
	there := slices.DeleteFunc(slices.Clone(j.of), func(d *compare.Difference) bool { return d == nil })
	says := verdicts(false, there...)
	for i, d := range j.of {
		if d == nil {
			continue
		}
		t.Add(j.claims[i], fmt.Sprintf("%.3f and %.3f: %+.4f (%+.4f to %+.4f)", d.B, d.A, d.Difference,
			d.Interval.Low, d.Interval.High), says[0].String())
		says = says[1:]
	}
	t.Notes = notes(togetherNote(len(there)), startsNote(there))
	if left := len(j.of) - len(there); left > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d claims more ask for models or corruptions that are not there.", left))
	}
	if len(j.found) > 0 {
		t.Notes = append(t.Notes, "Tier "+j.found[0].Tier+".")
	}
	return t
}

// Orderings judges the orderings of Sun et al. 2021, table 1 and section 5, by tables of one tier.
func Orderings(found []*experiment.Filled) *nb.Tabular {
	j := &judge{found: found}
	models := []string{"Gaussian", "Gaussian+JSD", "AutoAugment+JSD", "AugMix+JSD", "AugMix+HCR", "FourierMix+JSD", "FourierMix+HCR"}
	for _, m := range models {
		j.above(m+": Mid above Low", m, "C Mid", m, "C Low")
		j.above(m+": High above Mid", m, "C High", m, "C Mid")
	}
	for _, metric := range []string{"clean", "mACR C", "mACR C-bar"} {
		j.above("Gaussian+JSD above Gaussian, "+metric, "Gaussian+JSD", metric, "Gaussian", metric)
	}
	for _, metric := range []string{"mACR C", "mACR C-bar"} {
		for _, m := range models[:6] {
			j.above("FourierMix+HCR above "+m+", "+metric, "FourierMix+HCR", metric, m, metric)
		}
	}
	for _, m := range []string{"AutoAugment", "AugMix", "FourierMix"} {
		j.above(m+" above Gaussian, mACR C", m, "mACR C", "Gaussian", "mACR C")
	}
	for _, m := range []string{"AugMix", "FourierMix"} {
		j.above(m+" above Gaussian, mACR C-bar", m, "mACR C-bar", "Gaussian", "mACR C-bar")
	}
	j.above("Gaussian above AutoAugment, mACR C-bar", "Gaussian", "mACR C-bar", "AutoAugment", "mACR C-bar")
	for _, m := range []string{"Gaussian+JSD", "AugMix+JSD", "FourierMix+JSD"} {
		j.above(m+" above AutoAugment+JSD, mACR C-bar", m, "mACR C-bar", "AutoAugment+JSD", "mACR C-bar")
	}
	for _, m := range []string{"Gaussian+BN", "Gaussian+TENT"} {
		j.above("without adaptation above "+m+", mACR C", "Gaussian", "mACR C", m, "mACR C")
	}
	j.above("FourierMix+HCR above AugMix+HCR on CIFAR-F (by 11.8 % in the paper)", "FourierMix+HCR", "mACR F", "AugMix+HCR", "mACR F")
	return j.table()
}

// Best judges, by tables of one tier, whether the methods that maximise the certified radius are above Gaussian training (Sun et al. 2021, table 8;
// Jeong et al. 2021 and 2023), whether the best of them without views is above FourierMix+HCR, and whether FourierMix views add to it.
func Best(found []*experiment.Filled) *nb.Tabular {
	j := &judge{found: found}
	for _, metric := range []string{"clean", "mACR C"} {
		above := func(model, other string) { j.above(model+" above "+other+", "+metric, model, metric, other, metric) }
		for _, m := range []string{"SmoothAdv", "MACER", "SmoothMix", "CAT-RS"} {
			above(m, "Gaussian")
		}
		for _, m := range []string{"SmoothMix", "CAT-RS"} {
			above(m, "FourierMix+HCR")
			above("FourierMix+"+m, m)
		}
	}
	return j.table()
}

// Published is table 1 of Sun et al. 2021 for CIFAR-10: average certified radii. It checks that the groups of corruptions are ordered in each row and
// that their mean is the row's.
func Published() *nb.Tabular {
	t := nb.Columns("model", "clean", "mACR C", "C Low", "C Mid", "C High", "mACR C-bar")
	for _, row := range []struct {
		model                          string
		clean, c, low, mid, high, cBar float64
	}{
		{"Gaussian", .461, .363, .301, .353, .435, .314}, {"Gaussian+JSD", .535, .439, .346, .451, .520, .393},
		{"AutoAugment+JSD", .432, .400, .343, .395, .464, .346}, {"AugMix+JSD", .518, .430, .357, .436, .496, .382},
		{"AugMix+HCR", .520, .437, .369, .444, .497, .393}, {"FourierMix+JSD", .522, .444, .375, .454, .504, .397},
		{"FourierMix+HCR", .535, .460, .384, .473, .521, .419},
	} {
		mean := (row.low + row.mid + row.high) / 3
		nb.Assert(row.low < row.mid && row.mid < row.high && mean-row.c < 0.0011 && row.c-mean < 0.0011, "%v does not agree with itself", row)
		t.Add(row.model, row.clean, row.c, row.low, row.mid, row.high, row.cBar)
	}
	t.Notes = []string{"Sun et al. 2021, table 1: CIFAR-10, ResNet-110, σ = 0.25, corruptions at severities 1 to 5; published figures, not ours."}
	return t
}

// Calibration judges the orderings of Emde et al. 2025 by the certified errors of the tables, and whether the attack (1, y) raises AdaECE.
func Calibration(found []*experiment.Filled) *nb.Tabular {
	t := nb.Columns("the paper's ordering, and ours", "here", "verdict")
	var lower, raised []*compare.Difference
	type claim struct {
		text string
		at   []string // R = …

		starts int
	}
	var claims []claim
	for _, f := range found {
		for _, metric := range []string{"CCE", "CBS"} {
			for _, method := range []string{"Brier-ACT", "ACCE-ACT", "Exact start", "Exact-ACT", "constant " +
				"push", "AT, fine-tuned"} {
				if method == f.Reference() || f.Selected == nil {
					continue
				}
				c := claim{text: fmt.Sprintf("%s of %s below that of %s", metric, method, f.Reference())}
				for _, s := range f.Selected {
					spread := s.CCESpread
					if metric == "CBS" {
						spread = s.CBSSpread
					}
					if s.Group == method && spread != nil && spread.Difference != nil {
						d := spread.Difference
						lower, c.starts = append(lower, d), d.Starts
						c.at = append(c.at, fmt.Sprintf("R = %g: %s", s.Radius, signed(d.Difference, d.Interval)))
					}
				}
				claims = append(claims, c)
			}
		}
	}
	says := verdicts(true, lower...)
	for _, c := range claims {
		below, above := 0, 0
		for _, s := range says[:len(c.at)] {
			below, above = below+count(s.over == shows), above+count(s.over == opposite)
		}
		says = says[len(c.at):]
		verdict := "not there yet"
		if len(c.at) > 0 {
			verdict = fmt.Sprintf("shows at %d of %d radii, the opposite at %d, open at the others", below, len(c.at), above)
			if c.starts == 1 {
				verdict = "for this start: " + verdict
			}
		}
		t.Add(c.text, strings.Join(c.at, "; "), verdict)
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
		t.Add("the attack (1,y) raises AdaECE, "+titles[i], signed(raised[i].Difference, raised[i].Interval),
			says.String())
	}
	const models = "Differences of the smallest errors among models within three points of the best certified " +
		"accuracy, with 95 % intervals of the bootstrap over images, paired; what the choice of the models adds " +
		"is not in them."
	kind := func(name string, of []*compare.Difference) string {
		if len(of) == 0 {
			return ""
		}
		return name + togetherNote(len(of))
	}
	t.Notes = notes(models, kind("Of the errors: ", lower), kind("Of the attack: ", raised))
	return t
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// BySeverity is the average certified radius of a recipe over the corruptions of a group at each severity, and at 0 on the clean ones of the
// same images; the mean over its seeds. A severity at which a corruption is missing is left out.
func BySeverity(folder, recipe, name string, group []string) nb.Line {
	m := nb.Must(experiment.ReadManifest(folder))
	sum, count := map[int]float64{}, map[int]float64{}
	for _, model := range m.Models {
		if !strings.HasPrefix(model.Name, recipe+"@") {
			continue
		}
		radii := nb.Must(m.Radii(folder, model.Name))
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
			clean := slices.DeleteFunc(slices.Clone(radii.Outcomes("clean")), func(row experiment.Outcome) bool { return !images[row.Image] })
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

// Centres shows the average certified radius against the centre frequency of filtered noise, a figure for each decay, a line for each model.
func Centres(f *experiment.Filled, title string) {
	lines := map[float64][]nb.Line{} // by decay
	for _, l := range f.Lines {
		of := map[float64]nb.Line{}
		for k, metric := range f.Metrics {
			var centre int
			var decay float64
			if n, _ := fmt.Sscanf(metric.Name, "fourier_fc%d_a%g", &centre, &decay); n == 2 && l.Values[k] != nil {
				line := of[decay]
				of[decay] = nb.Line{Name: l.Title, X: append(line.X, float64(centre)), Y: append(line.Y, l.Values[k].Mean)}
			}
		}
		for decay, line := range of {
			lines[decay] = append(lines[decay], line)
		}
	}
	nb.Assert(len(lines) > 0, "no curve under filtered noise")
	for _, decay := range slices.Sorted(maps.Keys(lines)) {
		nb.Show(nb.Lines(nb.Axes{X: "centre frequency f_c (periods per image)", Y: "average certified radius",
			Title: fmt.Sprintf("%s, decay α = %g", title, decay)}, lines[decay]...))
	}
}

// Ahead compares Gaussian, Gaussian+JSD and FourierMix+HCR in several tables, each with its number of training images, and tells by how much
// FourierMix+HCR is ahead of Gaussian+JSD.
func Ahead(tables []*experiment.Filled, images []int, metrics ...string) *nb.Tabular {
	t := nb.Columns("figure", "images to learn from", "Gaussian", "Gaussian+JSD", "FourierMix+HCR", "FourierMix+HCR − Gaussian+JSD")
	for _, figure := range metrics {
		seen := map[int]bool{}
		for i, f := range tables {
			k := slices.IndexFunc(f.Metrics, func(m experiment.Metric) bool { return m.Name == figure })
			if k < 0 || seen[images[i]] {
				continue
			}
			value := func(title string) *experiment.Value {
				return f.Lines[slices.IndexFunc(f.Lines, func(l experiment.FilledLine) bool { return l.Title == title })].Values[k]
			}
			g, jsd, hcr := value("Gaussian"), value("Gaussian+JSD"), value("FourierMix+HCR")
			if g == nil || jsd == nil || hcr == nil {
				continue
			}
			seen[images[i]] = true
			d := nb.Must(hcr.Minus(nb.Context(), jsd, resample.Options{}))
			t.Add(figure, images[i], g.Mean, jsd.Mean, hcr.Mean, signed(d.Difference, d.Interval))
		}
	}
	return t
}
