// Package informative asks whether bounds of a network say anything, before a long run.
package informative

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/progress"
)

// Tried is how a method bounds the confidence within a radius around some points.
type Tried struct {
	Method  feedforward.Method `json:"method"`
	Epsilon float64            `json:"eps"`
	Median  float64            `json:"median_bound"` // of the confidence
	Vacuous float64            `json:"vacuous"`      // share of bounds above .99
	Seconds float64            `json:"seconds"`      // an image, on one processor
}

// says is the largest median of bounds that says something.
const says = 0.99

// Check asks, before a long run, whether bounds of a network say anything. It computes interval bounds and CROWN at
// each radius around some points, images in units of the full range. useful is the largest radius at which the median
// bound is at most .99, or 0 without one.
//
// A network of a thousand classes may take seconds a bound; report hears of each second.
//
// Errors: no point; a radius that feedforward.Ball does not take, points of another size; that of ctx.
func Check(ctx context.Context, n *feedforward.Network, points [][]float64, report progress.Reporter,
	radii ...float64) (tried []Tried, useful float64, err error) {
	if len(points) == 0 {
		return nil, 0, fmt.Errorf("ood: no point to check a network at")
	}
	state := progress.State{Task: "try bounds", Unit: "bounds", Total: float64(2 * len(radii) * len(points)), Left: -1}
	began := time.Now()
	reported := began
	for _, method := range []feedforward.Method{feedforward.IBP, feedforward.CROWN} {
		for _, epsilon := range radii {
			t := Tried{Method: method, Epsilon: epsilon}
			var bounds []float64
			start := time.Now()
			for _, x := range points {
				if err := ctx.Err(); err != nil {
					return nil, 0, err
				}
				box, err := feedforward.Ball(x, epsilon, feedforward.Rigorous)
				if err != nil {
					return nil, 0, err
				}
				found, err := n.Confidence(ctx, x, box, method, feedforward.Rigorous)
				if err != nil {
					return nil, 0, err
				}
				bounds = append(bounds, math.Exp(found.LogUpper))
				state.Done++
				if report != nil && time.Since(reported) >= time.Second {
					reported = time.Now()
					report(state)
				}
			}
			t.Seconds = time.Since(start).Seconds() / float64(len(points))
			slices.Sort(bounds)
			t.Median = bounds[len(bounds)/2]
			for _, v := range bounds {
				if v > says {
					t.Vacuous += 1 / float64(len(bounds))
				}
			}
			if t.Median <= says {
				useful = max(useful, epsilon)
			}
			tried = append(tried, t)
		}
	}
	if reported.After(began) {
		state.Final = true
		report(state)
	}
	return tried, useful, nil
}
