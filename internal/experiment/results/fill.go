// Package results makes tables of the files in the folder of an experiment.
package results

import (
	"context"
	"slices"

	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/study"
	"github.com/certspec/certspec/table"
)

// Filled is a table with the numbers that a folder holds.
type Filled struct {
	Name     string       `json:"name"`
	Title    string       `json:"title"`
	Source   string       `json:"source,omitempty"`
	Tier     string       `json:"tier"`
	Metrics  []Metric     `json:"metrics"`
	Lines    []FilledLine `json:"lines"`
	Compare  string       `json:"compare"`            // title of the line that differences refer to
	Selected []Selected   `json:"selected,omitempty"` // by CalibrationMeasure.Within
	Notes    []string     `json:"notes"`

	measures   []measure.Measure
	confidence float64 // of the intervals
}

// Reference is the group of the line that differences refer to.
func (f *Filled) Reference() string {
	if i := slices.IndexFunc(f.Lines, func(l FilledLine) bool { return l.Title == f.Compare }); i >= 0 {
		return f.Lines[i].Group
	}
	return ""
}

// Metric is a column: the mean of the average certified radius over some cells.
type Metric = tier.Mean

// FilledLine is a line with its values, of each metric one; nil: not there yet.
type FilledLine struct {
	Title       string                  `json:"title"`
	Group       string                  `json:"group"`
	Data        string                  `json:"data"`
	Models      []string                `json:"models"`
	Values      []*Value                `json:"values"`
	Calibration []*measure.RadiusErrors `json:"calibration,omitempty"` // by radius, means over the seeds
	ACE         map[string]*OverSeeds   `json:"ace,omitempty"`         // "accuracy", "clean" and the attacks
	// By how much each attack raises the calibration error; nil where an interval would be of fewer than 20 images.
	Raised map[string]*compare.Difference `json:"raised,omitempty"`
	// How p_A is distributed, for each main figure that has shares.
	Shares []distribution `json:"shares,omitempty"`
	// What further measures found, by their keys; encoded as JSON.
	Found map[string]any `json:"found,omitempty"`

	start   string   // model that training began with
	sigma   float64  // of the noise
	recipe  string   // "" where there is none
	foreign []string // sets of foreign images
}

