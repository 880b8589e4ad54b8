package papers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/certspec/certspec/experiment"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/resample"
)

// Foreign are the networks of table 1 of Bitterwolf, Meinke and Hein 2020 that we trained, against the foreign sets of one kind of data.
type Foreign struct {
	own    string // prefix of the recipes, as B/fmnist/
	sets   []*experiment.Areas
	others []*experiment.Areas // by other bounds than rigorous intervals
}

// OpenForeign reads the results of an experiment whose recipes begin with a prefix, in balls of one radius; of a folder that is not there, none.
func OpenForeign(folder, own string, epsilon float64) *Foreign {
	f := &Foreign{own: own}
	for _, a := range nb.Must(experiment.ReadAreas(folder)) {
		for _, n := range a.Networks {
			if a.Epsilon == epsilon && strings.HasPrefix(n.Network, own) {
				if a.By == "" {
					f.sets = append(f.sets, a)
				} else {
					f.others = append(f.others, a)
				}
				break
			}
		}
	}
	return f
}

// colour is whether own images are in colour: the trends of the paper are those of its CIFAR-10, or else of its MNIST.
func (f *Foreign) colour() bool {
	return slices.Contains([]string{"B/animals/", "B/c10/", "B/svhn/"}, f.own)
}

// rows are the networks that there may be, by the last word of their recipes, in the order of the paper's table.
var rows = []string{"plain", "ceda", "oe", "acet", "ccu", "good0", "good40", "good80", "good100", "prood"}

// seeds are a row's networks.
func (f *Foreign) seeds(a *experiment.Areas, row string) (names []string) {
	for _, n := range a.Networks {
		if name, _, _ := strings.Cut(n.Network, "@"); name == f.own+row {
			names = append(names, n.Network)
		}
	}
	return names
}

// Table has, for each network, its accuracy, the mean confidence in own images, and AUC / AAUC / GAUC in percent with ties lost, means over the seeds;
// a dash where it was not attacked.
func (f *Foreign) Table() *nb.Tabular {
	columns := []string{"network", "seeds", "accuracy", "own confidence"}
	for _, a := range f.sets {
		columns = append(columns, fmt.Sprintf("%s, ε = %g", a.Set, a.Epsilon))
	}
	t := nb.Columns(columns...)
	for _, row := range rows {
		var head, cells []any
		for _, a := range f.sets {
			var sum [5]float64
			n := 0.
			for _, of := range a.Networks {
				if slices.Contains(f.seeds(a, row), of.Network) && of.Bound != nil && of.Attack != nil {
					n++
					for i, v := range []float64{of.Accuracy, of.Own, of.Bound.AUC.Conservative, of.Attack.WorstAUC.Conservative, of.Bound.WorstAUC.Conservative} {
						sum[i] += 100 * v
					}
				}
			}
			if n == 0 {
				cells = append(cells, "–")
				continue
			}
			for i := range sum {
				sum[i] /= n
			}
			if head == nil {
				head = []any{row, int(n), fmt.Sprintf("%.1f", sum[0]), fmt.Sprintf("%.1f", sum[1])}
			}
			cells = append(cells, slashed(sum[2:]))
		}
		if head != nil {
			t.Add(append(head, cells...)...)
		}
	}
	return t
}

// ByQuantile is GAUC against AUC, in percent, for the Q that there are, a line for each foreign set.
func (f *Foreign) ByQuantile() (lines []nb.Line) {
	for _, a := range f.sets {
		l := nb.Line{Name: a.Set}
		for _, row := range f.quantiles(a) {
			x, _ := f.contrast(a, row, "AUC", "", "")
			y, _ := f.contrast(a, row, "GAUC", "", "")
			l.X, l.Y = append(l.X, x), append(l.Y, y)
		}
		lines = append(lines, l)
	}
	return lines
}

// contrast is the mean over a row's seeds of one kind of area minus that of another row's, with the half width of its interval of 95 % over
// the images, paired; NaN where one is not there.
func (f *Foreign) contrast(a *experiment.Areas, row, kind, other, otherKind string) (value, half float64) {
	c := &a.All
	if kind == "AAUC" || otherKind == "AAUC" {
		c = &a.Attacked
	}
	weights := map[[2]string]float64{}
	for _, of := range []struct {
		row, kind string
		sign      float64
	}{{row, kind, 1}, {other, otherKind, -1}} {
		if of.row == "" {
			continue
		}
		seeds := f.seeds(a, of.row)
		if len(seeds) == 0 {
			return math.NaN(), 0
		}
		for _, s := range seeds {
			weights[[2]string{s, of.kind}] += of.sign / float64(len(seeds))
		}
	}
	v, deviation, err := c.Contrast(weights)
	nb.Check(err)
	return points(v, deviation)
}

// points are a difference and the half width of its interval of 95 % in points of percent.
func points(difference, deviation float64) (value, half float64) {
	return 100 * difference, 100 * resample.Normal95 * deviation
}

// rowsOf are those of some rows that there are.
func (f *Foreign) rowsOf(a *experiment.Areas, names ...string) (there []string) {
	for _, n := range names {
		if f.seeds(a, n) != nil {
			there = append(there, n)
		}
	}
	return there
}

