package experiment

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/certspec/certspec/rs"
)

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
		if err := f.spreadAttacks(&line); err != nil {
			return line, err
		}
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

// Minus is v − other, paired by image: of two models, or of one under two corruptions.
//
// Errors: no image in common; options out of range.
func (v *Value) Minus(other *Value, b rs.Bootstrap) (*rs.Difference, error) {
	c, err := rs.Compare(other.rows, v.rows, nil, b)
	if err != nil {
		return nil, err
	}
	return &c.ACR, nil
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
			d, err := l.Values[k].Minus(t.Lines[at].Values[k], f.bootstrap)
			if err != nil {
				return err
			}
			l.Values[k].Difference = d
		}
	}
	return nil
}
