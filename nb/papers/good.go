package papers

import (
	"fmt"

	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/ood"
)

// good is what Bitterwolf, Meinke and Hein 2020 report: AUC, AAUC and GAUC in percent (tables 1, 8 and 9), or mean confidence and mean bound
// (table 4). Own images are MNIST with ε = 0.3, in table 9 with 0.4; of smooth noise, which the paper has for colour images alone, CIFAR-10 with 0.01.
var good = map[int][]struct {
	set    string // as ours is called whose place is the same; "": none
	title  string
	values map[string][]float64
}{
	1: {
		{"mnist", "FashionMNIST", map[string][]float64{"Plain": {98, 34.2, 0}, "OE": {99.9, 76.8, 0}, "GOOD 40": {99.8, 88, 29.1}, "GOOD 80": {99.8, 90.3, 55.5}, "GOOD 100": {100, 96.5, 78}}},
		{"", "EMNIST Letters", map[string][]float64{"Plain": {88, 31.4, 0}, "OE": {92.7, 50.9, 0}, "GOOD 40": {95.7, 56.6, 0}, "GOOD 80": {97.9, 63.1, 3.4}, "GOOD 100": {99, 53.8, 3.3}}},
		{"grey", "grey CIFAR-10", map[string][]float64{"Plain": {98.8, 36.6, 0}, "OE": {100, 92.4, 0}, "GOOD 40": {100, 97.7, 65.2}, "GOOD 80": {100, 98.4, 94.7}, "GOOD 100": {100, 99.9, 99.4}}},
		{"uniform", "uniform noise", map[string][]float64{"Plain": {99.1, 36.5, 0}, "OE": {100, 100, 0}, "GOOD 40": {100, 100, 100}, "GOOD 80": {100, 100, 100}, "GOOD 100": {100, 100, 100}}},
	},
	4: {
		{"mnist", "FashionMNIST", map[string][]float64{"Plain": {79.2, 100}, "OE": {25.4, 100}, "GOOD 40": {17.7, 76.8}, "GOOD 80": {16.3, 55.1}, "GOOD 100": {10.8, 40.8}}},
		{"", "EMNIST Letters", map[string][]float64{"Plain": {91.5, 100}, "OE": {87.9, 100}, "GOOD 40": {58.2, 100}, "GOOD 80": {40.7, 98.6}, "GOOD 100": {27.1, 99.2}}},
		{"grey", "grey CIFAR-10", map[string][]float64{"Plain": {77.2, 100}, "OE": {10.1, 100}, "GOOD 40": {10, 43.7}, "GOOD 80": {10, 15.7}, "GOOD 100": {10, 11}}},
		{"uniform", "uniform noise", map[string][]float64{"Plain": {79.6, 100}, "OE": {10, 100}, "GOOD 40": {10, 10}, "GOOD 80": {10, 10}, "GOOD 100": {10, 10}}},
	},
	8: {
		{"", "80M Tiny Images", map[string][]float64{"Plain": {98.7, 36.9, 0}, "OE": {100, 91.5, 0}, "GOOD 40": {100, 97.2, 59.5}, "GOOD 80": {100, 97.8, 89.4}, "GOOD 100": {100, 99.5, 97.7}}},
		{"", "Omniglot", map[string][]float64{"Plain": {97.9, 38.6, 0}, "OE": {98.5, 51, 0}, "GOOD 40": {96.9, 36.8, 0}, "GOOD 80": {96.9, 34.2, 1.2}, "GOOD 100": {98.6, 50.7, 1.8}}},
		{"", "notMNIST", map[string][]float64{"Plain": {91.9, 38.8, 0}, "OE": {99.9, 96.8, 0}, "GOOD 40": {100, 99.7, 44.7}, "GOOD 80": {100, 99.9, 96.7}, "GOOD 100": {100, 99.9, 99.3}}},
		{"smooth", "smooth noise (CIFAR-10)", map[string][]float64{"Plain": {90.5, 18.8, 0}, "OE": {99.5, 11.3, 0}, "GOOD 40": {96.4, 86.4, 27.5}, "GOOD 80": {95.1, 74.1, 59.4}, "GOOD 100": {82.2, 67.9, 66.8}}},
	},
	9: {
		{"mnist", "FashionMNIST", map[string][]float64{"Plain": {98, 28.6, 0}, "OE": {99.9, 63.6, 0}, "GOOD 40": {99.8, 81.6, 18.5}, "GOOD 80": {99.8, 84.5, 41.9}, "GOOD 100": {100, 92, 48.8}}},
		{"", "EMNIST Letters", map[string][]float64{"Plain": {88, 26.9, 0}, "OE": {92.7, 47.4, 0}, "GOOD 40": {95.7, 46.9, 0}, "GOOD 80": {97.9, 52.1, 1}, "GOOD 100": {99, 39.1, 0.8}}},
		{"grey", "grey CIFAR-10", map[string][]float64{"Plain": {98.8, 32.4, 0}, "OE": {100, 76, 0}, "GOOD 40": {100, 92, 26.3}, "GOOD 80": {100, 93.8, 77.3}, "GOOD 100": {100, 98.2, 75.9}}},
		{"uniform", "uniform noise", map[string][]float64{"Plain": {99.2, 34.3, 0}, "OE": {100, 99.9, 0}, "GOOD 40": {100, 100, 100}, "GOOD 80": {100, 100, 100}, "GOOD 100": {100, 100, 100}}},
	},
}

