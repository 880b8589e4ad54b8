package experiment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/rs/ledger"
)

// boundMeasure is how well a network's confidence tells foreign images from its own, by the images
// themselves and by bounds that hold in balls around them: files in ood/MODEL, as "certspec ood
// bound" writes them. By another method than intervals, or in plain arithmetic, the bounds stand
// beside those by rigorous intervals, which are those of all tables of the folder.
type boundMeasure struct {
	Sets foreignData `yaml:"sets" json:"sets"`
	// default ibp, as in the paper
	Method     feedforward.Method     `yaml:"method,omitempty" json:"method,omitempty"`
	Arithmetic feedforward.Arithmetic `yaml:"arithmetic,omitempty" json:"arithmetic,omitempty"` // default rigorous
	// of each set, as in skip=4, where the bounds are other ones; default all
	Images string `yaml:"images,omitempty" json:"images,omitempty"`
}

func (b *boundMeasure) at(s *Setup) (Measure, error) {
	now := &boundMeasure{Method: b.method(), Images: b.Images}
	if b.Arithmetic != feedforward.Rigorous {
		now.Arithmetic = b.Arithmetic
	}
	methods, arithmetics := []feedforward.Method{feedforward.IBP, feedforward.CROWN, feedforward.FullCROWN},
		[]feedforward.Arithmetic{"", feedforward.Plain}
	switch {
	case !slices.Contains(methods, now.Method):
		return nil, fmt.Errorf("experiment: bounds by the method %q; expected one of %q", b.Method, methods)
	case !slices.Contains(arithmetics, now.Arithmetic):
		return nil, fmt.Errorf("experiment: bounds in the arithmetic %q; expected %q or %q", b.Arithmetic,
			feedforward.Rigorous, feedforward.Plain)
	case b.Images != "" && now.way() == "":
		return nil, fmt.Errorf("experiment: bounds of the images %q; those by %s in rigorous arithmetic are of all",
			b.Images, feedforward.IBP)
	}
	var err error
	now.Sets, err = b.Sets.at(s)
	return now, err
}

// way names bounds that are not those by rigorous intervals, as in crown-plain; else it is empty.
func (b *boundMeasure) way() string {
	var words []string
	if b.method() != feedforward.IBP {
		words = append(words, string(b.method()))
	}
	if b.Arithmetic != "" {
		words = append(words, string(b.Arithmetic))
	}
	return strings.Join(words, "-")
}

func (b *boundMeasure) foreign() foreignData { return b.Sets.with(b.way(), "") }

func (b *boundMeasure) method() feedforward.Method {
	if b.Method == "" {
		return feedforward.IBP
	}
	return b.Method
}

func (b boundJobs) Jobs(_ *Place, m *Model) ([]Job, error) {
	kind := "bound"
	if way := b.way(); way != "" {
		kind += "-" + way
	}
	return foreignJobs(b.Sets, kind, m), nil
}

func (b boundJobs) Done(p *Place, j Job) (bool, error) {
	f, _ := b.foreign().of(j.Model.Data, j.Part)
	open, err := unfinished(ownPath(p.Folder, j.Model), foreignFile(f, p.Folder, j.Model, j.Part, boundEnds),
		foreignFile(f, p.Folder, j.Model, j.Part, f.boundEnding()))
	if !open || err != nil {
		return !open, err
	}
	kept, err := areasOf(f, p.Folder, j.Model.Data, j.Part)
	n := kept.of(j.Model.Name)
	return n != nil && n.Bound != nil, err
}

