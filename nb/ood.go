package nb

import (
	"cmp"
	"context"
	"fmt"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/rs/ledger"
)

// Ball says around which images OOD bounds and attacks a network's confidence. Only Epsilon has no default.
type Ball struct {
	Epsilon  float64            // |z − x| ≤ ε in every value, unit: full range of a value; > 0
	Method   feedforward.Method // of the bounds; default CROWN
	Steps    int                // of the attack; default 100
	Attacked int                // foreign images that are attacked; default 50, −1: none
	Seed     uint64             // of the attack
}

// layered is a network that can be read as layers, for bounds: a model.Model is one.
type layered interface {
	FeedForward(ctx context.Context) (*feedforward.Network, error)
	Trained() ([]ledger.Data, error)
}

// OOD compares the confidences of a network on its own images with those on foreign ones: as they are, under attack in
// the ball around each foreign image, and by an upper bound on all of it, which no attack passes. Shown, it is a
// histogram of each, and the areas under the ROC curve with intervals. What is computed is kept in out. An error ends
// the cell: images that the network was trained on are one.
func OOD(m classifier.Classifier, own, foreign *dataset.Dataset, b Ball) *ood.Comparison {
	c, err := outOfDistribution(m, own, foreign, b)
	end(err)
	return c
}

func outOfDistribution(m classifier.Classifier, own, foreign *dataset.Dataset, b Ball) (*ood.Comparison, error) {
	if !(b.Epsilon > 0 && b.Epsilon <= 1) {
		return nil, fmt.Errorf("nb.Ball.Epsilon is %v; expected a number above 0, up to 1 (the full range of a value)",
			b.Epsilon)
	}
	net, ok := m.(layered)
	if !ok {
		return nil, fmt.Errorf("bounds need the layers of a network, and a %T has none: open one by model.Open", m)
	}
	ctx, report := Context(), Progress()
	n, err := net.FeedForward(ctx)
	if err != nil {
		return nil, err
	}
	trained, err := net.Trained()
	if err != nil {
		return nil, err
	}
	info, err := m.Info()
	if err != nil {
		return nil, err
	}
	file := func(data *dataset.Dataset, more ...any) (string, error) {
		images, err := data.Index(ctx, report)
		if err != nil {
			return "", err
		}
		path, err := kept(m, images, Smoothing{}.options(), more)
		return path + ".ood", err
	}
	o := ood.Options{Name: info.Name, Trained: trained, Progress: report}
	if o.File, err = file(own, "own"); err != nil {
		return nil, err
	}
	mine, err := ood.Measure(ctx, n, own, o)
	if err != nil {
		return nil, err
	}
	o.Epsilon, o.Method = b.Epsilon, b.Method
	if o.File, err = file(foreign, "bound", o.Epsilon, o.Method); err != nil {
		return nil, err
	}
	theirs, err := ood.Measure(ctx, n, foreign, o)
	if err != nil {
		return nil, err
	}
	shown, others := []*ood.Measurement{mine, theirs}, []*ood.Measurement{theirs}
	if b.Attacked >= 0 {
		steps := cmp.Or(b.Steps, 100)
		a := ood.AttackOptions{Epsilon: b.Epsilon, Steps: steps, Monotone: steps, Restarts: 1, Seed: b.Seed,
			Name: info.Name, Trained: trained, Progress: report}
		some, err := atMost(ctx, foreign, cmp.Or(b.Attacked, 50))
		if err != nil {
			return nil, err
		}
		if a.File, err = file(some, "attack", a.Epsilon, a.Steps, a.Seed); err != nil {
			return nil, err
		}
		attacked, err := ood.Attack(ctx, n, some, a)
		if err != nil {
			return nil, err
		}
		shown, others = append(shown, attacked), append(others, attacked)
	}
	c, err := ood.Compare(ctx, ood.CompareOptions{}, mine, others...)
	if err != nil {
		return nil, err
	}
	rows := make([][]*ood.Measurement, len(shown))
	for i, m := range shown {
		rows[i] = []*ood.Measurement{m}
	}
	drawnWith.Store(c, []any{HistogramRows(rows...)})
	return c, nil
}

// atMost is a set, or a sample of so many of its images.
func atMost(ctx context.Context, data *dataset.Dataset, count int) (*dataset.Dataset, error) {
	list, err := data.List(ctx)
	if err != nil || list.Len() <= count {
		return data, err
	}
	return data.Subset(dataset.Count(count)), nil
}

// detected is the picture of a comparison of own and foreign images.
func detected(c *ood.Comparison) []any {
	t := Columns("", "area under the ROC curve", "95 %", "ties lost", "95 %")
	row := func(what, name string, value, conservative *float64) {
		if value == nil {
			return
		}
		say := func(of ood.Estimate) string {
			i := cmp.Or(of.DeLong, of.Bootstrap)
			return span(i.Low, i.High)
		}
		t.Add(what, *value, say(c.Intervals[name]), *conservative, say(c.Intervals["c"+name]))
	}
	row("images as they are", "auc", &c.AUC, &c.CAUC)
	row("foreign images under attack", "aauc", c.AAUC, c.CAAUC)
	row("guaranteed, by bounds", "gauc", c.GAUC, c.CGAUC)
	t.Notes = []string{fmt.Sprintf("%d images of %s, %d of %s; the ball: |z − x| ≤ %g in every value.", c.In.Images,
		printable.DataName(c.In.Name), c.Foreign.Images, printable.DataName(c.Foreign.Name), c.Epsilon)}
	if c.Attacked != nil {
		t.Notes = append(t.Notes, fmt.Sprintf("%d of the foreign images were attacked; that row is of these alone.",
			c.Attacked.Images))
	}
	if c.CGAUC != nil && *c.CGAUC == 0 {
		t.Notes = append(t.Notes, "All bounds are vacuous: they guarantee nothing at this ε. A network trained for bounds "+
			"(good, prood), a smaller ε, or smoothed detection (certspec ood smooth) may.")
	}
	t.Notes = append(t.Notes, c.Warnings...)
	drawn, _ := drawnWith.Load(c)
	figures, _ := drawn.([]any)
	return append(figures, t)
}
