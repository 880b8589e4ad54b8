package results

import (
	"encoding/csv"
	"math"
	"os"
	"reflect"
	"strconv"
	"testing"
)

// Section 11.J of the specification: the baselines of Emde et al. (2025), table 4, as far as their certified accuracy is in
// the range that table 2 prints per radius, give the row of adversarial training in table 2. The upper end of a range is the best
// model of any method; here one of another method stands for it.
func TestSelectByAccuracy(t *testing.T) {
	f, err := os.Open("testdata/emde-2025-table4.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 23 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for k, c := range []struct {
		radius           string
		low, high        float64
		wantCCE, wantCBS float64
		models           int
	}{
		{"0.05", 83, 86, 10.90, 8.70, 4},
		{"0.20", 74, 78, 27.83, 10.94, 4},
		{"0.50", 56, 59, 49.30, 28.88, 2},
		{"1.00", 35, 38, 56.36, 36.25, 4},
	} {
		candidates := []candidate{{Method: "best", Accuracy: c.high, CCE: 90, CBS: 80}}
		for _, row := range rows[1:] {
			if rows[0][4+k] != "acce_"+c.radius || rows[0][8+k] != "ca_"+c.radius || rows[0][12+k] != "cbs_"+c.radius {
				t.Fatalf("columns %v", rows[0])
			}
			if row[4+k] == "" {
				continue // nothing is certified at this radius
			}
			candidates = append(candidates, candidate{"AT", number(t, row[8+k]), number(t, row[4+k]), number(t, row[12+k])})
		}
		got, err := selectByAccuracy(candidates, c.high-c.low)
		for i := range got { // the places belong to models with these numbers
			if candidates[got[i].CCEOf].CCE != got[i].CCE || candidates[got[i].CBSOf].CBS != got[i].CBS {
				t.Errorf("radius %s: %+v", c.radius, got[i])
			}
			got[i].CCEOf, got[i].CBSOf = 0, 0
		}
		want := []selection{{Method: "best", Models: 1, CCE: 90, CBS: 80}, {Method: "AT", Models: c.models, CCE: c.wantCCE, CBS: c.wantCBS}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("radius %s: %+v, %v; want %+v", c.radius, got, err, want)
		}
	}
	got, err := selectByAccuracy([]candidate{{"a", .5, .1, .2}, {"b", .9, .4, .3}, {"a", .87, .5, .6}, {"c", .1, 0, 0}}, .03)
	if want := []selection{{"a", 1, .5, .6, 2, 2}, {"b", 1, .4, .3, 1, 1}, {Method: "c"}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for name, bad := range map[string]struct {
		candidates []candidate
		tolerance  float64
	}{
		"none":      {nil, 1},
		"tolerance": {[]candidate{{"a", 1, 1, 1}}, -1},
		"infinite":  {[]candidate{{"a", 1, 1, 1}}, math.Inf(1)},
		"accuracy":  {[]candidate{{"a", math.NaN(), 1, 1}}, 1},
		"CCE":       {[]candidate{{"a", 1, math.Inf(1), 1}}, 1},
		"CBS":       {[]candidate{{"a", 1, 1, -1}}, 1},
	} {
		if got, err := selectByAccuracy(bad.candidates, bad.tolerance); err == nil || got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
