package measure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/ood"
)

func init() { add(60, func() Measure { return &Bound{} }) }

// Bound is how well a network's confidence tells foreign images from its own, by the images
// themselves and by bounds that hold in balls around them: files in ood/MODEL, as "certspec ood
// bound" writes them. By another method than intervals, or in plain arithmetic, the bounds stand
// beside those by rigorous intervals, shared by all tables of the folder.
type Bound struct {
	Sets ForeignData `yaml:"sets" json:"sets"`
	// default ibp, as in the paper
	Method     feedforward.Method     `yaml:"method,omitempty" json:"method,omitempty"`
	Arithmetic feedforward.Arithmetic `yaml:"arithmetic,omitempty" json:"arithmetic,omitempty"` // default rigorous
	// of each set, as in skip=4, where the bounds are other ones; default all
	Images string `yaml:"images,omitempty" json:"images,omitempty"`
}

// At fills in the names of the sets, and refuses bounds that no file could hold.
func (b *Bound) At(s Setting) (Measure, error) {
	now := &Bound{Method: b.BoundMethod(), Images: b.Images}
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
	case b.Images != "" && now.Way() == "":
		return nil, fmt.Errorf("experiment: bounds of the images %q; those by %s in rigorous arithmetic are of all",
			b.Images, feedforward.IBP)
	}
	var err error
	now.Sets, err = b.Sets.at(s)
	return now, err
}

// Way names bounds that are not those by rigorous intervals, as in crown-plain; else it is empty.
func (b *Bound) Way() string {
	var words []string
	if b.BoundMethod() != feedforward.IBP {
		words = append(words, string(b.BoundMethod()))
	}
	if b.Arithmetic != "" {
		words = append(words, string(b.Arithmetic))
	}
	return strings.Join(words, "-")
}

// Foreign are the sets, with what their files are named by.
func (b *Bound) Foreign() ForeignData { return b.Sets.with(b.Way(), "") }

// BoundMethod is Method, or its default.
func (b *Bound) BoundMethod() feedforward.Method { return cmp.Or(b.Method, feedforward.IBP) }

func (*Bound) Name() string { return "bound" }

func (b *Bound) Jobs(_ Place, m *Model) ([]Job, error) {
	kind := "bound"
	if way := b.Way(); way != "" {
		kind += "-" + way
	}
	return foreignJobs(b.Sets, kind, m), nil
}

func (b *Bound) Done(p Place, j Job) (bool, error) {
	f, _ := b.Foreign().Set(j.Model.Data, j.Part)
	path := func(ending string) string { return p.At(ScoresPath(f, j.Model.Slug, j.Part, ending)) }
	open, err := Unfinished(p.At(OwnScoresPath(j.Model.Slug)), path(BoundEnds), path(f.BoundEnding()))
	if !open || err != nil {
		return !open, err
	}
	kept, err := ReadSetAreas(f, p.At(), j.Model.Data, j.Part)
	n := kept.Network(j.Model.Name)
	return n != nil && n.Bound != nil, err
}

func (b *Bound) Cost(c Costs, j Job) error {
	f, at := b.Sets.Set(j.Model.Data, j.Part)
	n, err := c.Size(f.Images[at])
	if err != nil {
		return err
	}
	const passes = 6. // gradients, of many points side by side, in the time of intervals
	if open, err := Unfinished(c.At(ScoresPath(f, j.Model.Slug, j.Part, BoundEnds))); err != nil {
		return err
	} else if open {
		if err := c.Layers(j.Model, n*passes); err != nil {
			return err
		}
	}
	if b.Way() == "" {
		return nil
	}
	if n, err = c.Size(tier.Select(f.Images[at], b.Images)); err != nil {
		return err
	}
	if b.BoundMethod() != feedforward.IBP {
		n *= 25 // CROWN has a walk for each pair of classes
	}
	return c.Layers(j.Model, n*passes)
}

func (b *Bound) Run(ctx context.Context, t Tools, j Job) error {
	f, at := b.Foreign().Set(j.Model.Data, j.Part)
	n, run, err := layersOf(ctx, t, j.Model)
	if err != nil {
		return err
	}
	path := func(ending string) string { return t.At(ScoresPath(f, j.Model.Slug, j.Part, ending)) }
	type measured struct {
		file, data string
		epsilon    float64
		method     feedforward.Method
		arithmetic feedforward.Arithmetic
	}
	all := []measured{
		{t.At(OwnScoresPath(j.Model.Slug)), t.OwnImages(j.Model), 0, "", ""},
		{path(BoundEnds), f.Images[at], f.Epsilon, feedforward.IBP, ""},
	}
	if f.Bounds() != "" {
		all = append(all, measured{path(f.BoundEnding()), tier.Select(f.Images[at], b.Images), f.Epsilon, b.BoundMethod(),
			b.Arithmetic})
	}
	for _, what := range all {
		data, err := t.Set(what.data)
		if err != nil {
			return err
		}
		o := run
		o.File, o.Epsilon, o.Method, o.Arithmetic = what.file, what.epsilon, what.method, what.arithmetic
		m, err := ood.Measure(ctx, n, data, o)
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
