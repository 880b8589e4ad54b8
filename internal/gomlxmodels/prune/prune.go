// Package prune holds the ways to make most weights of a network zero, as values: which weights go,
// when, and what becomes of the rest. Package train does the rest, for every method of training
// alike.
//
// Sparsity is the share of the prunable weights that are zero; these are the kernels of
// convolutions and dense layers. A mask says which stay. By magnitude, weights whose absolute value
// is smallest go first:
//
//   - ft: train, prune once, train on with the mask fixed (Han et al. 2015);
//   - gmp: the sparsity grows along a cubic during one training (Zhu and Gupta 2017);
//   - lth: rounds, each from early weights: rewinding of the weights (Frankle and Carbin 2019, Frankle et al. 2020);
//   - lrr: rounds, each from the weights of the last: rewinding of the learning rate (Renda et al. 2020).
//
// The others learn which of the random weights that a network begins with stay, and never change these:
//
//   - edgepopup: a score of every weight, learned as if the mask were the identity (Ramanujan et al. 2020);
//   - biprop: the same with weights of one magnitude for each layer (Diffenderfer and Kailkhura 2021).
package prune

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/choice"
)

// Method is a way to prune. Its fields are its options.
type Method interface {
	// Name is the method on cards and command lines.
	Name() string
	scope() Scope
}

// Scope says which weights are ranked together.
type Scope struct {
	Layerwise bool `json:"layerwise" usage:"each layer to the sparsity, instead of all weights in one ranking"`
	Head      bool `json:"head" usage:"the last layer, too"`
}

func (s Scope) scope() Scope { return s }

// FT prunes a trained network once, and trains it on with the mask fixed.
type FT struct {
	Scope
	Epochs int     `json:"epochs" usage:"after the pruning; 0 for a quarter of those before, or all of a fine-tuning"`
	Rate   float64 `json:"rate" usage:"after the pruning; 0 for a tenth of that before, or that of a fine-tuning"`
}

// GMP raises the sparsity during one training, from Begin to End, every so many steps; see Rise.
type GMP struct {
	Scope
	Begin float64 `json:"begin" usage:"share of the run at which the sparsity begins to grow"`
	End   float64 `json:"end" usage:"share of the run at which it is reached"`
	Every int     `json:"every" usage:"steps between prunings; 0 for an epoch, or an eighth of the growth"`
}

// LTH prunes in rounds. After each, what is left goes back to its value at the step Rewind of the first training.
type LTH struct {
	Scope
	Rewind int    `json:"rewind" usage:"step whose weights the rest goes back to"`
	Levels string `json:"levels" usage:"sparsities of the rounds, as in 0.5/0.8/0.95, up to the run's"`
}

// LRR prunes in rounds. After each, what is left keeps its value, and the schedule of the learning rate begins again.
type LRR struct {
	Scope
	Levels string `json:"levels" usage:"sparsities of the rounds, as in 0.5/0.8/0.95, up to the run's"`
}

// EdgePopup learns scores s of frozen weights W: the network has W where |s| is among the largest, and 0 elsewhere; and
// ∂L/∂|s| = ∂L/∂W_eff·W. W is ±√(2/inputs), s uniform in ±1/√inputs at the beginning.
type EdgePopup struct {
	Scope
	Ramp int `json:"ramp" usage:"epochs over which a sparsity above a half grows from it; 0 for 10, or half of all"`
}

// BiProp is EdgePopup with α·sign(W) in place of W, where α is the mean |W| of what stays in the
// layer; the gradient is that of EdgePopup. W is normal with variance 2/inputs.
type BiProp struct {
	Scope
	Ramp int `json:"ramp" usage:"epochs over which a sparsity above a half grows from it; 0 for 10, or half of all"`
}

func (FT) Name() string        { return "ft" }
func (GMP) Name() string       { return "gmp" }
func (LTH) Name() string       { return "lth" }
func (LRR) Name() string       { return "lrr" }
func (EdgePopup) Name() string { return "edgepopup" }
func (BiProp) Name() string    { return "biprop" }

// usualLevels are rounds of about a fifth of what is left each, which hit the sparsities at which methods are compared.
const usualLevels = "0.2/0.36/0.5/0.6/0.7/0.8/0.85/0.9/0.95"

var registry = choice.Registry[Method]{Kind: "pruning", Check: check}

func init() {
	all := Scope{Head: true}
	for _, e := range []struct {
		description string
		method      Method
	}{
		{"once by magnitude after the training, then training on (Han et al. 2015)", FT{Scope: all}},
		{"by magnitude along a cubic during the training (Zhu and Gupta 2017)", GMP{Scope: all, Begin: 0.1, End: 0.7}},
		{"in rounds by magnitude, each from early weights (Frankle et al. 2020)", LTH{Scope: all, Levels: usualLevels}},
		{"in rounds by magnitude, each from the last weights (Renda et al. 2020)",
			LRR{Scope: all, Levels: usualLevels}},
		{"scores of random weights, which stay as they are (Ramanujan et al. 2020)", EdgePopup{Scope: all}},
		{"the same with one magnitude for each layer (Diffenderfer and Kailkhura 2021)", BiProp{Scope: all}},
	} {
		registry.Register(e.description, e.method)
	}
}

