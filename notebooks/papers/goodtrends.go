package papers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/experiment/claims"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/nb"
)

// Foreign are the networks of table 1 of Bitterwolf, Meinke and Hein 2020 that we trained, against
// the foreign sets of one kind of data.
type Foreign struct {
	own  string           // prefix of the recipes, as B/fmnist/
	sets []*measure.Areas // by rigorous intervals
}

// OpenForeign reads the results of an experiment whose recipes begin with a prefix, in balls of one
// radius; of a folder that is not there, none.
func OpenForeign(folder, own string, epsilon float64) *Foreign {
	f := &Foreign{own: own}
	for _, a := range nb.Must(measure.ReadAreas(folder)) {
		for _, n := range a.Networks {
			if a.By == "" && a.Epsilon == epsilon && strings.HasPrefix(n.Network, own) {
				f.sets = append(f.sets, a)
				break
			}
		}
	}
	return f
}

// goodRows are the networks that there may be, by the last word of their recipes, in the order of the paper's table.
var goodRows = []string{"plain", "ceda", "oe", "acet", "ccu", "good0", "good40", "good80", "good100", "prood"}

// seeds are a row's networks.
func (f *Foreign) seeds(a *measure.Areas, row string) (names []string) {
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
		columns = append(columns, fmt.Sprintf("%s, ε = %g", claims.SetName(a.Set), a.Epsilon))
	}
	t := nb.Columns(columns...)
	for _, row := range goodRows {
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
				head = []any{nb.Must(library().Recipe(f.own + row)).Title, int(n),
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
		l := nb.Line{Name: claims.SetName(a.Set)}
		for _, row := range f.quantiles(a) {
			l.X, l.Y = append(l.X, f.area(a, row, measure.AUC)), append(l.Y, f.area(a, row, measure.GAUC))
		}
		lines = append(lines, l)
	}
	return lines
}

// area is the mean over a row's starts of a kind of area, in percent.
func (f *Foreign) area(a *measure.Areas, row, kind string) float64 {
	weights := map[[2]string]float64{}
	starts := f.seeds(a, row)
	for _, s := range starts {
		weights[[2]string{s, kind}] = 100 / float64(len(starts))
	}
	v, _, err := a.All.Contrast(weights)
	nb.Check(err)
	return v
}

func (f *Foreign) rowsOf(a *measure.Areas, names ...string) (there []string) {
	for _, n := range names {
		if f.seeds(a, n) != nil {
			there = append(there, n)
		}
	}
	return there
}

// quantiles are the rows by their Q, from 0 on, for which OE stands where GOOD 0 is not there.
func (f *Foreign) quantiles(a *measure.Areas) []string {
	names := f.rowsOf(a, "good0", "good40", "good80", "good100")
	if !slices.Contains(names, "good0") {
		names = append(f.rowsOf(a, "oe"), names...)
	}
	return names
}

func slashed(percents []float64) string {
	var texts []string
	for _, v := range percents {
		texts = append(texts, fmt.Sprintf("%.1f", v))
	}
	return strings.Join(texts, " / ")
}
