package nb

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/strength"
	"github.com/certspec/certspec/table"
)

// Prove asks a model about an image at every strength of a corruption, for example "jpeg=10:100" (see
// corrupt.Strengths), until its class changes. If it does not, it is the same at all strengths, without a probability
// of error. Of a certified run no model is asked: the claims of its ledger answer, at its α. They reach far for
// brightness if the noise has a grey mode (see noise.ParseLaw). An error ends the cell.
//
// The file of the proof is kept as those of Certify are, for certcheck. Shown, the proofs of a corruption are a figure
// with a bar for each image, and a table.
func Prove(of any, data rs.Source, over string) *strength.File {
	f, err := prove(of, data, over)
	end(err)
	return f
}

func prove(of any, data rs.Source, over string) (*strength.File, error) {
	strengths, err := corrupt.ParseStrengths(over)
	if err != nil {
		return nil, err
	}
	o := strength.Options{Over: strengths, Progress: Progress()}
	path := func(before string) string {
		return before + strings.NewReplacer("=", "-", ":", "-to-").Replace("-"+over) + ".strength"
	}
	switch v := of.(type) {
	case classifier.Classifier:
		images, err := imageset.Open(Context(), data, o.Progress)
		if err != nil {
			return nil, err
		}
		before, err := kept(v, images, rs.Options{}, nil)
		if err != nil {
			return nil, err
		}
		o.File = path(before)
		return strength.Prove(Context(), v, data, o)
	case *rs.Run:
		if v.Path == "" {
			return nil, errors.New("nb.Prove: a run without a ledger; name one where it is certified")
		}
		o.File = path(strings.TrimSuffix(v.Path, ".ledger"))
		return strength.FromLedger(Context(), v.Path, data, o)
	}
	return nil, fmt.Errorf("nb.Prove: of a %T; expected a model or a run", of)
}

// strengthFigures are a figure for each corruption whose strengths are numbers, and a table of all proofs.
func strengthFigures(files []*strength.File) (shown []any) {
	t := Columns("strengths", "asked", "images", "right", "right at every strength", "right at the spaced ones",
		"and not between", "95 %")
	byName := map[string][]*strength.File{}
	for _, f := range files {
		c, h := f.Claims, f.Header
		if c == nil {
			end(fmt.Errorf("nb.Show: %s is not finished; run nb.Prove or certspec prove again", f.Path))
			return nil
		}
		row := []any{h.Over, "the ledger", c.Images, c.Right, c.Robust, table.None, table.None, table.None}
		if h.Prover == "list" {
			row[1], row[5], row[6] = "the model", c.SpacedSame, c.SpacedWrong
			if c.SpacedSame > 0 {
				interval, err := rs.ExactInterval(c.SpacedWrong, c.SpacedSame, 0.95)
				end(err)
				row[7] = span(interval.Low, interval.High)
			}
		}
		t.Add(row...)
		name, _, _ := strings.Cut(h.Over, "=")
		byName[name] = append(byName[name], f)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if f := strengthBars(name, byName[name]); f != nil {
			shown = append(shown, f)
		}
	}
	return append(shown, t)
}

// strengthBars draws the proven strengths of each image that is right as a bar, and a mark at the first one beyond;
// each proof is a panel.
func strengthBars(name string, files []*strength.File) *Figure {
	h := files[0].Header
	title := fmt.Sprintf("The class is proven along each bar\n%s, %s images, %s", printable.DataName(h.Data.Name),
		printable.Count(h.Data.Images), h.Model.Name)
	grid := figure.Grid{Columns: len(files)}
	for i, f := range files {
		s := figure.Series{Name: "the model; mark: another class"}
		if f.Header.Prover != "list" {
			s.Name = "the ledger; mark: not certified"
			title += "\nthe ledger: " + cmp.Or(f.Settings, f.Header.Ledger)
		}
		for _, l := range f.Lines {
			at := figure.Spot{XLow: theta(l.From), XHigh: theta(l.To),
				X: math.NaN(), YLow: math.NaN(), YHigh: math.NaN(),
				Name: fmt.Sprintf("image %d: %s to %s", l.Image, l.From, l.To)}
			if l.Flip != nil {
				at.X = theta(l.Flip.Theta)
				at.Name += fmt.Sprintf(", class %d at %s", l.Flip.Class, l.Flip.Theta)
			} else if l.Outside != "" {
				at.X = theta(l.Outside)
			}
			if l.Label == l.Class {
				s.Points = append(s.Points, at)
			}
		}
		slices.SortStableFunc(s.Points, func(a, b figure.Spot) int {
			return cmp.Compare(a.XHigh-a.XLow, b.XHigh-b.XLow) // NaN, no bar, is first
		})
		for k := range s.Points {
			s.Points[k].Y = float64(k + 1)
		}
		if i == 0 && !slices.ContainsFunc(s.Points, func(p figure.Spot) bool { return !math.IsNaN(p.XLow) }) {
			return nil // strengths that are no numbers
		}
		grid.Panels = append(grid.Panels, figure.Panel{Title: s.Name, X: "strength of " + name,
			Y: "images that are right", Series: []figure.Series{s}})
	}
	grid.Title = title
	return Plot(grid, "the strengths of "+name+" at which the class of each image is proven, and the first one beyond")
}

// theta is a strength as a number; NaN: it is none.
func theta(text string) float64 {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return math.NaN()
	}
	v, _ := r.Float64()
	return v
}