func check(m Method) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("pruning: %s: "+format, append([]any{m.Name()}, args...)...)
	}
	switch o := m.(type) {
	case FT:
		if o.Epochs < 0 || !(o.Rate >= 0) || math.IsInf(o.Rate, 0) {
			return bad("%d epochs at rate %v; expected 0 or more", o.Epochs, o.Rate)
		}
	case GMP:
		if !(o.Begin >= 0 && o.Begin < o.End && o.End < 1) || o.Every < 0 {
			return bad("begin %v, end %v, every %d; expected shares 0 ≤ begin < end < 1, and 0 or more steps", o.Begin,
				o.End, o.Every)
		}
	case LTH:
		if o.Rewind < 0 {
			return bad("rewind %d; expected a step, 0 or more", o.Rewind)
		}
		_, err := levels(o.Levels)
		return err
	case LRR:
		_, err := levels(o.Levels)
		return err
	case EdgePopup:
		return checkRamp(m, o.Ramp)
	case BiProp:
		return checkRamp(m, o.Ramp)
	}
	return nil
}

func checkRamp(m Method, ramp int) error {
	if ramp < 0 {
		return fmt.Errorf("pruning: %s: ramp %d; expected epochs, 0 or more", m.Name(), ramp)
	}
	return nil
}

// levels reads sparsities of rounds.
func levels(text string) (list []float64, err error) {
	for word := range strings.SplitSeq(text, "/") {
		v, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		if err != nil || CheckSparsity(v) != nil || len(list) > 0 && v <= list[len(list)-1] {
			return nil, fmt.Errorf("pruning: levels %q; expected sparsities from 0 to below 1 in ascending order, "+
				"as in 0.5/0.8/0.95", text)
		}
		list = append(list, v)
	}
	return list, nil
}

// CheckSparsity says whether a sparsity is at least 0 and below 1.
func CheckSparsity(v float64) error {
	if !(v >= 0 && v < 1) {
		return fmt.Errorf("sparsity %v; expected the share of zero weights, at least 0 and below 1", v)
	}
	return nil
}

// Names lists the methods.
func Names() []string { return registry.Names() }

// With is the method of a name with options as a card has them.
func With(name string, options map[string]any) (Method, error) { return registry.With(name, options) }

// Options of a method as a card has them.
func Options(m Method) (map[string]any, error) { return choice.Options("pruning", m) }

// Scored reports whether a method learns scores of frozen weights.
func Scored(m Method) bool {
	switch m.(type) {
	case EdgePopup, BiProp:
		return true
	}
	return false
}

// Prunable are the places of the prunable tensors among those of a network: kernels, and that of
// the last layer where the method says so.
func Prunable(m Method, list []nets.Tensor) (places []int) {
	for i, t := range list {
		if strings.HasSuffix(t.Name, "/kernel") {
			places = append(places, i)
		}
	}
	if !m.scope().Head && len(places) > 0 {
		places = places[:len(places)-1]
	}
	return places
}

// Group is tensors that are ranked together.
type Group struct {
	Names []string
	Sizes []int
	First int // of its tensors among the prunable ones
}

// Groups are all prunable tensors together, or each by itself.
func Groups(m Method, prunable []nets.Tensor) (groups []Group) {
	for i, t := range prunable {
		if i == 0 || m.scope().Layerwise {
			groups = append(groups, Group{First: i})
		}
		g := &groups[len(groups)-1]
		g.Names, g.Sizes = append(g.Names, t.Name), append(g.Sizes, t.Size())
	}
	return groups
}

// Weights is their number.
func (g Group) Weights() (n int) {
	for _, size := range g.Sizes {
		n += size
	}
	return n
}

// Kept is the number of weights of a group that a sparsity leaves: the nearest to its share. It is
// an error where that is none.
func (g Group) Kept(sparsity float64) (int, error) {
	n := g.Weights()
	kept := n - int(math.Round(sparsity*float64(n)))
	if kept < 1 {
		return 0, &EmptyLayer{g.Names[0], n, sparsity}
	}
	return kept, nil
}

// EmptyLayer is a layer of which a mask leaves nothing.
type EmptyLayer struct {
	Layer    string
	Weights  int
	Sparsity float64
}

func (e *EmptyLayer) Error() string {
	return fmt.Sprintf("pruning: the mask leaves none of the %d weights of %s at a sparsity of %.6g; a lower "+
		"sparsity, or layerwise=true, keeps some of each layer",
		e.Weights, e.Layer, e.Sparsity)
}

// Filled gives the number of weights that masks leave of each tensor, and an error where that is none.
func Filled(tensors []nets.Tensor, kept []int, sparsity float64) error {
	if i := slices.Index(kept, 0); i >= 0 {
		return &EmptyLayer{tensors[i].Name, tensors[i].Size(), sparsity}
	}
	return nil
}
