package spectral

import (
	"context"
	"fmt"
	"math"

	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/pixel"
)

// Frequency is a pair of periods over the height and over the width.
type Frequency struct{ U, V int }

// Canonical is the frequency that stands for f and −f, which have the same basis image. It has V > 0, or V = 0 and U ≥
// 0; half a side counts as its negative in U.
func Canonical(shape pixel.Shape, f Frequency) Frequency {
	h := fourier.Half{Height: shape.Height, Width: shape.Width}
	k, _ := h.Bin(f.U, f.V)
	if mirror := h.Mirror(k); mirror >= 0 {
		k = min(k, mirror)
	}
	u, v := h.Frequency(k)
	return Frequency{u, v}
}

// Representatives lists the canonical frequencies of a grid, each once, in the order of the grid: 481 of the 961 with
// |u|, |v| ≤ 15, and 514 of all 1024 of 32×32 images.
func Representatives(shape pixel.Shape, u, v []int) []Frequency {
	var list []Frequency
	seen := map[Frequency]bool{}
	for _, i := range u {
		for _, j := range v {
			if f := Canonical(shape, Frequency{i, j}); !seen[f] {
				seen[f] = true
				list = append(list, f)
			}
		}
	}
	return list
}

// HeatMap returns the map of the value that evaluate finds at each frequency of a grid, e.g. the average certified
// radius of images that a Probe perturbed. Only the Representatives are evaluated, one after the other; the rest is
// mirrored. Of the shape, height and width count. The grid is ascending, e.g. Window(15) both ways. A value that is not
// finite is an error.
func HeatMap(ctx context.Context, shape pixel.Shape, u, v []int, evaluate func(context.Context, Frequency) (float64,
	error)) (*Map, error) {
	if err := checkGrid(shape, u, v); err != nil {
		return nil, err
	}
	values := map[Frequency]float64{}
	for _, f := range Representatives(shape, u, v) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		value, err := evaluate(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("spectral: frequency (%d, %d): %w", f.U, f.V, err)
		}
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, fmt.Errorf("spectral: frequency (%d, %d) has the value %v; expected a finite number", f.U, f.V,
				value)
		}
		values[f] = value
	}
	m := &Map{Height: shape.Height, Width: shape.Width, U: u, V: v}
	for _, i := range u {
		for _, j := range v {
			m.Values = append(m.Values, values[Canonical(shape, Frequency{i, j})])
		}
	}
	return m, nil
}

// checkGrid refuses frequencies that are not ascending or that images of these sides do not have.
func checkGrid(h pixel.Shape, u, v []int) error {
	if _, err := fourier.NewHalf(h.Height, h.Width); err != nil {
		return err
	}
	for _, axis := range []struct {
		name string
		list []int
		side int
	}{{"u", u, h.Height}, {"v", v, h.Width}} {
		if len(axis.list) == 0 {
			return &InputError{"grid of " + axis.name, "empty", "at least one frequency"}
		}
		for k, f := range axis.list {
			if f < -(axis.side/2) || f > axis.side/2 {
				return &InputError{"frequency " + axis.name, fmt.Sprint(f), fmt.Sprintf("%d to %d for a side of %d",
					-(axis.side / 2), axis.side/2, axis.side)}
			}
			if k > 0 && f <= axis.list[k-1] {
				return &InputError{"frequency " + axis.name, fmt.Sprintf("%d after %d", f, axis.list[k-1]),
					"ascending frequencies"}
			}
		}
	}
	return nil
}
