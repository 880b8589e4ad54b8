package nb

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/rs"
)

// maxRadii is the number of radii in a table of runs; beyond, a curve says more.
const maxRadii = 8

func tabulate(sources []any) (*Tabular, error) {
	if len(sources) == 0 {
		return nil, fmt.Errorf("nb.Table: nothing to make a table of")
	}
	var runs []*rs.Run
	for _, source := range sources {
		switch v := source.(type) {
		case *rs.Run:
			runs = append(runs, v)
			continue
		case []*rs.Run:
			runs = append(runs, v...)
			continue
		}
		if len(sources) == 1 {
			if t := tableOf(source); t != nil {
				return t, nil
			}
		}
		if v := reflect.ValueOf(source); len(sources) == 1 && v.IsValid() {
			if isTable(v.Type()) {
				return structs(v), nil
			}
			if v.Kind() == reflect.Struct {
				one := reflect.MakeSlice(reflect.SliceOf(v.Type()), 0, 1)
				return structs(reflect.Append(one, v)), nil
			}
		}
		return nil, fmt.Errorf("nb.Table: runs, a result with a table, a slice of structs or one struct expected, not %T",
			source)
	}
	return runTable(runs), nil
}

// tableOf is the table that a result makes itself, or that Show puts in the page for it; nil: it has none.
func tableOf(value any) *Tabular {
	if t, ok := value.(*Tabular); ok {
		return t
	}
	if r, ok := value.(rendered); ok {
		return r.Table()
	}
	more, _ := defaults(value)
	for _, one := range more {
		if t, ok := one.(*Tabular); ok {
			return t
		}
		if f, ok := one.(folded); ok {
			for _, within := range f.of {
				if t, ok := within.(*Tabular); ok {
					return t
				}
			}
		}
	}
	return nil
}

// runTable has a row per run: certified accuracy at the multiples of ¼ that any of the runs can reach, and ACR.
func runTable(runs []*rs.Run) *Tabular {
	t := &Tabular{Columns: []string{"model", "data", "σ", "images"}}
	reach := 0.0
	for _, run := range runs {
		reach = max(reach, run.RadiusCap())
	}
	var radii []float64
	for i := 0; i < maxRadii && float64(i)/4 <= reach; i++ {
		radii = append(radii, float64(i)/4)
		t.Columns = append(t.Columns, fmt.Sprintf("r = %g", radii[i]))
	}
	t.Columns = append(t.Columns, "ACR", "abstained")
	names, settings := runNames(runs, true), map[string][]string{}
	for i, run := range runs {
		h := run.Header
		acr := run.ACR()
		row := []any{h.Model.Name, counted.ReplaceAllString(printable.DataTitle(h.Data.Name), ""), fmt.Sprint(h.Sigma)}
		if acr.Images > 0 {
			row = append(row, acr.Images)
			for _, a := range run.CertifiedAccuracy(radii...) {
				row = append(row, a.Value)
			}
			row = append(row, acr.Value)
		} else {
			row = append(row, len(run.Rows))
			for range len(radii) + 1 {
				row = append(row, "no labels")
			}
		}
		t.Rows = append(t.Rows, append(row, run.Abstained()))
		setting := fmt.Sprintf("%s rule, up to %s noise samples per image (which can certify no radius above "+
			"%.4f), α = %g, Gaussian noise (%s)",
			h.Rule.Name, printable.Count(run.Header.MaxSamples()), math.Ceil(1e4*run.RadiusCap())/1e4,
			h.Alpha, h.Noise)
		if !run.Complete() {
			setting += fmt.Sprintf("; unfinished, %d of %d images", len(run.Rows), h.Data.Images)
		}
		if settings[setting] = append(settings[setting], names[i]); len(settings[setting]) == 1 {
			t.Notes = append(t.Notes, setting)
		}
	}
	for i, setting := range t.Notes {
		t.Notes[i] = listed(settings[setting]) + ": " + setting + "."
	}
	t.Notes = append(t.Notes, "Columns r: fraction of all images that are classified correctly within ℓ₂ radius r. "+
		"ACR: average certified radius. A pixel value has the range 0 to 1.")
	return t
}

// counted is the end of the name of data that are a number of images; the table has the number.
var counted = regexp.MustCompile(`\[count=\d+\]$`)

// listed is "a", "a and b", "a, b and c".
func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