// quantiles are the rows by their Q, from 0 on, for which OE stands where GOOD 0 is not there.
func (f *Foreign) quantiles(a *experiment.Areas) []string {
	names := f.rowsOf(a, "good0", "good40", "good80", "good100")
	if !slices.Contains(names, "good0") {
		names = append(f.rowsOf(a, "oe"), names...)
	}
	return names
}

// Trends judges what the paper's tables show by intervals of 95 % over the images, of one trend each. A trend
// shows where all its intervals say so, and the opposite shows where one of them says that.
func (f *Foreign) Trends() *nb.Tabular {
	t := nb.Columns("trend of the paper", "foreign images", "here, points", "verdict")
	for _, a := range f.sets {
		add := func(text string, parts []part) {
			if len(parts) > 0 {
				t.Add(text, a.Set, figures(parts), saysOf(parts))
			}
		}
		var zero, rises, falls []part
		for _, row := range f.rowsOf(a, "plain", "ceda", "oe", "acet", "ccu", "good0") {
			v, half := f.contrast(a, row, "GAUC", "", "")
			zero = append(zero, part{row, v, half, v+half < 0.5, v-half > 0.5})
		}
		add("GAUC is 0 without bounds in training", zero)
		quantiles := f.quantiles(a)
		for i := 1; i < len(quantiles); i++ {
			from, to := quantiles[i-1], quantiles[i]
			v, half := f.contrast(a, to, "GAUC", from, "GAUC")
			rises = append(rises, part{from + " to " + to, v, half, v-half > 0, v+half < 0})
			v, half = f.contrast(a, to, "AUC", from, "AUC")
			falls = append(falls, part{from + " to " + to, v, half, v+half < 0, v-half > 0})
		}
		add("GAUC rises with Q", rises)
		if f.colour() {
			add("AUC falls with Q", falls)
		} else if v, half := f.contrast(a, "good100", "GAUC", "oe", "AAUC"); !math.IsNaN(v) {
			add("GAUC of GOOD 100 at least AAUC of OE, but for 2 points", []part{{"", v, half, v-half > -2, v+half < -2}})
		}
		if a.Set == "uniform" {
			var high []part
			for _, row := range f.rowsOf(a, "good40", "good80", "good100") {
				v, half := f.contrast(a, row, "GAUC", "", "")
				high = append(high, part{row, v, half, v-half > 99, v+half < 99})
			}
			add("GAUC of GOOD on noise at least 99", high)
		}
		if v, half := f.contrast(a, "prood", "GAUC", "good80", "GAUC"); !math.IsNaN(v) {
			w, other := f.contrast(a, "prood", "AUC", "good80", "AUC")
			add("ProoD: GAUC and AUC at least those of GOOD 80", []part{{"GAUC", v, half, v-half >= 0, v+half < 0}, {"AUC", w, other, w-other >= 0, w+other < 0}})
		}
	}
	f.ownImages(t)
	t.Notes = []string{"Points of percent; intervals of 95 % over the images (DeLong, paired), each taken alone; of seeds the mean."}
	return t
}

// ownImages adds what the paper says of a network's own images, whose accuracies and confidences are compared without pairing, so that the
// intervals are wider than they need be.
func (f *Foreign) ownImages(t *nb.Tabular) {
	if len(f.sets) == 0 {
		return
	}
	a := f.sets[0]
	type means struct{ accuracy, accuracyVariance, own, ownVariance float64 }
	of := func(row string) (m means) {
		seeds := f.seeds(a, row)
		n := float64(len(seeds))
		for _, of := range a.Networks {
			if slices.Contains(seeds, of.Network) { // the same images for all seeds: their errors do not average out
				m.accuracy, m.own = m.accuracy+100*of.Accuracy/n, m.own+100*of.Own/n
				m.accuracyVariance += 1e4 * of.Accuracy * (1 - of.Accuracy) / float64(of.Images) / n
				m.ownVariance += 1e4 * of.OwnError * of.OwnError / n
			}
		}
		return m
	}
	plain := of("plain")
	var near, falls []part
	quantiles := f.quantiles(a)
	for i, row := range quantiles {
		m := of(row)
		v, half := m.accuracy-plain.accuracy, resample.Normal95*math.Sqrt(m.accuracyVariance+plain.accuracyVariance)
		near = append(near, part{row, v, half, v-half > -1, v+half < -1})
		if i > 0 {
			before := of(quantiles[i-1])
			v, half := m.own-before.own, resample.Normal95*math.Sqrt(m.ownVariance+before.ownVariance)
			falls = append(falls, part{quantiles[i-1] + " to " + row, v, half, v+half < 0, v-half > 0})
		}
	}
	if !f.colour() {
		t.Add("accuracy of GOOD within a point of Plain's", "own", figures(near), saysOf(near))
	}
	t.Add("confidence in own images falls with Q", "own", figures(falls), saysOf(falls))
}

// part is one figure of a trend.
type part struct {
	name        string
	value, half float64
	yes, no     bool
}

func figures(parts []part) string {
	var all []string
	for _, p := range parts {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %.1f (%.1f to %.1f)", p.name, p.value, p.value-p.half, p.value+p.half)))
	}
	return strings.Join(all, "; ")
}

func saysOf(parts []part) string {
	yes := true
	for _, p := range parts {
		if p.no {
			return strings.TrimSuffix("the opposite shows: "+p.name, ": ")
		}
		yes = yes && p.yes
	}
	if yes {
		return "shows"
	}
	return "open"
}