// OverSeeds is a mean over seeds, with the least and the largest.
type OverSeeds struct {
	Mean  float64 `json:"mean"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Seeds int     `json:"seeds"`
}

// Value is an average certified radius. Interval is for the mean over the starts, over images and starts; of
// one start it is for this one.
type Value struct {
	OverSeeds
	Images   int               `json:"images"`
	Orders   int               `json:"orders,omitempty"` // of the data, from each start, where there are several
	Interval resample.Interval `json:"interval"`
	// Difference is that from the line that is compared with, over the seeds that both have, paired
	// by image; nil for that line itself, and where it has no value or is of other data.
	Difference *compare.Difference `json:"difference,omitempty"`

	sample *study.Sample // the mean radius over the cells, by start and image
}

// Selected is the best that a group reaches at a radius among models of comparable accuracy
// (certified-calibration tables 2 and 6 to 10).
type Selected struct {
	Radius float64  `json:"radius"`
	Best   float64  `json:"best_accuracy"` // of all
	Group  string   `json:"group"`
	Models int      `json:"models"` // of comparable accuracy
	CCE    *float64 `json:"cce"`    // the smallest of each
	ACCE   *float64 `json:"acce"`
	CBS    *float64 `json:"cbs"`
	// Of the models whose CCE and CBS these are; nil where few images are certified.
	CCESpread *ErrorSpread `json:"cce_spread,omitempty"`
	CBSSpread *ErrorSpread `json:"cbs_spread,omitempty"`

	cceLine, cbsLine int
	constant         float64 // smallest Brier score of a constant confidence, of models of comparable accuracy
}

// Fill reads what a folder holds of a table, by its name; of the only one for an empty name.
//
// Errors: no such table, results that cannot be read; that of ctx.
func Fill(ctx context.Context, folder, name string, o resample.Options) (*Filled, error) {
	f, err := newTableBuilder(ctx, folder, name, o)
	if err != nil {
		return nil, err
	}
	return f.fill()
}

func newTableBuilder(ctx context.Context, folder, name string, o resample.Options) (*TableBuilder, error) {
	o, err := o.Resolved()
	if err != nil {
		return nil, err
	}
	m, err := store.ReadManifest(folder)
	if err != nil {
		return nil, err
	}
	t, err := m.Table(name)
	if err != nil {
		return nil, err
	}
	columns, err := study.Open(folder, t.Name)
	if err != nil {
		return nil, err
	}
	return &TableBuilder{Place: store.Place{Folder: folder, Manifest: m, Table: t}, ctx: ctx, columns: columns,
		bootstrap: o, origins: map[string]store.Origin{}, sets: map[string][]string{}}, nil
}

func (f *TableBuilder) fill() (*Filled, error) {
	t := f.Table
	out := &Filled{Name: t.Name, Title: t.Title, Source: t.Source, Tier: f.Manifest.Tier.Name, Compare: t.Compare,
		measures: t.Measure.All(), confidence: f.bootstrap.Confidence}
	cells, err := f.Manifest.Tier.Cells(t.Measure.Radii)
	if err != nil {
		return nil, err
	}
	out.Metrics = tier.Means(t.Measure.Radii, cells)
	if out.Compare == "" && len(t.Lines) > 0 {
		out.Compare = t.Lines[0].Title
	}
	for i := range t.Lines {
		line, err := f.line(i, out.Metrics)
		if err != nil {
			return nil, err
		}
		out.Lines = append(out.Lines, line)
	}
	var notes []string
	for _, m := range out.measures {
		of, err := readerOf(m).fill(f, out)
		if err != nil {
			return nil, err
		}
		notes = append(notes, of...)
	}
	out.Notes = f.notes(out, notes)
	out.Tables() // corrects the p-values of the differences that it shows together
	return out, nil
}

// TableBuilder reads what a folder holds of a table.
type TableBuilder struct {
	store.Place
	ctx       context.Context // of the call of Fill that it lives for
	columns   *study.Folder
	bootstrap resample.Options
	origins   map[string]store.Origin // by model
	sets      map[string][]string     // of certified radii, by model
}

// Rounded is a number of a printed table.
func Rounded(v float64, decimals int) table.Rounded {
	return table.Rounded{Value: v, Decimals: decimals}
}

// Tables are the numbers as tables to print: those of every measure that the table asks for.
func (f *Filled) Tables() []*table.Table {
	var all []*table.Table
	add := func(t *table.Table, title string) {
		if len(t.Rows) == 0 {
			return
		}
		t.Title = f.Title
		if title != "" {
			t.Title += ": " + title
		}
		all = append(all, t)
	}
	columns, head := f.heads()
	for _, m := range f.measures {
		readerOf(m).tables(f, columns, head, add)
	}
	if len(all) > 0 {
		last := all[len(all)-1]
		last.Notes = append(last.Notes, f.Notes...)
	}
	return all
}

// heads are the columns that say which line a row of a table is of.
func (f *Filled) heads() (columns []string, head func(FilledLine) []any) {
	if slices.ContainsFunc(f.Lines, func(l FilledLine) bool { return l.Data != f.Lines[0].Data }) {
		return []string{"data", "model"}, func(l FilledLine) []any { return []any{l.Data, l.Title} }
	}
	return []string{"model"}, func(l FilledLine) []any { return []any{l.Title} }
}

func optional(v *float64) any {
	if v == nil {
		return table.None
	}
	return Rounded(*v, 4)
}

// readAll reads a result of each model of a line; those that are not there yet are left out.
func readAll[T any](f *TableBuilder, l FilledLine, suffix string) (all []*T, err error) {
	for _, name := range l.Models {
		one := new(T)
		there, err := measure.ReadJSON(f.Result(f.Manifest.Model(name), suffix), one)
		if err != nil {
			return nil, err
		}
		if there {
			all = append(all, one)
		}
	}
	return all, nil
}
