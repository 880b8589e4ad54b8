package nb

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/resample"
)

// Holm's values of p = .01, .04, .03 and .5 are .04, .09, .09 and .5: of three intervals without 0 one is a verdict.
// One that is small beside an interval with 0 is none.
func TestVerdicts(t *testing.T) {
	of := func(value, low, high, p float64) resample.Estimate {
		return resample.Estimate{Value: value, Interval: resample.Interval{Low: low, High: high}, P: p}
	}
	verdicts := func(found ...resample.Estimate) (words []string) {
		table := Verdicts([]string{"a", "b", "c", "d"}[:len(found)], found...)
		for _, row := range table.Rows {
			words = append(words, row[len(row)-1].(string))
		}
		if text := table.String(); len(found) == 4 && (!strings.Contains(text, "0.0400") || !strings.Contains(text, "0.0900") ||
			!strings.Contains(text, "-0.300 to -0.100") || !strings.Contains(text, "for the 4 differences")) {
			t.Error(text)
		}
		return words
	}
	second, third, last := of(.2, .1, .3, .04), of(.2, .1, .3, .03), of(.1, -.2, .3, .5)
	if got := verdicts(of(-.2, -.3, -.1, .01), second, third, last); !slices.Equal(got, []string{"lower", "open", "open", "open"}) {
		t.Errorf("%q", got)
	}
	if got := verdicts(second); !slices.Equal(got, []string{"higher"}) {
		t.Errorf("alone: %q", got)
	}
	if got := verdicts(of(.1, -.1, .3, .01)); !slices.Equal(got, []string{"open"}) {
		t.Errorf("an interval with 0: %q", got)
	}
	for _, claims := range [][]string{nil, {"a", "b"}} {
		if code, said := stopped(t, func() { Verdicts(claims, second) }); code != 1 || !strings.Contains(said, "expected one for each") {
			t.Errorf("exit %d, %q", code, said)
		}
	}
	if code, said := stopped(t, func() { Verdicts([]string{"a"}, of(0, 0, 0, 2)) }); code != 1 || !strings.Contains(said, "p-value 2") {
		t.Errorf("exit %d, %q", code, said)
	}
}

// Of 100 images, half of them 1 and half 0, 40 to 60 are drawn of one kind in the middle 95 % (of 39 and 61 the tails
// hold 1.8 %, of 40 and 60 2.8 %).
func TestInterval(t *testing.T) {
	share := func(d resample.Draw) float64 {
		sum := 0.
		for _, at := range d.First {
			sum += float64(at % 2)
		}
		return sum / float64(len(d.First))
	}
	if e := Interval(resample.Paired(100), share); e.Value != .5 || math.Abs(e.Interval.Low-.4) > 1e-12 || math.Abs(e.Interval.High-.6) > 1e-12 ||
		e.P > .001 {
		t.Errorf("%+v", e)
	}
	code, said := stopped(t, func() { Interval(resample.Paired(100), func(resample.Draw) float64 { return math.NaN() }) })
	if code != 1 || !strings.Contains(said, "want a finite number") {
		t.Errorf("exit %d, %q", code, said)
	}
}

// A file of results for each start, in the order of their names; a family is the mean over its sets, and what is not
// certified right has the radius 0.
func TestStarts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"m-s1.csv": "image,label,clean,fog-3,contrast-3\n7,0,0.5,0.25,0.75\n9,1,x,0.125,a\n",
		"m-s2.csv": "image,label,clean,fog-3,contrast-3\n7,0,0.25,0.5,0.5\n9,1,1,x,x\n",
	} {
		testkit.Write(t, []byte(text), dir, name)
	}
	for cells, want := range map[string][][]float64{
		"clean": {{.5, 0}, {.25, 1}},
		"fog-3": {{.25, .125}, {.5, 0}},
		"C":     {{.5, .0625}, {.5, 0}},
	} {
		s := Starts(filepath.Join(dir, "m-s?.csv"), cells)
		if !slices.Equal(s.Images, []int{7, 9}) || !slices.EqualFunc(s.Values, want, slices.Equal) {
			t.Errorf("%s: %+v, want %v", cells, s, want)
		}
	}
	for pattern, want := range map[string]string{"n-s?.csv": "matches no file", "m-s?.csv": "nowhere"} {
		code, said := stopped(t, func() { Starts(filepath.Join(dir, pattern), "nowhere") })
		if code != 1 || !strings.Contains(said, want) {
			t.Errorf("exit %d, %q; want it to say %q", code, said, want)
		}
	}
}
