package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/sweep"
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
}

// Metric is a column: the mean of the average certified radius over some cells.
type Metric struct {
	Name  string   `json:"name"`
	Main  bool     `json:"main"` // with differences
	Cells []string `json:"cells"`
}

// FilledLine is a line with its values, of each metric one; nil: not there yet.
type FilledLine struct {
	Title       string               `json:"title"`
	Group       string               `json:"group"`
	Data        string               `json:"data"`
	Models      []string             `json:"models"`
	Values      []*Value             `json:"values"`
	Calibration []*CalibrationAt     `json:"calibration,omitempty"` // by radius, means over the seeds
	ACE         map[string]*MeanOver `json:"ace,omitempty"`         // "accuracy", "clean" and the attacks
}

// MeanOver is a mean over seeds, with the least and the largest.
type MeanOver struct {
	Mean  float64 `json:"mean"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Seeds int     `json:"seeds"`
}

// Value is an average certified radius. Interval is that of the bootstrap over the images, of the mean over the seeds.
type Value struct {
	MeanOver
	Images   int         `json:"images"`
	Interval rs.Interval `json:"interval"`
	// Difference is that from the line that is compared with, paired by image; nil for that line itself, and where it has no value or is
	// of other data.
	Difference *rs.Difference `json:"difference,omitempty"`

	rows rs.Rows
}

// Selected is what a group reaches at a radius among models of comparable accuracy (certified-calibration tables 2 and 6 to 10).
type Selected struct {
	Radius float64  `json:"radius"`
	Best   float64  `json:"best_accuracy"` // of all
	Group  string   `json:"group"`
	Models int      `json:"models"` // of comparable accuracy
	CCE    *float64 `json:"cce"`    // the smallest of each
	ACCE   *float64 `json:"acce"`
	CBS    *float64 `json:"cbs"`
}

// Fill reads what a folder holds of a table, by its name; of the only one for an empty name.
//
// Errors: no such table, results that cannot be read.
func Fill(folder, name string, o rs.Bootstrap) (*Filled, error) {
	m, err := ReadManifest(folder)
	if err != nil {
		return nil, err
	}
	t, err := m.Made(name)
	if err != nil {
		return nil, err
	}
	f := &filler{folder: folder, manifest: m, table: t, bootstrap: o, origins: map[string]Origin{}}
	return f.fill()
}

type filler struct {
	folder    string
	manifest  *Manifest
	table     *Made
	bootstrap rs.Bootstrap
	origins   map[string]Origin // by model
}

func (f *filler) fill() (*Filled, error) {
	t := f.table
	out := &Filled{Name: t.Name, Title: t.Title, Source: t.Source, Tier: f.manifest.Tier.Name, Compare: t.Compare}
	cells, err := f.manifest.Tier.Cells(t.Measure)
	if err != nil {
		return nil, err
	}
	out.Metrics = metrics(t.Measure, cells)
	if out.Compare == "" && len(t.Lines) > 0 {
		out.Compare = t.Lines[0].Title
	}
	for _, l := range t.Lines {
		line, err := f.line(l, out.Metrics)
		if err != nil {
			return nil, err
		}
		out.Lines = append(out.Lines, line)
	}
	if err := f.differences(out); err != nil {
		return nil, err
	}
	if c := t.Measure.Calibration; c != nil && c.Within > 0 {
		if out.Selected, err = selected(out.Lines, c); err != nil {
			return nil, err
		}
	}
	out.Notes = f.notes(out)
	return out, nil
}

// metrics are the columns of a measure: clean, every corruption where it asks for detail, the mean of each sweep and its groups.
func metrics(m Measure, cells []sweep.Cell) (list []Metric) {
	named := func(has func(sweep.Cell) bool) (names []string) {
		for _, c := range cells {
			if c.Corruption != "" && has(c) {
				names = append(names, c.String())
			}
		}
		return names
	}
	if len(cells) > 0 {
		list = append(list, Metric{"clean", true, []string{sweep.Cell{}.String()}})
	}
	for _, word := range m.Sweeps {
		names, err := corrupt.Names([]string{word})
		family := err == nil
		if !family {
			names = []string{word}
		}
		of := func(c sweep.Cell) bool { return slices.Contains(names, c.Setting.Name) }
		if m.Detail || !family {
			var seen []string
			for _, c := range cells {
				if of(c) && c.Corruption != "" && !slices.Contains(seen, c.Corruption) {
					seen = append(seen, c.Corruption)
					list = append(list, Metric{c.Corruption, !family, named(func(o sweep.Cell) bool { return o.Corruption == c.Corruption })})
				}
			}
		}
		if !family {
			continue
		}
		list = append(list, Metric{"mACR " + word, true, named(of)})
		for _, g := range rs.Groups[:3] { // by frequency
			if !slices.ContainsFunc(g.Corruptions, func(name string) bool { return !slices.Contains(names, name) }) {
				list = append(list, Metric{word + " " + strings.ToUpper(g.Name[:1]) + g.Name[1:], false, named(func(c sweep.Cell) bool { return slices.Contains(g.Corruptions, c.Corruption) })})
			}
		}
	}
	return list
}

func (f *filler) line(l Line, list []Metric) (FilledLine, error) {
	line := FilledLine{Title: l.Title, Group: l.Group, Models: l.Models, Values: make([]*Value, len(list))}
	var radii []*Radii
	var calibrations []*CalibrationResult
	var attacks []*ACEResult
	for _, name := range l.Models {
		m := f.manifest.model(name)
		line.Data = m.Data
		r, o, _, err := radiiOf(f.folder, m)
		if err != nil {
			return line, err
		}
		radii = append(radii, r)
		f.origins[name] = o
		c, a := &CalibrationResult{}, &ACEResult{}
		if ok, err := readJSON(resultPath(f.folder, m, ".calibration.json"), c); err != nil {
			return line, err
		} else if ok {
			calibrations = append(calibrations, c)
		}
		if ok, err := readJSON(resultPath(f.folder, m, ".attacks.json"), a); err != nil {
			return line, err
		} else if ok {
			attacks = append(attacks, a)
		}
	}
	for k, metric := range list {
		var err error
		if line.Values[k], err = f.value(radii, metric); err != nil {
			return line, fmt.Errorf("experiment: %s: %s: %w", l.Title, metric.Name, err)
		}
	}
	if c := f.table.Measure.Calibration; c != nil {
		for _, r := range c.Radii {
			line.Calibration = append(line.Calibration, meanCalibration(calibrations, r))
		}
	}
	if f.table.Measure.ACE != nil {
		line.ACE = meanACE(attacks)
	}
	return line, nil
}

// value is the mean over the seeds that have all cells; nil where none has.
func (f *filler) value(radii []*Radii, m Metric) (*Value, error) {
	var of []float64
	sums := map[int]*rs.Row{}
	counts := map[int]int{}
	for _, r := range radii {
		if slices.ContainsFunc(m.Cells, func(c string) bool { return r.Rows(c) == nil }) || len(m.Cells) == 0 {
			continue
		}
		total := 0.0
		for _, c := range m.Cells {
			rows := r.Rows(c)
			total += rows.ACR().Value / float64(len(m.Cells))
			for _, row := range rows {
				if sums[row.Image] == nil {
					sums[row.Image] = &rs.Row{Image: row.Image, Label: row.Label, Class: row.Label}
				}
				counts[row.Image]++
				if row.Correct() {
					sums[row.Image].Radius += row.Radius
				}
			}
		}
		of = append(of, total)
	}
	if len(of) == 0 {
		return nil, nil
	}
	v := &Value{MeanOver: meanOver(of), Images: len(sums)}
	for image, row := range sums {
		if counts[image] != len(of)*len(m.Cells) {
			return nil, fmt.Errorf("image %d is in some of its cells and seeds only: the ledgers are of different images", image)
		}
		row.Radius /= float64(counts[image])
		v.rows = append(v.rows, *row)
	}
	slices.SortFunc(v.rows, func(a, b rs.Row) int { return cmp.Compare(a.Image, b.Image) })
	var err error
	v.Interval, err = v.rows.ACRInterval(f.bootstrap)
	return v, err
}

func meanOver(of []float64) MeanOver {
	m := MeanOver{Low: of[0], High: of[0], Seeds: len(of)}
	for _, v := range of {
		m.Mean += v / float64(len(of))
		m.Low, m.High = min(m.Low, v), max(m.High, v)
	}
	return m
}

// differences compares the main metrics with the line that the table says, of the same data.
func (f *filler) differences(t *Filled) error {
	for k, metric := range t.Metrics {
		if !metric.Main {
			continue
		}
		for i := range t.Lines {
			l := &t.Lines[i]
			at := slices.IndexFunc(t.Lines, func(o FilledLine) bool { return o.Title == t.Compare && o.Data == l.Data })
			if at < 0 || at == i || l.Values[k] == nil || t.Lines[at].Values[k] == nil {
				continue
			}
			c, err := rs.Compare(t.Lines[at].Values[k].rows, l.Values[k].rows, nil, f.bootstrap)
			if err != nil {
				return err
			}
			l.Values[k].Difference = &c.ACR
		}
	}
	return nil
}

func meanCalibration(of []*CalibrationResult, radius float64) *CalibrationAt {
	mean := &CalibrationAt{Radius: radius}
	n := 0.0
	for _, c := range of {
		if c.at(radius) != nil {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	var cce, acce, cbs float64
	some := true
	for _, c := range of {
		at := c.at(radius)
		if at == nil {
			continue
		}
		mean.Accuracy += at.Accuracy / n
		mean.Certified += at.Certified
		if at.CCE == nil {
			some = false
			continue
		}
		cce, acce, cbs = cce+*at.CCE/n, acce+*at.ACCE/n, cbs+*at.CBS/n
	}
	if some {
		mean.CCE, mean.ACCE, mean.CBS = &cce, &acce, &cbs
	}
	return mean
}

func meanACE(of []*ACEResult) map[string]*MeanOver {
	values := map[string][]float64{}
	for _, a := range of {
		values["accuracy"] = append(values["accuracy"], a.Accuracy)
		values["clean"] = append(values["clean"], a.AdaECE)
		for _, o := range a.Attacks {
			values[o.Attack] = append(values[o.Attack], o.AdaECE)
		}
	}
	out := map[string]*MeanOver{}
	for name, v := range values {
		m := meanOver(v)
		out[name] = &m
	}
	return out
}

// selected applies the rule of Emde et al. 2025 at every radius.
func selected(lines []FilledLine, m *CalibrationMeasure) ([]Selected, error) {
	var out []Selected
	for k, radius := range m.Radii {
		var exact, approximate []calib.Candidate
		best := 0.0
		for _, l := range lines {
			at := l.Calibration[k]
			if at == nil || at.CCE == nil {
				continue
			}
			best = max(best, at.Accuracy)
			exact = append(exact, calib.Candidate{Method: l.Group, Accuracy: at.Accuracy, CCE: *at.CCE, CBS: *at.CBS})
			approximate = append(approximate, calib.Candidate{Method: l.Group, Accuracy: at.Accuracy, CCE: *at.ACCE, CBS: *at.CBS})
		}
		if len(exact) == 0 {
			continue
		}
		of, err := calib.SelectByAccuracy(exact, m.Within)
		if err != nil {
			return nil, err
		}
		searched, err := calib.SelectByAccuracy(approximate, m.Within)
		if err != nil {
			return nil, err
		}
		for i, s := range of {
			one := Selected{Radius: radius, Best: best, Group: s.Method, Models: s.Models}
			if s.Models > 0 {
				one.CCE, one.ACCE, one.CBS = &of[i].CCE, &searched[i].CCE, &of[i].CBS
			}
			out = append(out, one)
		}
	}
	return out, nil
}
