package experiment

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/rs"
)

// Radii are the certified radii of one model, image by image: what tables are made of. Cells of different images stand side by side.
type Radii struct {
	Cells []string // names, in the order in which they were added
	rows  map[string]rs.Rows
}

// In the file of radii: an image that the cell does not have, an abstention, and another class than the label.
const (
	absent    = ""
	abstained = "a"
	wrong     = "x"
)

// Rows are those of a cell, nil: not there. Of a class that is not the label it is only known that it is another.
func (r *Radii) Rows(cell string) rs.Rows { return r.rows[cell] }

// set adds a cell. Rows keep what the file keeps.
func (r *Radii) set(cell string, rows rs.Rows) {
	if r.rows == nil {
		r.rows = map[string]rs.Rows{}
	}
	if r.rows[cell] == nil {
		r.Cells = append(r.Cells, cell)
	}
	kept := make(rs.Rows, len(rows))
	for i, row := range rows {
		kept[i] = rs.Row{Image: row.Image, Label: row.Label, Class: row.Class}
		switch {
		case row.Correct():
			kept[i].Radius = row.Radius
		case row.Class != rs.Abstain:
			kept[i].Class = row.Label + 1
		}
	}
	slices.SortFunc(kept, func(a, b rs.Row) int { return a.Image - b.Image })
	r.rows[cell] = kept
}

// Radii reads what a folder holds of a model, by its name, as in A/c10/g@1.
func (m *Manifest) Radii(folder, model string) (*Radii, error) {
	of := m.model(model)
	if of == nil {
		return nil, fmt.Errorf("experiment: the folder has no model %q", model)
	}
	return readRadii(resultPath(folder, of, ".csv"))
}

// readRadii reads a file of radii; one that is not there has no cells.
func readRadii(path string) (*Radii, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Radii{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	r, err := decodeRadii(text)
	if err != nil {
		return nil, fmt.Errorf("experiment: %s: %w", path, err)
	}
	return r, nil
}

func decodeRadii(text []byte) (*Radii, error) {
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(records) == 0 || len(records[0]) < 3 || records[0][0] != "image" || records[0][1] != "label" {
		return nil, errors.New("its first line does not begin with image,label and a cell")
	}
	r := &Radii{rows: map[string]rs.Rows{}}
	cells := records[0][2:]
	rows := make([]rs.Rows, len(cells))
	last := -1
	for n, record := range records[1:] {
		image, err1 := strconv.Atoi(record[0])
		label, err2 := strconv.Atoi(record[1])
		if err1 != nil || err2 != nil || image <= last || label < 0 {
			return nil, fmt.Errorf("line %d: image %q with label %q; expected ascending numbers", n+2, record[0], record[1])
		}
		last = image
		for k, v := range record[2:] {
			row := rs.Row{Image: image, Label: label, Class: label}
			switch v {
			case absent:
				continue
			case abstained:
				row.Class = rs.Abstain
			case wrong:
				row.Class = label + 1
			default:
				radius, err := strconv.ParseFloat(v, 64)
				if err != nil || !(radius >= 0) || radius-radius != 0 {
					return nil, fmt.Errorf("line %d: %q in %s; expected a radius, %q or %q", n+2, v, cells[k], abstained, wrong)
				}
				row.Radius = radius
			}
			rows[k] = append(rows[k], row)
		}
	}
	for k, cell := range cells {
		if r.rows[cell] != nil || len(rows[k]) == 0 {
			return nil, fmt.Errorf("the cell %q is there twice, or empty", cell)
		}
		r.Cells, r.rows[cell] = append(r.Cells, cell), rows[k]
	}
	return r, nil
}

func (r *Radii) encode() []byte {
	labels := map[int]int{}
	at := map[string]map[int]string{}
	for _, cell := range r.Cells {
		at[cell] = map[int]string{}
		for _, row := range r.rows[cell] {
			labels[row.Image] = row.Label
			switch {
			case row.Correct():
				at[cell][row.Image] = strconv.FormatFloat(row.Radius, 'f', -1, 64)
			case row.Class == rs.Abstain:
				at[cell][row.Image] = abstained
			default:
				at[cell][row.Image] = wrong
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

// write keeps the cells in a given order; those that are not in it come last.
func (r *Radii) write(path string, order []string) error {
	slices.SortStableFunc(r.Cells, func(a, b string) int { return place(order, a) - place(order, b) })
	return atomicfile.Write(path, r.encode())
}

func place(order []string, name string) int {
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
}

// readJSON reads a result; ok is whether it is there.
func readJSON(path string, to any) (ok bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		return false, fmt.Errorf("experiment: %s: %w", path, err)
	}
	return true, nil
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("experiment: %s: %w", path, err)
	}
	return atomicfile.Write(path, append(text, '\n'))
}