// GOOD is what a table of Bitterwolf, Meinke and Hein 2020 reports for MNIST: AUC / AAUC / GAUC in percent (1, 8 and 9), mean confidence / mean bound (4).
func GOOD(table int) *nb.Tabular {
	names := []string{"Plain", "OE", "GOOD 40", "GOOD 80", "GOOD 100"}
	t := nb.Columns(append([]string{fmt.Sprintf("published, table %d", table)}, names...)...)
	for _, row := range good[table] {
		cells := []any{row.title}
		for _, n := range names {
			cells = append(cells, slashed(row.values[n]))
		}
		t.Add(cells...)
	}
	return t
}

func slashed(percents []float64) string {
	text := ""
	for i, v := range percents {
		if i > 0 {
			text += " / "
		}
		text += fmt.Sprintf("%.1f", v)
	}
	return text
}

// Beside has rows of a table of GOOD beside ours, where a set of ours has the place of theirs, and whether ours show what theirs say: of
// tables 1, 8 and 9, whether GAUC is 0 (ours by its interval at 95 %, below half a percent or above it); of table 4, whether the mean
// bound is 100 % (ours above 99.95 %). The networks are models by the names of the paper.
func Beside(table int, models map[string]string, ours func(model, set string) *ood.Comparison) *nb.Tabular {
	t := nb.Columns(fmt.Sprintf("table %d: network", table), "theirs", "published", "our foreign images", "ours", "trend")
	for _, row := range good[table] {
		for _, name := range []string{"Plain", "OE", "GOOD 40", "GOOD 80", "GOOD 100"} {
			if row.set == "" || models[name] == "" {
				continue
			}
			c, published := ours(models[name], row.set), row.values[name]
			values, trend := []float64{100 * c.Foreign.Confidence, 100 * *c.Foreign.Bound}, verdict(published[1] == 100, *c.Foreign.Bound > 0.9995, *c.Foreign.Bound <= 0.9995)
			if table != 4 {
				gauc := c.Intervals["gauc"].DeLong
				values = []float64{100 * c.AUC, 100 * *c.AAUC, 100 * *c.GAUC}
				trend = verdict(published[2] == 0, gauc.High < 0.005, gauc.Low > 0.005)
			}
			t.Add(name, row.title, slashed(published), row.set, slashed(values), trend)
		}
	}
	return t
}

// verdict says whether ours show what is published, where ours say yes, no, or neither.
func verdict(published, yes, no bool) string {
	switch {
	case published && yes || !published && no:
		return "shows"
	case yes || no:
		return "opposite"
	}
	return "open"
}

// ByQuantile is GAUC against AUC in table 1 for MNIST, for Q = 0, 20, 40, 60, 80, 90, 95 and 100.
func ByQuantile() []nb.Line {
	return []nb.Line{
		{Name: "FashionMNIST", X: []float64{99.9, 99.8, 99.8, 99.9, 99.8, 99.9, 99.9, 100}, Y: []float64{0, 9.7, 29.1, 42, 55.5, 66.9, 73.9, 78}},
		{Name: "EMNIST Letters", X: []float64{92.9, 95.3, 95.7, 96.6, 97.9, 98, 98.7, 99}, Y: []float64{0, 0, 0, 0.1, 3.4, 5.1, 5.6, 3.3}},
		{Name: "grey CIFAR-10", X: []float64{100, 100, 100, 100, 100, 100, 100, 100}, Y: []float64{0, 28.3, 65.2, 85.3, 94.7, 97.8, 98.8, 99.4}},
	}
}
