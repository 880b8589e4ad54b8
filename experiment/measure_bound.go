package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/ood/record"
)

// boundMeasure is how well a network's confidence tells foreign images from its own, by the images themselves and by bounds that hold in
// balls around them: files in ood/MODEL, as "certspec ood bound" writes them.
type boundMeasure struct {
	Sets   foreignData        `yaml:"sets" json:"sets"`
	Method feedforward.Method `yaml:"method,omitempty" json:"method,omitempty"` // default ibp, as in the paper
}

func (b *boundMeasure) at(s *Setup) (Measure, error) {
	sets, err := b.Sets.at(s)
	return &boundMeasure{sets, b.method()}, err
}

func (b *boundMeasure) method() feedforward.Method {
	if b.Method == "" {
		return feedforward.IBP
	}
	return b.Method
}

// Jobs implements Measure.
func (b *boundMeasure) Jobs(_ *Place, m *Model) ([]Job, error) { return b.Sets.jobs("bound", m), nil }

// Done implements Measure.
func (b *boundMeasure) Done(p *Place, j Job) (bool, error) {
	f, _ := b.Sets.of(j)
	open, err := unfinished(ownPath(p.Folder, j.Model), f.file(p.Folder, j.Model, j.Part, boundEnds))
	return !open, err
}

// Do implements Measure.
func (b *boundMeasure) Do(ctx context.Context, r *Runner, j Job) error {
	f, at := b.Sets.of(j)
	n, run, err := r.network(ctx, j.Model)
	if err != nil {
		return err
	}
	for _, what := range []struct {
		file, data string
		options    ood.Options
	}{
		{ownPath(r.Folder, j.Model), ownImages(j.Model), ood.Options{}},
		{f.file(r.Folder, j.Model, j.Part, boundEnds), f.Images[at], ood.Options{Epsilon: f.Epsilon, Method: b.method()}},
	} {
		data, err := r.set(what.data)
		if err != nil {
			return err
		}
		what.options.Run, what.options.File = run, what.file
		m, err := ood.Measure(ctx, n, data, what.options)
		if err != nil {
			return err
		}
		if nan := m.Claims.NaN; nan > 0 {
			return fmt.Errorf("experiment: %s: %d of %d confidences on %s are not numbers", j.Model.Name, nan, len(m.Lines), what.data)
		}
	}
	return nil
}

// network opens a model as layers.
func (r *Runner) network(ctx context.Context, m *Model) (*feedforward.Network, ood.Run, error) {
	model, err := r.Open(ctx, m)
	if err != nil {
		return nil, ood.Run{}, err
	}
	n, err := model.FeedForward()
	return n, ood.Run{Name: m.Name, Trained: model.Trained(), Program: r.options.Program, Progress: r.progress}, err
}

// Cost implements Measure.
func (b *boundMeasure) Cost(c *Costs, j Job) error {
	f, at := b.Sets.of(j)
	n, err := c.Size(f.Images[at])
	if err != nil {
		return err
	}
	passes := 6. // gradients, of many points side by side, in the time of intervals; CROWN has a walk for each pair of classes
	if b.method() != feedforward.IBP {
		passes = 150
	}
	return c.Layers(j.Model, n*passes)
}

// told is how well foreign images of a set are told from a network's own, means over the seeds.
type told struct {
	Set    string `json:"set"`
	Models int    `json:"models"`
	Images int    `json:"images"`

	Accuracy   float64 `json:"accuracy"`        // on its own images
	Own        float64 `json:"mean_own"`        // confidence
	Confidence float64 `json:"mean_confidence"` // of foreign images
	Worst      float64 `json:"mean_worst"`      // of their bounds, or under attack

	AUC      area  `json:"auc"`
	WorstAUC area  `json:"worst_auc"`           // GAUC, or AAUC
	BoundAUC *area `json:"bound_auc,omitempty"` // of attacked images, GAUC on them alone
}

// area is an AUC, in its conservative form, with ties as one half, and with the ends of an interval of 95 %, all of them means over the seeds.
type area struct {
	Conservative float64 `json:"conservative"`
	Value        float64 `json:"value"`
	Low          float64 `json:"low"`
	High         float64 `json:"high"`
}

// add adds one network's.
func (a *area) add(own, foreign []float64) error {
	v, err := ood.Area(own, foreign)
	if err != nil {
		return err
	}
	_, deviation, err := ood.DeLong(own, foreign)
	if err != nil {
		return err
	}
	const z = 1.959963984540054
	a.Conservative, a.Value = a.Conservative+v.Conservative, a.Value+v.Value
	a.Low, a.High = a.Low+max(v.Value-z*deviation, 0), a.High+min(v.Value+z*deviation, 1)
	return nil
}

func (a *area) over(n int) {
	for _, v := range []*float64{&a.Conservative, &a.Value, &a.Low, &a.High} {
		*v /= float64(n)
	}
}

func (a *area) cells() []any {
	return []any{percent(a.Conservative), percent(a.Value), percent(a.Low), percent(a.High)}
}

func percent(v float64) table.Rounded { return rounded(100*v, 1) }

