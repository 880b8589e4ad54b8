// Package leaveout predicts the certified accuracy of a model that is left out.
package leaveout

import (
	"fmt"

	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/lines/certified"
)

// Prediction says how well the line predicts the certified accuracy under one corruption of a model that is left out,
// over all pairs of models and corruptions.
type Prediction struct {
	Radius   float64 `json:"radius"`
	Pairs    int     `json:"pairs"`
	Within   float64 `json:"within"`     // the tolerance, in accuracy
	Line     float64 `json:"line"`       // share of pairs that the line through the other models meets
	Same     float64 `json:"same"`       // share that "the same as on clean images" meets
	MeanDrop float64 `json:"mean_drop"`  // share that "the others' mean drop" meets
	LineMAE  float64 `json:"line_error"` // mean absolute error of the line, in accuracy
}

// LeaveOneOut predicts the certified accuracy of each model under each corruption, at the one radius of the options,
// from the line through all other models. It counts how often the prediction is met within a tolerance.
//
// Errors: those of Points, fewer than four models.
func LeaveOneOut(models []certified.Model, o certified.Options, within float64) (Prediction, error) {
	out := Prediction{Within: within}
	if len(o.Radii) != 1 {
		return out, fmt.Errorf("certified: %d radii, want one to predict at", len(o.Radii))
	}
	radius := o.Radii[0]
	out.Radius = radius
	if len(models) < 4 {
		return out, fmt.Errorf("certified: %d models, want at least 4 to leave one out", len(models))
	}
	var line, same, drop int
	corruptions := o.Corruptions
	if corruptions == nil {
		corruptions = certified.Corruptions(models)
	}
	for _, corruption := range corruptions {
		o.Corruptions = []string{corruption}
		points, err := certified.Points(models, o)
		if err != nil {
			return out, err
		}
		for left, p := range points {
			var x, y []float64
			meanDrop := 0.0
			for i, other := range points {
				if i == left {
					continue
				}
				x, y = append(x, lines.Probit(clip(other.X))), append(y, lines.Probit(clip(other.Y)))
				meanDrop += (other.X.Share - other.Y.Share) / float64(len(points)-1)
			}
			l, err := lines.LeastSquares(x, y)
			if err != nil {
				return out, fmt.Errorf("certified: %s at radius %v: %w", corruption, radius, err)
			}
			out.Pairs++
			miss := lines.Phi(l.At(lines.Probit(clip(p.X)))) - p.Y.Share
			out.LineMAE += max(miss, -miss)
			line += hit(miss, within)
			same += hit(p.X.Share-p.Y.Share, within)
			drop += hit(p.X.Share-meanDrop-p.Y.Share, within)
		}
	}
	n := float64(out.Pairs)
	out.Line, out.Same, out.MeanDrop, out.LineMAE = float64(line)/n, float64(same)/n, float64(drop)/n, out.LineMAE/n
	return out, nil
}

func hit(miss, within float64) int {
	if miss <= within && miss >= -within {
		return 1
	}
	return 0
}

// clip is the half-count clip.
func clip(a lines.Accuracy) float64 {
	half := 0.5 / float64(a.N)
	return min(max(a.Share, half), 1-half)
}