func (b boundRunner) Do(ctx context.Context, r *Runner, j Job) error {
	f, at := b.foreign().of(j.Model.Data, j.Part)
	n, run, err := r.network(ctx, j.Model)
	if err != nil {
		return err
	}
	type measured struct {
		file, data string
		options    ood.Options
	}
	all := []measured{
		{ownPath(r.Folder, j.Model), r.ownImages(j.Model), ood.Options{}},
		{foreignFile(f, r.Folder, j.Model, j.Part, boundEnds), f.Images[at], ood.Options{Epsilon: f.Epsilon,
			Method: feedforward.IBP}},
	}
	if f.bounds() != "" {
		all = append(all, measured{foreignFile(f, r.Folder, j.Model, j.Part, f.boundEnding()), with(f.Images[at], b.Images),
			ood.Options{Epsilon: f.Epsilon, Method: b.method(), Arithmetic: b.Arithmetic}})
	}
	for _, what := range all {
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
			return fmt.Errorf("experiment: %s: %d of %d confidences on %s are not numbers", j.Model.Name, nan,
				len(m.Lines), what.data)
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
	n, err := model.FeedForward(ctx)
	return n, ood.Run{Name: m.Name, Trained: model.Trained(), Program: r.options.Program, Progress: r.progress}, err
}

func (b boundJobs) Cost(c *Costs, j Job) error {
	f, at := b.Sets.of(j.Model.Data, j.Part)
	n, err := c.Size(f.Images[at])
	if err != nil {
		return err
	}
	const passes = 6. // gradients, of many points side by side, in the time of intervals
	if open, err := unfinished(foreignFile(f, c.Folder, j.Model, j.Part, boundEnds)); err != nil {
		return err
	} else if open {
		if err := c.Layers(j.Model, n*passes); err != nil {
			return err
		}
	}
	if b.way() == "" {
		return nil
	}
	if n, err = c.Size(with(f.Images[at], b.Images)); err != nil {
		return err
	}
	if b.method() != feedforward.IBP {
		n *= 25 // CROWN has a walk for each pair of classes
	}
	return c.Layers(j.Model, n*passes)
}

// told is how well foreign images of a set are told from a network's own, means over the seeds,
// those of the ends of intervals included.
type told struct {
	Set      string  `json:"set"`
	Models   int     `json:"models"`
	Accuracy float64 `json:"accuracy"` // on its own images
	Own      float64 `json:"mean_own"` // confidence
	separation
}

func percent(v float64) table.Rounded { return rounded(100*v, 1) }

// tell collects the networks of a line that are measured on a set: what its files say, or else what
// results keep of them.
func (f *TableBuilder) tell(l FilledLine, s foreignSets, part string, of func(*networkAreas) *separation) (*told,
	error) {
	kept, err := areasOf(s, f.Folder, l.Data, part)
	if err != nil {
		return nil, err
	}
	t := &told{Set: part}
	for _, name := range l.Models {
		n := kept.of(name)
		files, err := score(s, f.Folder, f.Manifest.Model(name), part)
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
func tellAll(d foreignData, f *TableBuilder, out *Filled, key string, of func(*networkAreas) *separation) error {
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

func (b boundReader) Fill(f *TableBuilder, out *Filled) ([]string, error) {
	for i := range out.Lines {
		for _, name := range b.Sets[out.Lines[i].Data].Foreign {
			out.Lines[i].foreign = append(out.Lines[i].foreign, word(name))
		}
	}
	if err := tellAll(b.foreign(), f, out, "bound", func(n *networkAreas) *separation { return n.Bound }); err != nil {
		return nil, err
	}
	holds := "in exact arithmetic and in float32"
	if b.Arithmetic != "" {
		holds = "without regard to rounding"
	}
	notes := append(foreignNotes(b.Sets, f, out),
		fmt.Sprintf("Guaranteed: every confidence on a foreign image is replaced by a bound on it in the whole ball "+
			"(%s, %s). AUC and GAUC count ties as lost; the column with ties as one half has the interval of 95 %% "+
			"(DeLong), its ends averaged over the seeds.", b.method(), holds))
	if b.way() != "" {
		notes = append(notes, fmt.Sprintf("Beside them, of the same images, the bounds by %s that hold in exact "+
			"arithmetic and in float32; most apart is the largest distance between the two bounds on an image's "+
			"confidence.", feedforward.IBP))
	}
	return notes, nil
}

// notes name the sets and balls of a table.
func foreignNotes(d foreignData, f *TableBuilder, out *Filled) (notes []string) {
	var kinds []string
	for _, l := range out.Lines {
		if of := d[l.Data]; len(of.Foreign) > 0 && !slices.Contains(kinds, l.Data) {
			kinds = append(kinds, l.Data)
			text := fmt.Sprintf("Foreign to %s, ε = %g:", l.Data, of.Epsilon)
			for i, name := range of.Foreign {
				text += fmt.Sprintf(" %s is %s%s;", word(name), of.Images[i], f.source(l.Data, of.Images[i]))
			}
			notes = append(notes, text[:len(text)-1]+".")
		}
	}
	return notes
}

// source says of foreign images that they are another part of a set that a network learned to be unsure about.
func (p *TableBuilder) source(data, images string) string {
	for _, m := range p.Manifest.Models {
		if m.Data != data {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(m.More)) {
			same, err := ood.Unseen(ledger.Data{Name: images}, []ledger.Data{{Name: m.More[name].Data}})
			if err == nil && same != "" {
				return fmt.Sprintf(", of the same source as the out-images of training, %s", same)
			}
		}
	}
	return ""
}

func (b boundReader) Tables(f *Filled, columns []string, head func(FilledLine) []any, add func(*table.Table,
	string)) {
	t := &table.Table{Columns: append(slices.Clone(columns), "foreign", "networks", "images", "accuracy, %", "AUC",
		"with ties", "low", "high", "GAUC", "with ties", "low", "high")}
	means := &table.Table{Columns: append(slices.Clone(columns), "foreign", "mean confidence, own, %", "foreign, %",
		"bound, %")}
	other := b.way() != ""
	if other {
		t.Columns = append(t.Columns, "GAUC by rigorous "+string(feedforward.IBP), "with ties", "low", "high")
		means.Columns = append(means.Columns, "bound by rigorous "+string(feedforward.IBP)+", %", "most apart, %")
	}
	for _, l := range f.Lines {
		all, _ := l.Found["bound"].([]*told)
		for _, of := range all {
			row := append(head(l), of.Set, of.Models, of.Images, percent(of.Accuracy))
			row = append(append(row, areaCells(&of.AUC)...), areaCells(&of.WorstAUC)...)
			mean := append(head(l), of.Set, percent(of.Own), percent(of.Confidence), percent(of.Worst))
			if other {
				row = append(row, areaCells(of.BoundAUC)...)
				mean = append(mean, percent(of.Intervals), rounded(100*of.Apart, 6))
			}
			t.Rows, means.Rows = append(t.Rows, row), append(means.Rows, mean)
		}
	}
	if len(t.Rows) > 0 {
		add(t, "own images against foreign ones, in percent")
		add(means, "mean confidences and bounds")
	}
}
