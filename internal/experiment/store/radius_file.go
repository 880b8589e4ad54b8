package store

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/sweep"
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

// In the file of radii: an image that the cell does not have, an abstention, and another class than the label.
const (
	absent    = ""
	abstained = "a"
	wrong     = "x"
)

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

// DecodeRadii reads the text of a file of radii.
func DecodeRadii(text []byte) (*Radii, error) {
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(records) == 0 || len(records[0]) < 3 || records[0][0] != "image" || records[0][1] != "label" {
		return nil, errors.New("its first line does not begin with image,label and a cell")
	}
	r := &Radii{}
	cells := records[0][2:]
	rows := make([]Outcomes, len(cells))
	last := -1
	for n, record := range records[1:] {
		image, err1 := strconv.Atoi(record[0])
		label, err2 := strconv.Atoi(record[1])
		if err1 != nil || err2 != nil || image <= last || label < 0 {
			return nil, fmt.Errorf("line %d: image %q with label %q; expected ascending numbers", n+2, record[0],
				record[1])
		}
		last = image
		for k, v := range record[2:] {
			one := Outcome{Image: image, Label: label}
			switch v {
			case absent:
				continue
			case abstained:
				one.Verdict = Abstained
			case wrong:
				one.Verdict = Wrong
			default:
				radius, err := strconv.ParseFloat(v, 64)
				if err != nil || !(radius >= 0) || radius-radius != 0 {
					return nil, fmt.Errorf("line %d: %q in %s; expected a radius, %q or %q", n+2, v, cells[k],
						abstained, wrong)
				}
				one.Radius = radius
			}
			rows[k] = append(rows[k], one)
		}
	}
	for k, cell := range cells {
		if r.cells[cell] != nil || len(rows[k]) == 0 {
			return nil, fmt.Errorf("the cell %q is there twice, or empty", cell)
		}
		r.Set(cell, rows[k])
	}
	return r, nil
}

func (r *Radii) encode() []byte {
	labels := map[int]int{}
	at := map[string]map[int]string{}
	for _, cell := range r.Cells {
		at[cell] = map[int]string{}
		for _, one := range r.cells[cell] {
			labels[one.Image] = one.Label
			switch one.Verdict {
			case Right:
				at[cell][one.Image] = strconv.FormatFloat(one.Radius, 'f', -1, 64)
			case Abstained:
				at[cell][one.Image] = abstained
			default:
				at[cell][one.Image] = wrong
			}
		}
	}
	var images []int
	for image := range labels {
		images = append(images, image)
	}
	slices.Sort(images)
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write(append([]string{"image", "label"}, r.Cells...))
	for _, image := range images {
		record := []string{strconv.Itoa(image), strconv.Itoa(labels[image])}
		for _, cell := range r.Cells {
			record = append(record, at[cell][image])
		}
		w.Write(record)
	}
	w.Flush()
	return b.Bytes()
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
