// Package claims judges the claims of a table by the results in a folder.
package claims

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/study"
	"github.com/certspec/certspec/table"
)

// Family are claims of a table that are judged together.
type Family struct {
	Name   string         `json:"family"`
	Digest string         `json:"digest"` // of what is claimed
	Claims []study.Judged `json:"claims"`
}

// Judge judges families of a table by a folder that holds its results; all of the table where none is named.
//
// Errors: no such table or family; results that are not there, or not in their form; those of the options.
func Judge(ctx context.Context, l *recipe.Library, folder, name string, o resample.Options, families ...string) (
	all []Family, err error) {
	t, err := l.Table(name)
	if err != nil {
		return nil, err
	}
	known := slices.Sorted(maps.Keys(t.Families))
	if len(families) == 0 {
		families = known
	}
	if len(families) == 0 {
		return nil, fmt.Errorf("claims: table %s makes no claims", recipe.Spelled(t.Name))
	}
	theirs, err := Printed(l, t)
	if err != nil {
		return nil, err
	}
	ours, err := open(folder, name)
	if err != nil {
		return nil, err
	}
	for _, family := range families {
		claims, ok := t.Families[family]
		if !ok {
			return nil, fmt.Errorf("claims: table %s has no family %q; it has %q", name, family, known)
		}
		judged, err := study.Judge(ctx, claims, ours, theirs, o)
		if err != nil {
			return nil, err
		}
		all = append(all, Family{family, claims.Digest(), judged})
	}
	return all, nil
}

// open opens the results of a table in a folder.
func open(folder, name string) (study.Results, error) {
	of := openRadii
	switch name := recipe.StoredName(name); {
	case strings.HasPrefix(name, "B/"):
		of = openAreas
	case strings.HasPrefix(name, "C/table"):
		of = openPredictors
	case strings.HasPrefix(name, "D/"):
		of = openCalibration
	}
	return of(folder, name)
}

// Printed are the printed numbers of a table.
func Printed(l *recipe.Library, t recipe.Table) (study.PrintedTable, error) {
	if recipe.StoredName(t.Name) == "C/table1" {
		return study.PrintedTable{Cells: printedPredictors(), Expand: printedSets}, nil
	}
	cells, err := l.Numbers(t)
	return study.PrintedTable{Cells: cells, Expand: printedSets}, err
}

// Tables are a table for each family that has claims; what verdicts mean stands below the first.
func Tables(l *recipe.Library, name string, families []Family) (all []*table.Table) {
	for _, f := range families {
		if len(f.Claims) == 0 {
			continue
		}
		var read []study.Judged
		for _, j := range f.Claims {
			read = append(read, Readable(l, j))
		}
		t := study.Verdicts(read)
		t.Title = recipe.Spelled(recipe.StoredName(name)) + ": " + f.Name
		if len(all) > 0 {
			t.Notes = t.Notes[1:]
		}
		if n := len(f.Claims); n > 1 {
			t.Notes = append(t.Notes, fmt.Sprintf("%d claims are judged together.", n))
		}
		all = append(all, t)
	}
	return all
}

// Readable is a claim with titles for recipes, and names of sets that a reader knows.
func Readable(l *recipe.Library, j study.Judged) study.Judged {
	c := &j.Claim
	word, _, _ := strings.Cut(c.What, " ")
	ofGroups := slices.Contains([]string{"r2", "slope", "er", "spread"}, word) ||
		word == "accuracy" && j.Set != study.OwnImages
	for _, row := range []*string{&c.Row, &c.Than} {
		if r, err := l.Recipe(*row); err == nil {
			*row = r.Title
		}
		if name := groupNames[*row]; ofGroups && name != "" {
			*row = name
		}
	}
	if j.Set = SetName(j.Set); c.ThanOn != "" {
		c.ThanOn = SetName(c.ThanOn)
	}
	return j
}

// groupNames are groups of networks as a reader calls them.
var groupNames = map[string]string{"clean": "no augmentation", "Gaussian": "Gaussian noise in training"}

// SetName is a set of images as a reader calls it.
func SetName(set string) string {
	if name, ok := setNames[set]; ok {
		return name
	}
	if at, severity, ok := strings.Cut(set, " severity "); ok {
		return SetName(at) + " at severity " + severity
	}
	if printable.Name(set) != "" && strings.Contains(set, "_") {
		return strings.ToLower(printable.Name(set))
	}
	return set
}

var setNames = map[string]string{"clean": "clean images", "F": "CIFAR-F", "low": "low frequencies",
	"mid": "middle frequencies", "high": "high frequencies", "all": "six shifts", "own": "own images",
	"out": "grey crops of CIFAR-10", "out-vehicles": "vehicles held out", "uniform-rgb": "uniform noise",
	"smooth-rgb": "smooth noise", "mnist": "digits", "grey": "grey crops", "uniform": "uniform noise",
	"smooth": "smooth noise"}
