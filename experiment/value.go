package experiment

import (
	"fmt"
	"maps"
	"slices"

	"github.com/certspec/certspec/rs"
)

func (f *filler) line(l Line, list []Metric) (FilledLine, error) {
	line := FilledLine{Title: l.Title, Group: l.Group, Models: l.Models, Values: make([]*Value, len(list))}
	radii := map[uint64]*Radii{} // by seed
	var calibrations []*CalibrationResult
	var attacks []*ACEResult
	for _, name := range l.Models {
		m := f.manifest.model(name)
		line.Data = m.Data
		r, o, _, err := radiiOf(f.folder, m)
		if err != nil {
			return line, err
		}
		radii[m.Seed] = r
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
func (f *filler) value(radii map[uint64]*Radii, m Metric) (*Value, error) {
	v := &Value{seeds: map[uint64]rs.Rows{}}
	var of []float64
	for _, seed := range slices.Sorted(maps.Keys(radii)) {
		rows, err := meanRadii(radii[seed], m.Cells)
		if err != nil {
			return nil, err
		}
		if rows != nil {
			v.seeds[seed] = rows
			of = append(of, rows.ACR().Value)
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	rows, err := meanRows(bySeed(v.seeds))
	if err != nil {
		return nil, err
	}
	v.MeanOver, v.Images = meanOver(of), len(rows)
	v.Interval, err = rows.ACRInterval(f.bootstrap)
	return v, err
}

// meanRadii are the radii of a model, image by image, in the mean over cells; nil where one is not there. What is not certified, or wrong,
// counts as 0.
func meanRadii(r *Radii, cells []string) (rs.Rows, error) {
	var all []rs.Rows
	for _, c := range cells {
		rows := slices.Clone(r.Rows(c))
		if rows == nil {
			return nil, nil
		}
		for i := range rows {
			if !rows[i].Correct() {
				rows[i].Class, rows[i].Radius = rows[i].Label, 0
			}
		}
		all = append(all, rows)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return meanRows(all)
}

// bySeed lists them in the order of the seeds, so that sums come out the same again.
func bySeed(seeds map[uint64]rs.Rows) (all []rs.Rows) {
	for _, seed := range slices.Sorted(maps.Keys(seeds)) {
		all = append(all, seeds[seed])
	}
	return all
}

// meanRows is the mean of radii of the same images.
func meanRows(all []rs.Rows) (rs.Rows, error) {
	mean := slices.Clone(all[0])
	for i := range mean {
		mean[i].Radius = 0
		for _, rows := range all {
			if len(rows) != len(mean) || rows[i].Image != mean[i].Image {
				return nil, fmt.Errorf("image %d is in some of its cells and seeds only: the ledgers are of different images", mean[i].Image)
			}
			mean[i].Radius += rows[i].Radius / float64(len(all))
		}
	}
	return mean, nil
}

// Minus is v − other, paired by image: of two models, or of one under two corruptions. It is that of the seeds that both have; of all
// where they have none in common.
//
// Errors: no image in common; options out of range.
func (v *Value) Minus(other *Value, b rs.Bootstrap) (*rs.Difference, error) {
	var of, from []rs.Rows
	for _, seed := range slices.Sorted(maps.Keys(v.seeds)) {
		if there := other.seeds[seed]; there != nil {
			of, from = append(of, v.seeds[seed]), append(from, there)
		}
	}
	if len(of) == 0 {
		of, from = bySeed(v.seeds), bySeed(other.seeds)
	}
	minuend, err := meanRows(of)
	if err != nil {
		return nil, err
	}
	subtrahend, err := meanRows(from)
	if err != nil {
		return nil, err
	}
	c, err := rs.Compare(subtrahend, minuend, nil, b)
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
