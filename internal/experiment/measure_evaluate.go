package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/internal/evaluate"
	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/sweep"
)

// shifts name corruptions and severities of a measure.
type shifts struct {
	// names, families or groups, as fog or C
	Corrupt    []string `yaml:"corrupt,omitempty" json:"corrupt,omitempty"`
	Severities []int    `yaml:"severities,omitempty" json:"severities,omitempty"` // default those of the tier
}

func (s shifts) cells(t Tier) ([]sweep.Cell, error) {
	var names []string
	for _, word := range s.Corrupt {
		if _, err := corrupt.Find(word); err == nil {
			names = append(names, word)
			continue
		}
		of, err := corrupt.Names([]string{word})
		if err != nil {
			return nil, fmt.Errorf("experiment: %w", err)
		}
		names = append(names, of...)
	}
	severities := s.Severities
	if severities == nil {
		severities = t.Corrupted.Severities
	}
	if len(names) == 0 {
		severities = nil
	}
	cells, err := sweep.Cells(names, corrupt.Setting{}, severities)
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	return append([]sweep.Cell{{}}, cells...), nil
}

// evaluateMeasure is the plain accuracy of a model, without noise, on clean images and under
// corruptions, in results/MODEL.evaluate.json, with the predictions in
// predictions/CORRUPTION/SEVERITY/MODEL.npy.
type evaluateMeasure struct {
	shifts `yaml:",inline"`
}

const evaluateFile = ".evaluate.json"

// evaluated is a set with its right answers.
type evaluated struct {
	Set    string `json:"set"` // clean, or a corruption with its severities together
	Right  int    `json:"right"`
	Images int    `json:"images"`
}

func (e evaluated) share() float64 { return float64(e.Right) / float64(e.Images) }

func (evaluationJobs) Jobs(_ *Place, m *Model) ([]Job, error) {
	if m.Results != "" {
		return nil, nil
	}
	return []Job{{Kind: "evaluate", Model: m}}, nil
}

func (evaluationJobs) Done(p *Place, j Job) (bool, error) {
	var found []evaluated
	return readJSON(p.Result(j.Model, evaluateFile), &found)
}

func (e evaluationRunner) Do(ctx context.Context, r *Runner, j Job) error {
	cells, err := e.cells(r.Manifest.Tier)
	if err != nil {
		return err
	}
	model, err := r.Open(ctx, j.Model)
	if err != nil {
		return err
	}
	data, err := r.set(r.Images(j.Model, "evaluate"))
	if err != nil {
		return err
	}
	done, err := evaluate.Run(ctx, model, data, evaluate.Options{Cells: cells, Name: j.Model.Slug(),
		Folder: filepath.Join(r.Folder, "predictions"), Progress: r.Progress})
	if err != nil {
		return err
	}
	var found []evaluated
	for _, c := range done {
		name := c.Cell.Corruption
		if name == "" {
			name = c.Cell.String()
		}
		k := slices.IndexFunc(found, func(o evaluated) bool { return o.Set == name })
		if k < 0 {
			k = len(found)
			found = append(found, evaluated{Set: name})
		}
		found[k].Right, found[k].Images = found[k].Right+c.Right, found[k].Images+c.Images
	}
	text, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		return err
	}
	return r.Keep(j.Model, evaluateFile, append(text, '\n'))
}

func (e evaluationJobs) Cost(c *Costs, j Job) error {
	cells, err := e.cells(c.Manifest.Tier)
	if err != nil {
		return err
	}
	n, err := c.Size(c.Images(j.Model, "evaluate"))
	if err != nil {
		return err
	}
	return c.Samples(j.Model, n*float64(len(cells)), n*float64(len(cells)))
}

// accuracies are the sets of a line with their mean accuracy over its models.
type accuracies struct {
	Sets   []string          `json:"sets"`
	Shares []float64         `json:"shares"`
	Clean  resample.Interval `json:"clean_interval"` // exact, of one model; of several starts, over these, too
	Models int               `json:"models"`
}

func (evaluationReader) Fill(f *TableBuilder, out *Filled) (notes []string, _ error) {
	for i := range out.Lines {
		l := &out.Lines[i]
		sum, clean := &accuracies{}, []float64{}
		for _, name := range l.Models {
			var found []evaluated
			if ok, err := readJSON(f.Result(f.Manifest.Model(name), evaluateFile), &found); err != nil {
				return nil, err
			} else if !ok || len(found) == 0 {
				continue
			}
			sum.Models++
			exact, err := rs.ExactInterval(found[0].Right, found[0].Images, resample.DefaultConfidence)
			if err != nil {
				return nil, err
			}
			clean = append(clean, found[0].share())
			sum.Clean.Low, sum.Clean.High = sum.Clean.Low+exact.Low, sum.Clean.High+exact.High
			for k, one := range found {
				if k == len(sum.Sets) {
					sum.Sets, sum.Shares = append(sum.Sets, one.Set), append(sum.Shares, 0)
				}
				sum.Shares[k] += one.share()
			}
		}
		if sum.Models == 0 {
			continue
		}
		for k := range sum.Shares {
			sum.Shares[k] /= float64(sum.Models)
		}
		n := float64(sum.Models) // the same images for all: their errors do not average out
		sum.Clean = resample.Members(resample.Interval{Low: sum.Clean.Low / n, High: sum.Clean.High / n},
			sum.Shares[0], resample.DefaultConfidence, clean)
		sum.Clean = resample.Interval{Low: max(0, sum.Clean.Low), High: min(1, sum.Clean.High)}
		l.Found["evaluate"] = sum
		if len(notes) == 0 && slices.Contains(sum.Sets, "frost") {
			notes = []string{corrupt.DrawnFrost}
		}
	}
	return notes, nil
}

func (evaluationReader) Tables(f *Filled, columns []string, head func(FilledLine) []any, add func(*table.Table,
	string)) {
	var t *table.Table
	for _, l := range f.Lines {
		a, ok := l.Found["evaluate"].(*accuracies)
		if !ok {
			continue
		}
		if t == nil {
			t = &table.Table{Columns: append(append(slices.Clone(columns), "models"), a.Sets...)}
			t.Columns = slices.Insert(t.Columns, len(columns)+2, "low", "high")
		}
		row := append(head(l), a.Models)
		for k, v := range a.Shares {
			row = append(row, rounded(v, 4))
			if k == 0 {
				row = append(row, rounded(a.Clean.Low, 4), rounded(a.Clean.High, 4))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	if t != nil {
		add(t, "accuracy without noise, mean over severities")
	}
}
