package papers

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/resample"
)

// areasFile writes results of networks with GAUC and AUC by hand, each with a standard error of one point and no covariance.
func areasFile(t *testing.T, folder string, networks []string, auc, gauc []float64) {
	t.Helper()
	areasBy(t, folder, "", networks, auc, gauc, nil)
}

// areasBy does so for other bounds, with GAUC by intervals beside theirs.
func areasBy(t *testing.T, folder, by string, networks []string, auc, gauc, intervals []float64) {
	t.Helper()
	type m = map[string]any
	var list []m
	var values, of2 []float64
	kinds := []string{"AUC", "GAUC"}
	if by != "" {
		kinds = append(kinds, "GAUC by intervals")
	}
	var names []string
	for i, n := range networks {
		name := "B/x/" + n + "@1"
		if strings.Contains(n, "/") {
			name = n + "@1"
		}
		area := func(v float64) m { return m{"conservative": v, "value": v} }
		part := m{"images": 100, "auc": area(auc[i]), "worst_auc": area(gauc[i])}
		list = append(list, m{"network": name, "images": 10000, "accuracy": 0.9, "mean_own": 0.9 - 0.1*float64(i), "mean_own_error": 0.001, "bound": part, "attack": part})
		names, values, of2 = append(names, name), append(append(values, auc[i], gauc[i]), intervals[min(i, len(intervals)):min(i+1, len(intervals))]...), append(of2, auc[i], gauc[i], gauc[i])
	}
	compared := func(kinds []string, values []float64) m {
		var covariance [][]float64
		for i := range values {
			row := make([]float64, i+1)
			row[i] = 1e-4
			covariance = append(covariance, row)
		}
		return m{"networks": names, "kinds": kinds, "images": 100, "values": values, "covariance": covariance}
	}
	text, err := json.Marshal(m{"data": "x", "set": "uniform", "epsilon": 0.1, "by": by, "networks": list,
		"all": compared(kinds, values), "attacked": compared([]string{"AUC", "AAUC", "GAUC"}, of2)})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "results", "x-uniform-0.1"+by+".areas.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
}

// Differences of 10 points show, of one point are open (its interval is 2.8 points to each side), and of minus 10 are the opposite.
func TestTrendsOfForeignImages(t *testing.T) {
	folder := t.TempDir()
	areasFile(t, folder, []string{"plain", "oe", "good0", "good40", "good80", "good100"}, []float64{.9, .95, .95, .94, .93, .83}, []float64{0, 0, .1, .4, .5, .51})
	f := OpenForeign(folder, "B/x/", 0.1)
	says := map[string]string{}
	for _, of := range f.Trends().List {
		claim := strings.TrimSuffix(strings.TrimSuffix(of.Claim, ", own"), ", uniform")
		says[claim] = of.Verdict
	}
	for trend, want := range map[string]string{
		"GAUC is 0 without bounds in training":                   "for this start: the opposite shows: good0",
		"GAUC rises with Q":                                      "open",
		"GAUC of GOOD 100 at least AAUC of OE, but for 2 points": "for this start: shows",
		"GAUC of GOOD on noise at least 99":                      "for this start: the opposite shows: good40",
		"accuracy of GOOD within a point of Plain's":             "for this start: shows",
		"confidence in own images falls with Q":                  "for this start: shows",
	} {
		if says[trend] != want {
			t.Errorf("%s: %q, want %q", trend, says[trend], want)
		}
	}
	if rows := f.Table().Rows; len(rows) != 6 || !strings.Contains(rows[3][4].(string), "94.0 / 40.0 / 40.0") {
		t.Errorf("%v", rows)
	}
	if lines := f.ByQuantile(); len(lines) != 1 || len(lines[0].X) != 4 || lines[0].Y[3] != 51 {
		t.Errorf("%+v", lines)
	}
	if other := OpenForeign(folder, "B/x/", 0.2); len(other.Trends().List) != 0 {
		t.Error("trends of another radius")
	}
}

// Two starts whose areas differ by a point: Student's t with one degree of freedom widens ± 1.4 points to ± √(1.4²
// + 6.35²).
func TestTrendsOverStarts(t *testing.T) {
	e := estimate{starts: 2}.at(4, 1.4/resample.Normal95, []float64{3.5, 4.5})
	if math.Abs(e.given-1.4) > 1e-9 || math.Abs(e.half-math.Hypot(1.4, 12.7062*.5)) > 1e-3 {
		t.Errorf("%+v", e)
	}
	for want, parts := range map[string][]part{
		"open; for these 2 starts: shows":                   {{"", e, above(1)}},
		"open; for these 2 starts: the opposite shows: row": {{"row", e, below(1)}},
		"open":  {{"", e, above(3)}},
		"shows": {{"", e, above(-3)}},
	} {
		if says := saysOf(parts); says != want {
			t.Errorf("%q, want %q", says, want)
		}
	}
}

// By hand, each difference with an interval of 2.8 points to each side: short is as good, mixed loses 10 points of AUC, CROWN gains 10 and 1.
func TestGoalsOfForeignImages(t *testing.T) {
	folder := t.TempDir()
	areasFile(t, folder, []string{"good80", "B/goals/short", "B/goals/short-ibp", "B/goals/mixed-50"}, []float64{.9, .9, .9, .8}, []float64{.5, .5, .4, .6})
	areasBy(t, folder, "crown", []string{"good40", "good80"}, []float64{.9, .9}, []float64{.5, .51}, []float64{.4, .5})
	areasBy(t, folder, "plain", []string{"good80"}, []float64{.9}, []float64{.7}, []float64{.5})
	areasBy(t, folder, "goals", []string{"good80"}, []float64{.9}, []float64{.7}, []float64{.5})
	says := map[string]string{}
	for _, of := range OpenForeign(folder, "B/x/", 0.1).Goals().List {
		says[strings.TrimSuffix(of.Claim, ", uniform")] = of.Verdict
	}
	for goal, want := range map[string]string{
		"short: GAUC of GOOD 80, but for 3 points":                "for this start: shows",
		"short-ibp: GAUC of GOOD 80, but for 3 points":            "for this start: the opposite shows",
		"mixed-50: GAUC and AUC at least those of GOOD 80":        "for this start: the opposite shows: AUC",
		"CROWN gives the same weights a greater GAUC":             "open",
		"without rounding GAUC is the same to a tenth of a point": "for this start: the opposite shows: good80",
	} {
		if says[goal] != want || len(says) != 5 {
			t.Errorf("%s: %q, want %q of %d", goal, says[goal], want, len(says))
		}
	}
}
