// Package linestest draws models whose true accuracies are known, to count how often an interval holds the truth.
package linestest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/certspec/certspec/lines"
)

// World is a law of models and images. A model has a skill s; its true accuracies are Φ(s) and Φ(Slope·s + Intercept + e), e normal with deviation
// Scatter. An image has a difficulty, and a model is right where its skill exceeds √Common times that plus √(1−Common) times a draw of its own.
type World struct {
	Skills    []float64 // of the models; nil: Models of them are drawn, normal with deviation 0.4 about 1
	Models    int
	Slope     float64
	Intercept float64
	Scatter   float64
	Lift      float64 // of the last model above the line, in probit units
	Images    int     // the same on both axes; 0: accuracies are the true ones, of unknown n
	Others    int     // other images, under the shift, of Predictions
	Common    float64 // share of a difficulty's variance that all models share
	Counts    bool    // only the numbers of images and of correct answers are known; Common is not used
}

// Truth has the values for infinitely many images: the line through the models drawn (all but the last), and
// the last model's effective robustness above it.
type Truth struct {
	Line lines.Line
	Last float64
}

// Draw draws models and, last, one that the line does not go through, which lies Lift above it and has skill 1 or the
// last of Skills.
func (w World) Draw(rng *rand.Rand) ([]lines.Point, Truth) {
	skills := w.Skills
	for k := range w.Models {
		s := 1.0
		if k < w.Models-1 {
			s += 0.4 * rng.NormFloat64()
		}
		skills = append(skills, s)
	}
	var difficulties []float64
	if !w.Counts {
		difficulties = normal(rng, w.Images)
	}
	var points []lines.Point
	var px, py []float64
	for k, s := range skills {
		last := k == len(skills)-1
		p := lines.Point{Model: fmt.Sprint("model ", k), Fits: !last}
		y := w.Slope*s + w.Intercept
		if last {
			y += w.Lift
		} else {
			y += w.Scatter * rng.NormFloat64()
			px, py = append(px, s), append(py, y)
		}
		p.X, p.XImages = w.answer(rng, difficulties, s)
		p.Y, p.YImages = w.answer(rng, difficulties, y)
		points = append(points, p)
	}
	line, err := lines.LeastSquares(px, py)
	if err != nil {
		panic(fmt.Sprintf("linestest: %v", err))
	}
	s := skills[len(skills)-1]
	return points, Truth{line, lines.Phi(w.Slope*s+w.Intercept+w.Lift) - lines.Phi(line.At(s))}
}

func (w World) answer(rng *rand.Rand, difficulties []float64, skill float64) (a lines.Accuracy, images []float64) {
	p, n := lines.Phi(skill), float64(w.Images)
	switch {
	case w.Images == 0:
		return lines.Accuracy{Share: p}, nil
	case w.Counts:
		return lines.Accuracy{Share: distuv.Binomial{N: n, P: p, Src: rng}.Rand() / n, N: w.Images}, nil
	}
	images = make([]float64, w.Images)
	common, own := math.Sqrt(w.Common), math.Sqrt(1-w.Common)
	for i, d := range difficulties {
		if common*d+own*rng.NormFloat64() < skill {
			images[i] = 1
		}
	}
	return lines.Accuracy{Share: floats.Sum(images) / n, N: w.Images}, images
}

func normal(rng *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = rng.NormFloat64()
	}
	return out
}
