package mixture

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/pixel"
)

// Survey holds the proofs of the densities around each image of a set.
type Survey struct {
	Images   int     `json:"images"`
	Epsilon  float64 `json:"eps"`
	Distance float64 `json:"distance"` // of (15), in the metric
	// of (15) as it is printed, with the largest eigenvalue of C: no guarantee
	Printed float64 `json:"distance_printed"`
	Mean    float64 `json:"mean_bound"`
	Least   float64 `json:"least_bound"`
	Vacuous float64 `json:"vacuous"` // share of bounds above .999
	Factor  float64 `json:"factor"`
	// share of images where the confidence at the image itself is at most factor/K
	Proven float64   `json:"proven"`
	Reach  float64   `json:"median_reach"` // largest eps for which that is proven, of the image in the middle
	Bounds []float64 `json:"bounds"`
}

// Survey bounds the confidence around each image, where no value differs by more than eps (LogBound), and finds how far
// it stays below factor/K (Reach).
//
// Errors: eps outside [0, 1], a factor that is not above 1 and below K; no images, or images of another size; that of
// ctx.
func (p *Posterior) Survey(ctx context.Context, images *imageset.Index, eps, factor float64) (*Survey, error) {
	switch {
	case !(eps >= 0 && eps <= 1):
		return nil, fmt.Errorf("mixture: eps is %v; expected a number from 0 to 1, in units of the full range of a "+
			"value", eps)
	case !(factor > 1 && factor < float64(p.Classes)):
		return nil, fmt.Errorf("mixture: the factor is %v; expected a number above 1 and below the number of "+
			"classes, %d", factor, p.Classes)
	case images.Len() == 0 || images.Shape.Len() != len(p.Shift):
		return nil, fmt.Errorf("mixture: %s has %d images of %d values; expected images of %d", images.Name,
			images.Len(), images.Shape.Len(), len(p.Shift))
	}
	s := &Survey{Images: images.Len(), Epsilon: eps, Distance: p.Ball(eps), Printed: p.Printed(eps), Factor: factor,
		Least: math.Inf(1)}
	var reaches []float64
	for one, err := range images.Ahead(ctx, 0, images.Len()) {
		if err != nil {
			return nil, err
		}
		var x []float64
		for _, b := range one.Pixels {
			x = append(x, float64(b)/pixel.Steps)
		}
		at := min(math.Exp(p.LogBound(x, eps)), 1)
		s.Bounds = append(s.Bounds, at)
		s.Mean += at / float64(images.Len())
		s.Least = min(s.Least, at)
		if at > 0.999 {
			s.Vacuous += 1 / float64(images.Len())
		}
		reach := p.Reach(x, factor)
		if reach > 0 {
			s.Proven += 1 / float64(images.Len())
		}
		reaches = append(reaches, reach)
	}
	slices.Sort(reaches)
	s.Reach = reaches[len(reaches)/2]
	return s, nil
}
