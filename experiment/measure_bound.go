package experiment

import (
	"context"
	"fmt"
	"slices"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/ood"
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

func (b *boundMeasure) foreign() foreignData { return b.Sets }

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
	if !open || err != nil {
		return !open, err
	}
	kept, err := f.kept(p.Folder, j.Model.Data, j.Part)
	n := kept.of(j.Model.Name)
	return n != nil && n.Bound != nil, err
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

// told is how well foreign images of a set are told from a network's own, means over the seeds, those of the ends of intervals included.
type told struct {
	Set      string  `json:"set"`
	Models   int     `json:"models"`
	Accuracy float64 `json:"accuracy"` // on its own images
	Own      float64 `json:"mean_own"` // confidence
	separation
}

func percent(v float64) table.Rounded { return rounded(100*v, 1) }

// tell collects the networks of a line that are measured on a set: what its files say, or else what results keep of them.
func (f *Filler) tell(l FilledLine, s foreignSets, part string, of func(*networkAreas) *separation) (*told, error) {
	kept, err := s.kept(f.Folder, l.Data, part)
	if err != nil {
		return nil, err
	}
	t := &told{Set: part}
	for _, name := range l.Models {
		n := kept.of(name)
		files, err := s.score(f.Folder, f.Manifest.Model(name), part)
		if err != nil {
			return nil, err
		}
		if files != nil {
			n = &files.networkAreas
		}
		if n == nil || of(n) == nil {
			continue
		}
		t.Models, t.Own, t.Accuracy = t.Models+1, t.Own+n.Own, t.Accuracy+n.Accuracy
		t.add(of(n))
	}
	if t.Models == 0 {
		return nil, nil
	}
	t.Own, t.Accuracy = t.Own/float64(t.Models), t.Accuracy/float64(t.Models)
	t.over(t.Models)
	return t, nil
}

// tellAll does so for all sets of all lines, under a key.
func (d foreignData) tellAll(f *Filler, out *Filled, key string, of func(*networkAreas) *separation) error {
	for i := range out.Lines {
		l := &out.Lines[i]
		var all []*told
		for _, name := range d[l.Data].Foreign {
			t, err := f.tell(*l, d[l.Data], word(name), of)
			if err != nil {
				return err
			}
			if t != nil {
				all = append(all, t)
			}
		}
		if all != nil {
			l.Found[key] = all
		}
	}
	return nil
}

// Fill implements Measure.
func (b *boundMeasure) Fill(f *Filler, out *Filled) ([]string, error) {
	for i := range out.Lines {
		for _, name := range b.Sets[out.Lines[i].Data].Foreign {
			out.Lines[i].foreign = append(out.Lines[i].foreign, word(name))
		}
	}
	if err := b.Sets.tellAll(f, out, "bound", func(n *networkAreas) *separation { return n.Bound }); err != nil {
		return nil, err
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