// tell collects the networks of a line that are measured on a set.
func (f *Filler) tell(l FilledLine, part string, files func(*Model) (foreign, bound *record.File, err error), worst func(record.Line) float64) (*told, error) {
	t := &told{Set: part}
	for _, name := range l.Models {
		m := f.Manifest.Model(name)
		in, err := closed(ownPath(f.Folder, m))
		if err != nil {
			return nil, err
		}
		foreign, bound, err := files(m)
		if err != nil {
			return nil, err
		}
		if in == nil || foreign == nil {
			continue
		}
		t.Models, t.Images = t.Models+1, len(foreign.Lines)
		clean := func(r record.Line) float64 { return r.Log }
		mine, theirs, under := scores(in.Lines, clean), scores(foreign.Lines, clean), scores(foreign.Lines, worst)
		t.Own, t.Confidence, t.Worst = t.Own+meanExp(mine), t.Confidence+meanExp(theirs), t.Worst+meanExp(under)
		if c := in.Claims; c.Labels > 0 {
			t.Accuracy += float64(c.Correct) / float64(c.Labels)
		}
		if err := t.AUC.add(mine, theirs); err != nil {
			return nil, err
		}
		if err := t.WorstAUC.add(mine, under); err != nil {
			return nil, err
		}
		if bound != nil {
			if t.BoundAUC == nil {
				t.BoundAUC = new(area)
			}
			if err := t.BoundAUC.add(mine, scores(sameImages(bound.Lines, foreign.Lines), upper)); err != nil {
				return nil, err
			}
		}
	}
	if t.Models == 0 {
		return nil, nil
	}
	for _, v := range []*float64{&t.Own, &t.Confidence, &t.Worst, &t.Accuracy} {
		*v /= float64(t.Models)
	}
	t.AUC.over(t.Models)
	t.WorstAUC.over(t.Models)
	if t.BoundAUC != nil {
		t.BoundAUC.over(t.Models)
	}
	return t, nil
}

// sameImages are the lines of the images of others.
func sameImages(of, others []record.Line) (out []record.Line) {
	wanted := map[int]bool{}
	for _, l := range others {
		wanted[l.Image] = true
	}
	for _, l := range of {
		if wanted[l.Image] {
			out = append(out, l)
		}
	}
	return out
}

// upper is a line's bound, unless its own confidence is not a number.
func upper(l record.Line) float64 {
	if math.IsNaN(l.Log) {
		return l.Log
	}
	return l.Upper
}

func scores(lines []record.Line, of func(record.Line) float64) []float64 {
	out := make([]float64, len(lines))
	for i, l := range lines {
		out[i] = of(l)
	}
	return out
}

func meanExp(logs []float64) float64 {
	sum := 0.
	for _, v := range logs {
		sum += math.Exp(v)
	}
	return sum / float64(len(logs))
}

// Fill implements Measure.
func (b *boundMeasure) Fill(f *Filler, out *Filled) ([]string, error) {
	for i := range out.Lines {
		l := &out.Lines[i]
		of := b.Sets[l.Data]
		var all []*told
		for _, name := range of.Foreign {
			l.foreign = append(l.foreign, word(name))
			t, err := f.tell(*l, word(name), func(m *Model) (*record.File, *record.File, error) {
				file, err := closed(of.file(f.Folder, m, word(name), boundEnds))
				return file, nil, err
			}, upper)
			if err != nil {
				return nil, err
			}
			if t != nil {
				all = append(all, t)
			}
		}
		if all != nil {
			l.Found["bound"] = all
		}
	}
	return append(b.Sets.notes(f, out), fmt.Sprintf("Guaranteed: every confidence on a foreign image is replaced by a bound on it in the whole ball (%s, in exact arithmetic and in float32). AUC and GAUC count ties as lost; the column with ties as one half has the interval of 95 %% (DeLong), its ends averaged over the seeds.", b.method())), nil
}

// notes name the sets and balls of a table.
func (d foreignData) notes(f *Filler, out *Filled) (notes []string) {
	var kinds []string
	for _, l := range out.Lines {
		if of := d[l.Data]; len(of.Foreign) > 0 && !slices.Contains(kinds, l.Data) {
			kinds = append(kinds, l.Data)
			text := fmt.Sprintf("Foreign to %s, ε = %g:", l.Data, of.Epsilon)
			for i, name := range of.Foreign {
				text += fmt.Sprintf(" %s is %s;", word(name), of.Images[i])
			}
			notes = append(notes, text[:len(text)-1]+".")
		}
	}
	return notes
}

// Tables implements Measure.
func (b *boundMeasure) Tables(f *Filled, columns []string, head func(FilledLine) []any, add func(*table.Table, string)) {
	t := &table.Table{Columns: append(slices.Clone(columns), "foreign", "networks", "images", "accuracy, %", "AUC", "with ties", "low", "high", "GAUC", "with ties", "low", "high")}
	means := &table.Table{Columns: append(slices.Clone(columns), "foreign", "mean confidence, own, %", "foreign, %", "bound, %")}
	for _, l := range f.Lines {
		all, _ := l.Found["bound"].([]*told)
		for _, of := range all {
			row := append(head(l), of.Set, of.Models, of.Images, percent(of.Accuracy))
			t.Rows = append(t.Rows, append(append(row, of.AUC.cells()...), of.WorstAUC.cells()...))
			means.Rows = append(means.Rows, append(head(l), of.Set, percent(of.Own), percent(of.Confidence), percent(of.Worst)))
		}
	}
	if len(t.Rows) > 0 {
		add(t, "own images against foreign ones, in percent")
		add(means, "mean confidences and bounds")
	}
}
