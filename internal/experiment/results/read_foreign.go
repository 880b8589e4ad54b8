package results

import (
	"fmt"
	"maps"
	"slices"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/table"
)

// ForeignFigures is how well foreign images of a set are told from a network's own, means over the seeds,
// those of the ends of intervals included.
type ForeignFigures struct {
	Set      string  `json:"set"`
	Models   int     `json:"models"`
	Accuracy float64 `json:"accuracy"` // on its own images
	Own      float64 `json:"mean_own"` // confidence
	measure.Separation
}

func percent(v float64) table.Rounded { return Rounded(100*v, 1) }

// tell collects the networks of a line that are measured on a set: what its files say, or else what
// results keep of them.
func (f *TableBuilder) tell(l FilledLine, s measure.ForeignSets, part string,
	of func(*measure.NetworkAreas) *measure.Separation) (*ForeignFigures,
	error) {
	kept, err := measure.ReadSetAreas(s, f.Folder, l.Data, part)
	if err != nil {
		return nil, err
	}
	t := &ForeignFigures{Set: part}
	for _, name := range l.Models {
		n := kept.Network(name)
		files, err := score(s, f.Folder, f.Manifest.Model(name), part)
		if err != nil {
			return nil, err
		}
		if files != nil {
			n = &files.NetworkAreas
		}
		if n == nil || of(n) == nil {
			continue
		}
		t.Models, t.Own, t.Accuracy = t.Models+1, t.Own+n.Own, t.Accuracy+n.Accuracy
		t.Add(of(n))
	}
	if t.Models == 0 {
		return nil, nil
	}
	t.Own, t.Accuracy = t.Own/float64(t.Models), t.Accuracy/float64(t.Models)
	t.Over(t.Models)
	return t, nil
}

// tellAll does so for all sets of all lines, under a key.
func tellAll(d measure.ForeignData, f *TableBuilder, out *Filled, key string,
	of func(*measure.NetworkAreas) *measure.Separation) error {
	for i := range out.Lines {
		l := &out.Lines[i]
		var all []*ForeignFigures
		for _, name := range d[l.Data].Foreign {
			t, err := f.tell(*l, d[l.Data], measure.SetName(name), of)
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

func (b boundReader) fill(f *TableBuilder, out *Filled) ([]string, error) {
	for i := range out.Lines {
		for _, name := range b.Sets[out.Lines[i].Data].Foreign {
			out.Lines[i].foreign = append(out.Lines[i].foreign, measure.SetName(name))
		}
	}
	if err := tellAll(b.Foreign(), f, out, "bound",
		func(n *measure.NetworkAreas) *measure.Separation { return n.Bound }); err != nil {
		return nil, err
	}
	holds := "in exact arithmetic and in float32"
	if b.Arithmetic != "" {
		holds = "without regard to rounding"
	}
	notes := append(foreignNotes(b.Sets, f, out),
		fmt.Sprintf("Guaranteed: every confidence on a foreign image is replaced by a bound on it in the whole ball "+
			"(%s, %s). AUC and GAUC count ties as lost; the column with ties as one half has the interval of 95 %% "+
			"(DeLong), its ends averaged over the seeds.", b.BoundMethod(), holds))
	if b.Way() != "" {
		notes = append(notes, fmt.Sprintf("Beside them, of the same images, the bounds by %s that hold in exact "+
			"arithmetic and in float32; most apart is the largest distance between the two bounds on an image's "+
			"confidence.", feedforward.IBP))
	}
	return notes, nil
}

// foreignNotes name the sets and balls of a table.
func foreignNotes(d measure.ForeignData, f *TableBuilder, out *Filled) (notes []string) {
	var kinds []string
	for _, l := range out.Lines {
		if of := d[l.Data]; len(of.Foreign) > 0 && !slices.Contains(kinds, l.Data) {
			kinds = append(kinds, l.Data)
			text := fmt.Sprintf("Foreign to %s, ε = %g:", l.Data, of.Epsilon)
			for i, name := range of.Foreign {
				text += fmt.Sprintf(" %s is %s%s;", measure.SetName(name), of.Images[i], f.source(l.Data, of.Images[i]))
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

func (b boundReader) tables(f *Filled, columns []string, head func(FilledLine) []any, add func(*table.Table,
	string)) {
	t := &table.Table{Columns: append(slices.Clone(columns), "foreign", "networks", "images", "accuracy, %", "AUC",
		"with ties", "low", "high", "GAUC", "with ties", "low", "high")}
	means := &table.Table{Columns: append(slices.Clone(columns), "foreign", "mean confidence, own, %", "foreign, %",
		"bound, %")}
	other := b.Way() != ""
	if other {
		t.Columns = append(t.Columns, "GAUC by rigorous "+string(feedforward.IBP), "with ties", "low", "high")
		means.Columns = append(means.Columns, "bound by rigorous "+string(feedforward.IBP)+", %", "most apart, %")
	}
	for _, l := range f.Lines {
		all, _ := l.Found["bound"].([]*ForeignFigures)
		for _, of := range all {
			row := append(head(l), of.Set, of.Models, of.Images, percent(of.Accuracy))
			row = append(append(row, areaCells(&of.AUC)...), areaCells(&of.WorstAUC)...)
			mean := append(head(l), of.Set, percent(of.Own), percent(of.Confidence), percent(of.Worst))
			if other {
				row = append(row, areaCells(of.BoundAUC)...)
				mean = append(mean, percent(of.Intervals), Rounded(100*of.Apart, 6))
			}
			t.Rows, means.Rows = append(t.Rows, row), append(means.Rows, mean)
		}
	}
	add(t, "own images against foreign ones, in percent")
	add(means, "mean confidences and bounds")
}

func (a attackReader) fill(f *TableBuilder, out *Filled) ([]string, error) {
	if err := tellAll(a.Foreign(), f, out, "attack",
		func(n *measure.NetworkAreas) *measure.Separation { return n.Attack }); err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("Attacked: each foreign image is moved in its ball to where the network is most "+
		"sure, the most of all attacks (%v), and of monotone PGD from points found on the other networks of the "+
		"table where their files are there; images %s. AUC and GAUC are of the same images.", f.Manifest.Tier.Adversary,
		f.Manifest.Tier.Images["attack"])}, nil
}

func (a attackReader) tables(f *Filled, columns []string, head func(FilledLine) []any, add func(*table.Table,
	string)) {
	t := &table.Table{Columns: append(slices.Clone(columns), "foreign", "networks", "images", "AUC", "AAUC",
		"with ties", "low", "high", "GAUC", "mean under attack, %")}
	for _, l := range f.Lines {
		all, _ := l.Found["attack"].([]*ForeignFigures)
		for _, of := range all {
			row := append(append(head(l), of.Set, of.Models, of.Images, percent(of.AUC.Conservative)),
				areaCells(&of.WorstAUC)...)
			guaranteed := any(table.None)
			if of.BoundAUC != nil {
				guaranteed = percent(of.BoundAUC.Conservative)
			}
			t.Rows = append(t.Rows, append(row, guaranteed, percent(of.Worst)))
		}
	}
	add(t, "own images against attacked foreign ones, in percent")
}
