package papers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/resample"
)

// Foreign are the networks of table 1 of Bitterwolf, Meinke and Hein 2020 that we trained, against
// the foreign sets of one kind of data.
type Foreign struct {
	own    string // prefix of the recipes, as B/fmnist/
	sets   []*store.Areas
	others []*store.Areas // by other bounds than rigorous intervals
}

// OpenForeign reads the results of an experiment whose recipes begin with a prefix, in balls of one
// radius; of a folder that is not there, none.
func OpenForeign(folder, own string, epsilon float64) *Foreign {
	f := &Foreign{own: own}
	for _, a := range nb.Must(store.ReadAreas(folder)) {
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
func (f *Foreign) seeds(a *store.Areas, row string) (names []string) {
	for _, n := range a.Networks {
		if name, _, _ := strings.Cut(n.Network, "@"); name == f.own+row {
			names = append(names, n.Network)
		}
	}
	return names
}

// Table has, for each network, its accuracy, the mean confidence in own images, and AUC / AAUC /
// GAUC in percent with ties lost, means over the seeds; a dash where it was not attacked.
func (f *Foreign) Table() *nb.Tabular {
	columns := []string{"network", "seeds", "accuracy", "own confidence"}
	for _, a := range f.sets {
		columns = append(columns, fmt.Sprintf("%s, ε = %g", setName(a.Set), a.Epsilon))
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
					for i, v := range []float64{of.Accuracy, of.Own, of.Bound.AUC.Conservative,
						of.Attack.WorstAUC.Conservative, of.Bound.WorstAUC.Conservative} {
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
				head = []any{strings.Replace(inWords(row), "prood", "ProoD", 1), int(n),
					fmt.Sprintf("%.1f", sum[0]), fmt.Sprintf("%.1f", sum[1])}
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
		l := nb.Line{Name: setName(a.Set)}
		for _, row := range f.quantiles(a) {
			x, y := f.contrast(a, row, "AUC", "", ""), f.contrast(a, row, "GAUC", "", "")
			l.X, l.Y = append(l.X, x.value), append(l.Y, y.value)
		}
		lines = append(lines, l)
	}
	return lines
}

// estimate is a difference in points of percent, with the half width of its interval of 95 % over images and
// starts, and over images for these starts alone; NaN where one of the two is not there.
type estimate struct {
	value, half, given float64
	starts             int
}

func (e estimate) there() bool { return !math.IsNaN(e.value) }

// contrast is the mean over a row's starts of one kind of area minus that of another row's, paired by image. Starts
// of two rows were trained apart.
func (f *Foreign) contrast(a *store.Areas, row, kind, other, otherKind string) estimate {
	c := &a.All
	if kind == "AAUC" || otherKind == "AAUC" {
		c = &a.Attacked
	}
	weights := map[[2]string]float64{}
	var sets [][]float64
	e := estimate{value: math.NaN(), starts: math.MaxInt}
	for _, of := range []struct {
		row, kind string
		sign      float64
	}{{row, kind, 1}, {other, otherKind, -1}} {
		if of.row == "" {
			continue
		}
		starts := f.seeds(a, of.row)
		if len(starts) == 0 {
			return e
		}
		e.starts = min(e.starts, len(starts))
		var values []float64
		for _, s := range starts {
			weights[[2]string{s, of.kind}] += of.sign / float64(len(starts))
			v, _, err := c.Contrast(map[[2]string]float64{{s, of.kind}: 1})
			nb.Check(err)
			values = append(values, 100*v)
		}
		sets = append(sets, values)
	}
	v, deviation, err := c.Contrast(weights)
	nb.Check(err)
	return e.at(100*v, 100*deviation, sets...)
}

// at gives an estimate its value, standard error over the images and the values of its starts, by set.
func (e estimate) at(value, deviation float64, sets ...[]float64) estimate {
	e.value, e.given = value, resample.Normal95*deviation
	e.half = resample.Members(resample.Interval{Low: value - e.given, High: value + e.given}, value,
		resample.DefaultConfidence, sets...).High - value
	return e
}

// rowsOf are those of some rows that there are.
func (f *Foreign) rowsOf(a *store.Areas, names ...string) (there []string) {
	for _, n := range names {
		if f.seeds(a, n) != nil {
			there = append(there, n)
		}
	}
	return there
}

// quantiles are the rows by their Q, from 0 on, for which OE stands where GOOD 0 is not there.
func (f *Foreign) quantiles(a *store.Areas) []string {
	names := f.rowsOf(a, "good0", "good40", "good80", "good100")
	if !slices.Contains(names, "good0") {
		names = append(f.rowsOf(a, "oe"), names...)
	}
	return names
}

// Trends judges what the paper's tables show by intervals of 95 % over images and starts, of one trend each. A trend
// shows where all its intervals say so, and the opposite shows where one of them says that.
func (f *Foreign) Trends() *Findings {
	out := &Findings{Unit: "points", Tier: "cpu", Digits: 1}
	for _, a := range f.sets {
		add := func(text string, parts []part) {
			out.add(text, a.Set, parts)
		}
		var zero, rises, falls []part
		for _, row := range f.rowsOf(a, "plain", "ceda", "oe", "acet", "ccu", "good0") {
			zero = append(zero, part{row, f.contrast(a, row, "GAUC", "", ""), below(0.5)})
		}
		add("GAUC is 0 without bounds in training", zero)
		quantiles := f.quantiles(a)
		for i := 1; i < len(quantiles); i++ {
			from, to := quantiles[i-1], quantiles[i]
			rises = append(rises, part{from + " to " + to, f.contrast(a, to, "GAUC", from, "GAUC"), above(0)})
			falls = append(falls, part{from + " to " + to, f.contrast(a, to, "AUC", from, "AUC"), below(0)})
		}
		add("GAUC rises with Q", rises)
		if f.colour() {
			add("AUC falls with Q", falls)
		} else if e := f.contrast(a, "good100", "GAUC", "oe", "AAUC"); e.there() {
			add("GAUC of GOOD 100 at least AAUC of OE, but for 2 points", []part{{"", e, above(-2)}})
		}
		if a.Set == "uniform" {
			var high []part
			for _, row := range f.rowsOf(a, "good40", "good80", "good100") {
				high = append(high, part{row, f.contrast(a, row, "GAUC", "", ""), above(99)})
			}
			add("GAUC of GOOD on noise at least 99", high)
		}
		if e := f.contrast(a, "prood", "GAUC", "good80", "GAUC"); e.there() {
			add("ProoD: GAUC and AUC at least those of GOOD 80", []part{{"GAUC", e, atLeast(0)}, {"AUC",
				f.contrast(a, "prood", "AUC", "good80", "AUC"), atLeast(0)}})
		}
	}
	f.ownImages(out)
	out.Notes = []string{"Points of percent; intervals of 95 %, each taken alone: over the images (DeLong, " +
		"paired), and where there are two starts or more over these, by Student's t. What is said for these " +
		"starts is by the images alone."}
	return out
}

// ownImages adds what the paper says of a network's own images, whose accuracies and confidences
// are compared without pairing, so that the intervals are wider than they need be.
func (f *Foreign) ownImages(out *Findings) {
	if len(f.sets) == 0 {
		return
	}
	a := f.sets[0]
	of := func(value func(n int) (mean, variance float64), row string) (estimate, []float64) {
		starts := f.seeds(a, row)
		n := float64(len(starts))
		mean, variance := 0., 0. // the same images for all starts: their errors do not average out
		var values []float64
		for k := range a.Networks {
			if slices.Contains(starts, a.Networks[k].Network) {
				m, v := value(k)
				mean, variance, values = mean+100*m/n, variance+1e4*v/n, append(values, 100*m)
			}
		}
		return estimate{value: mean, given: variance, starts: len(starts)}, values
	}
	minus := func(value func(n int) (mean, variance float64), row, from string) estimate {
		m, values := of(value, row)
		o, others := of(value, from)
		return estimate{starts: min(m.starts, o.starts)}.at(m.value-o.value, math.Sqrt(m.given+o.given), values, others)
	}
	accuracy := func(n int) (mean, variance float64) {
		v := a.Networks[n].Accuracy
		return v, v * (1 - v) / float64(a.Networks[n].Images)
	}
	own := func(n int) (mean, variance float64) {
		return a.Networks[n].Own, a.Networks[n].OwnError * a.Networks[n].OwnError
	}
	var near, falls []part
	quantiles := f.quantiles(a)
	for i, row := range quantiles {
		near = append(near, part{row, minus(accuracy, row, "plain"), above(-1)})
		if i > 0 {
			falls = append(falls, part{quantiles[i-1] + " to " + row, minus(own, row, quantiles[i-1]), below(0)})
		}
	}
	if !f.colour() {
		out.add("accuracy of GOOD within a point of Plain's", "own", near)
	}
	out.add("confidence in own images falls with Q", "own", falls)
}

// part is one figure of a trend.
type part struct {
	name string
	estimate
	aim
}

// aim is where the interval of a number must lie.
type aim struct {
	bound float64
	says  func(low, high float64) (yes, no bool)
}

func above(v float64) aim {
	return aim{v, func(low, high float64) (yes, no bool) { return low > v, high < v }}
}

func atLeast(v float64) aim {
	return aim{v, func(low, high float64) (yes, no bool) { return low >= v, high < v }}
}

func below(v float64) aim {
	return aim{v, func(low, high float64) (yes, no bool) { return high < v, low > v }}
}

func saysOf(parts []part) string {
	starts := math.MaxInt
	by := func(half func(e estimate) float64) string {
		all := true
		for _, p := range parts {
			starts = min(starts, p.starts)
			yes, no := p.says(p.value-half(p.estimate), p.value+half(p.estimate))
			if no {
				return strings.TrimSuffix(opposite+": "+p.name, ": ")
			}
			all = all && yes
		}
		if all {
			return shows
		}
		return open
	}
	over, given := by(func(e estimate) float64 { return e.half }), by(func(e estimate) float64 { return e.given })
	return ruling{over, given, starts}.String()
}
