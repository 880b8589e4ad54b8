package linestest

import (
	"fmt"

	"github.com/certspec/certspec/lines"
)

// Study is a world with what its intervals take for random.
type Study struct {
	Name  string
	World World
	Over  lines.Over
	Null  bool // all models are on the line, so that none is effectively robust
}

// Studies are the worlds in which coverage is counted: few and many models, on few and many images. Skills of fixed models are spread evenly; the
// models that are drawn scatter about the line by 0.1 in probit units.
var Studies = []Study{
	{"8 models, counts of 300", on(World{Skills: spread(8), Images: 300, Counts: true}, 0), lines.Images, true},
	{"8 models, 1,000 images, scatter", on(World{Skills: spread(8), Images: 1000, Common: 0.5}, 0.1), lines.Images,
		false},
	{"20 models, 500 images", on(World{Skills: spread(20), Images: 500, Common: 0.5}, 0), lines.Images, true},
	{"8 models, counts of 1,000", on(World{Skills: spread(8), Images: 1000, Counts: true}, 0), lines.Images, true},
	{"20 models drawn, 500 images", on(World{Models: 21, Images: 500, Common: 0.5}, 0.1), lines.Both, true},
	{"20 models drawn, counts of 2,000", on(World{Models: 21, Images: 2000, Counts: true}, 0.1), lines.Both, true},
	{"7 models drawn, no scatter, 1,000 images", on(World{Models: 8, Images: 1000, Common: 0.5}, 0), lines.Both, true},
	{"7 models drawn, scatter of 0.4, 1,000 images", on(World{Models: 8, Images: 1000, Common: 0.5}, 0.4), lines.Both,
		true},
}

// Grid are 3 to 12 models about one line, drawn, on 100 to 100,000 images; images or both are
// taken for random. Above 1,000 images only their numbers are known. Over both, there are accuracies without numbers of
// images, too.
func Grid() (all []Study) {
	for _, over := range []lines.Over{lines.Images, lines.Both} {
		for _, models := range []int{3, 4, 5, 6, 8, 12} {
			for _, images := range []int{0, 100, 300, 1000, 10_000, 100_000} {
				name := fmt.Sprintf("%d models, %d images", models, images)
				if images == 0 {
					if name = fmt.Sprintf("%d models, images without number", models); over != lines.Both {
						continue
					}
				}
				w := World{Models: models + 1, Images: images, Common: 0.5, Counts: images > 1000}
				all = append(all, Study{name, on(w, 0.1), over, over != lines.Images})
			}
		}
	}
	return all
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
var Agreement = World{Skills: []float64{0.5, 0.8, 1.1, 1.4}, Slope: 1, Intercept: -0.5, Common: 0.64,
	Images: 400, Others: 300}
