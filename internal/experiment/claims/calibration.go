package claims

import (
	"context"
	"fmt"
	"strings"

	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/study"
)

// calibration are certified calibration errors of the best model of a group, among those of comparable accuracy, and
// calibration errors under attacks on confidences.
type calibration struct {
	rows
	filled map[float64]*results.Filled // by confidence
}

func openCalibration(folder, name string) (study.Results, error) {
	r, err := openRows(folder, name)
	return calibration{r, map[float64]*results.Filled{}}, err
}

func (c calibration) at(ctx context.Context, o resample.Options) (*results.Filled, error) {
	if f := c.filled[o.Confidence]; f != nil {
		return f, nil
	}
	f, err := results.Fill(ctx, c.folder, c.table.Name, o)
	if err == nil {
		c.filled[o.Confidence] = f
	}
	return f, err
}

// Compare takes errors from the row that the table compares with. All are of one start.
func (c calibration) Compare(ctx context.Context, a study.Cell, b *study.Cell, by float64, o resample.Options) (
	*study.Comparison, error) {
	if b == nil || by != 0 {
		return nil, fmt.Errorf("claims: %s of %s is compared with another row alone", a.What, a.Row)
	}
	f, err := c.at(ctx, o)
	if err != nil {
		return nil, err
	}
	word, argument, _ := strings.Cut(a.What, " ")
	for _, l := range f.Lines {
		if d := l.Raised[argument]; word == "ace" && l.Title == a.Row && d != nil {
			return &study.Comparison{A: d.B, B: d.A, Of: d.Starts, Orders: 1,
				Networks: &study.Estimate{Interval: d.Interval, P: d.P}}, nil
		}
	}
	for _, s := range f.Selected {
		if s.Group != a.Row || fmt.Sprint(s.Radius) != argument || b.Row != f.Reference() {
			continue
		}
		spread := map[string]*results.ErrorSpread{"cce": s.CCESpread, "cbs": s.CBSSpread}[word]
		if spread != nil && spread.Difference != nil {
			d := spread.Difference
			return &study.Comparison{A: d.B, B: d.A, Of: d.Starts, Orders: 1,
				Networks: &study.Estimate{Interval: d.Interval, P: d.P}}, nil
		}
	}
	return nil, nil
}

func (c calibration) Mean(study.Cell) (float64, bool, error) { return 0, false, nil }

func (c calibration) Context(cell study.Cell) study.Context {
	x := study.Context{What: cell.What, Unit: study.UnitOf(cell.What), Set: cell.Set, Sets: []string{cell.Set}}
	for _, l := range c.table.Lines {
		if l.Group == cell.Row || l.Title == cell.Row {
			m := c.manifest.Model(l.Models[0])
			x.Data, x.Network = m.Data, m.Network
			break
		}
	}
	for _, f := range c.filled {
		for _, l := range f.Lines {
			if l.Group == cell.Row && len(l.Values) > 0 && l.Values[0] != nil {
				x.Images = l.Values[0].Images
			}
		}
	}
	return x
}
