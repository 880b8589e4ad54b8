package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/study"
)

// Radii are the certified radii of one model, image by image: what tables are made of. Cells of
// different images stand side by side.
type Radii struct {
	Cells []string // names, in the order in which they were added
	cells map[string]Outcomes
}

// Outcome is what is certified of one labelled image.
type Outcome struct {
	Image, Label int
	Verdict      Verdict
	Radius       float64 // of a right answer; else 0
}

// Verdict says what a smoothed classifier answers to an image.
type Verdict byte

// The verdicts.
const (
	Right     Verdict = iota
	Wrong             // another class than the label; which, is not kept
	Abstained         // no class
)

// Outcomes are those of a cell, in the order of the images.
type Outcomes []Outcome

// ACR is the average certified radius: the mean over all images of the radius of right answers, 0 for the others.
func (o Outcomes) ACR() float64 { return Mean(o.Vector().Values) }

// Vector are the radii by image.
func (o Outcomes) Vector() Vector {
	v := Vector{make([]int, len(o)), make([]float64, len(o))}
	for i, one := range o {
		v.Images[i], v.Values[i] = one.Image, one.Radius
	}
	return v
}

// radius of a row of a ledger.
func radius(row rs.Row) float64 { return row.Radius }

// outcomes are those of the labelled rows of a ledger, with a number of each right one.
func outcomes(rows rs.Rows, of func(rs.Row) float64) Outcomes {
	var kept Outcomes
	for _, row := range rows {
		one := Outcome{Image: row.Image, Label: row.Label}
		switch {
		case row.Label < 0:
			continue
		case row.Correct():
			one.Radius = of(row)
		case row.Class == rs.Abstain:
			one.Verdict = Abstained
		default:
			one.Verdict = Wrong
		}
		kept = append(kept, one)
	}
	slices.SortFunc(kept, func(a, b Outcome) int { return a.Image - b.Image })
	return kept
}

// Outcomes are those of a cell, nil: not there.
func (r *Radii) Outcomes(cell string) Outcomes { return r.cells[cell] }

// Set adds a cell.
func (r *Radii) Set(cell string, of Outcomes) {
	if r.cells == nil {
		r.cells = map[string]Outcomes{}
	}
	if r.cells[cell] == nil {
		r.Cells = append(r.Cells, cell)
	}
	r.cells[cell] = of
}

// GivenRadii are certified radii that are there: those of a ledger, as the cell of clean images, or of a file of radii.
func GivenRadii(path string) (*Radii, error) {
	if filepath.Ext(path) == ".csv" {
		r, err := ReadRadii(path)
		if err == nil && len(r.Cells) == 0 {
			err = fmt.Errorf("experiment: %s: %w", path, fs.ErrNotExist)
		}
		return r, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	if closed, err := measure.LedgerClosed(path); err != nil || !closed {
		return nil, cmp.Or(err, fmt.Errorf("experiment: %s is no closed ledger; certspec certify with the same "+
			"settings goes on with one", path))
	}
	run, err := rs.Open(path)
	if err != nil {
		return nil, err
	}
	r := &Radii{}
	of := outcomes(run.Rows, radius)
	if of == nil {
		return nil, fmt.Errorf("experiment: %s has no labelled images", path)
	}
	r.Set(sweep.Cell{}.String(), of)
	return r, nil
}

// Radii reads those of a model, and refuses what the tier cannot have certified.
func (m *Manifest) Radii(folder string, of *recipe.Model) (*Radii, error) {
	most, err := m.mostRadius(of)
	if err != nil {
		return nil, err
	}
	return m.checked(ResultPath(folder, of, ".csv"), of, most)
}

// shares reads the shares of noise samples behind them.
func (m *Manifest) shares(folder string, of *recipe.Model) (*Radii, error) {
	return m.checked(ResultPath(folder, of, SharesSuffix), of, 1)
}

func (m *Manifest) checked(path string, of *recipe.Model, most float64) (*Radii, error) {
	r, text, err := readRadiiText(path)
	if err != nil || of.Results != "" {
		return r, err
	}
	return r, m.checkRadii(path, text, of, r, most)
}

// ReadRadii reads a file of radii; one that is not there has no cells.
func ReadRadii(path string) (*Radii, error) {
	r, _, err := readRadiiText(path)
	return r, err
}

func readRadiiText(path string) (*Radii, []byte, error) {
	text, err := measure.ReadText(path)
	if text == nil || err != nil {
		return &Radii{}, nil, err
	}
	r, err := DecodeRadii(text)
	if err != nil {
		return nil, nil, fmt.Errorf("experiment: %s: %w", path, err)
	}
	return r, text, nil
}

// DecodeRadii reads the text of a file of radii, or of the shares behind them.
func DecodeRadii(text []byte) (*Radii, error) {
	columns, err := radiiForm.ReadColumns(text, "")
	if err != nil {
		return nil, err
	}
	r := &Radii{}
	for _, c := range columns {
		of := make(Outcomes, len(c.Images))
		for i, image := range c.Images {
			of[i] = Outcome{Image: image, Label: c.Labels[i], Verdict: verdicts[c.Marks[i]]}
			if of[i].Verdict == Right {
				of[i].Radius = c.Values[i]
			}
		}
		r.Set(c.Set, of)
	}
	return r, nil
}

var (
	radiiForm, _ = study.FormOf(".csv")
	verdicts     = map[string]Verdict{"": Right, study.Abstained: Abstained, study.Wrong: Wrong}
)

func (r *Radii) encode() []byte {
	var columns []*study.Column
	for _, cell := range r.Cells {
		c := &study.Column{Key: study.Key{Set: cell, Name: "radius"}}
		for _, one := range r.cells[cell] {
			mark, value := "", one.Radius
			switch one.Verdict {
			case Abstained:
				mark, value = study.Abstained, math.NaN()
			case Wrong:
				mark, value = study.Wrong, math.NaN()
			}
			c.Images, c.Labels = append(c.Images, one.Image), append(c.Labels, one.Label)
			c.Values, c.Marks = append(c.Values, value), append(c.Marks, mark)
		}
		columns = append(columns, c)
	}
	return radiiForm.Text(columns)
}

// Write keeps the cells in a given order; those that are not in it come last.
func (r *Radii) Write(path string, order []string) error {
	slices.SortStableFunc(r.Cells, func(a, b string) int { return place(order, a) - place(order, b) })
	return Keep(path, r.encode())
}

func place(order []string, name string) int {
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
}

// WriteJSON writes what is no result.
func WriteJSON(path string, v any) error { return putJSON(path, v, atomicfile.Write) }

// KeepJSON is writeJSON for a result.
func KeepJSON(path string, v any) error { return putJSON(path, v, Keep) }

func putJSON(path string, v any, write func(string, []byte) error) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("experiment: %s: %w", path, err)
	}
	return write(path, append(text, '\n'))
}

// share of the noise samples of the last look that are in the certified class.
func share(row rs.Row) float64 {
	if row.N == 0 {
		return 0
	}
	return float64(row.K) / float64(row.N)
}
