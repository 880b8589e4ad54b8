package linestest

import "github.com/certspec/certspec/lines"

// Study is a world with what its intervals take for random.
type Study struct {
	Name   string
	World  World
	Over   lines.Over
	Counts bool // only the numbers of correct answers are known
	Null   bool // all models are on the line, so that none is effectively robust
}

// Studies are the worlds in which coverage is counted: few and many models, on few and many images. Skills of fixed models are spread evenly; the
// models that are drawn scatter about the line by 0.1 in probit units.
var Studies = []Study{
	{"8 models, 300 images of each axis", on(World{Skills: spread(8), X: 300, Y: 300, Common: 0.5}, 0), lines.Images, false, true},
	{"8 models, 1,000 images of each axis, scatter", on(World{Skills: spread(8), X: 1000, Y: 1000, Common: 0.5}, 0.1), lines.Images, false, false},
	{"20 models, 500 images on both axes", on(World{Skills: spread(20), X: 500, Y: 500, Same: true, Common: 0.5}, 0), lines.Images, false, true},
	{"8 models, counts of 1,000", on(World{Skills: spread(8), X: 1000, Y: 1000}, 0), lines.Images, true, true},
	{"7 models drawn, images without number", on(World{Models: 8}, 0.1), lines.Nets, false, true},
	{"20 models drawn, images without number", on(World{Models: 21}, 0.1), lines.Nets, false, true},
	{"7 models drawn, 1,000 images of each axis", on(World{Models: 8, X: 1000, Y: 1000, Common: 0.5}, 0.1), lines.Both, false, true},
	{"20 models drawn, 500 images on both axes", on(World{Models: 21, X: 500, Y: 500, Same: true, Common: 0.5}, 0.1), lines.Both, false, true},
	{"20 models drawn, counts of 2,000", on(World{Models: 21, X: 2000, Y: 2000}, 0.1), lines.Both, true, true},
	{"7 models drawn, counts of 20,000", on(World{Models: 8, X: 20_000, Y: 20_000}, 0.1), lines.Both, true, true},
	{"7 models drawn, no scatter, 1,000 images of each axis", on(World{Models: 8, X: 1000, Y: 1000, Common: 0.5}, 0), lines.Both, false, true},
}

func on(w World, scatter float64) World {
	w.Slope, w.Intercept, w.Scatter = 0.8, -0.4, scatter
	return w
}

// spread are skills from 0.2 to 1.6, and 0.9 of the last model.
func spread(models int) (skills []float64) {
	for i := range models - 1 {
		skills = append(skills, 0.2+1.4*float64(i)/float64(models-2))
	}
	return append(skills, 0.9)
}

// Agreement is the world in which the estimates without labels are counted.
var Agreement = World{Skills: []float64{0.5, 0.8, 1.1, 1.4}, Slope: 1, Intercept: -0.5, Common: 0.64, X: 400, Y: 300}
