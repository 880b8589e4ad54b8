// Package linestest draws models whose true accuracies are known, to count how often an interval holds the truth.
package linestest

import (
	"fmt"
	"math"
	"math/rand/v2"

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
	X, Y      int     // images of each axis; 0: accuracies are the true ones, of unknown n
	Same      bool    // both axes have the same images, with the same difficulties
	Common    float64 // share of a difficulty's variance that all models share
	Counts    bool    // only the numbers of images and of correct answers are known; Common is not used
}

// Truth is what infinitely many images give: the line through the models drawn (of the group "standard", all but the last), and the last model's
// effective robustness above it.
type Truth struct {
	Line lines.Line
	Last float64
}

// Clean and Shifted are the fields of the accuracies.
const (
	Clean   = "clean"
	Shifted = "shifted"
)

// Draw draws models, "standard" ones and, last, one of the group "ours" that lies Lift above the line and has skill 1 or the last of Skills.
func (w World) Draw(rng *rand.Rand) (lines.Models, Truth) {
	skills := w.Skills
	for k := range w.Models {
		s := 1.0
		if k < w.Models-1 {
			s += 0.4 * rng.NormFloat64()
		}
		skills = append(skills, s)
	}
	var dx, dy []float64
	if !w.Counts {
		dx, dy = normal(rng, w.X), normal(rng, w.Y)
	}
	if w.Same {
		dy = dx
	}
	var models lines.Models
	var px, py []float64
	for k, s := range skills {
		last := k == len(skills)-1
		m := lines.Model{Name: fmt.Sprint("model ", k), Labels: map[string]string{"group": "standard"}, Accuracies: map[string]lines.Accuracy{}, Images: map[string][]float64{}}
		y := w.Slope*s + w.Intercept
		if last {
			y += w.Lift
			m.Labels["group"] = "ours"
		} else {
			y += w.Scatter * rng.NormFloat64()
			px, py = append(px, s), append(py, y)
		}
		w.answer(rng, m, Clean, w.X, dx, s)
		w.answer(rng, m, Shifted, w.Y, dy, y)
		models = append(models, m)
	}
	line, err := lines.LeastSquares(px, py)
	if err != nil {
		panic(fmt.Sprintf("linestest: %v", err))
	}
	s := skills[len(skills)-1]
	return models, Truth{line, lines.Phi(w.Slope*s+w.Intercept+w.Lift) - lines.Phi(line.At(s))}
}

func (w World) answer(rng *rand.Rand, m lines.Model, field string, n int, difficulty []float64, skill float64) {
	switch p := lines.Phi(skill); {
	case n == 0:
		m.Accuracies[field] = lines.Accuracy{Share: p}
		return
	case w.Counts:
		m.Accuracies[field] = lines.Accuracy{Share: distuv.Binomial{N: float64(n), P: p,
			Src: rng}.Rand() / float64(n), N: n}
		return
	}
	images, k := make([]float64, len(difficulty)), 0
	common, own := math.Sqrt(w.Common), math.Sqrt(1-w.Common)
	for i, d := range difficulty {
		if common*d+own*rng.NormFloat64() < skill {
			images[i] = 1
			k++
		}
	}
	m.Images[field], m.Accuracies[field] = images, lines.Accuracy{Share: float64(k) / float64(len(images)), N: len(images)}
}

func normal(rng *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = rng.NormFloat64()
	}
	return out
}
