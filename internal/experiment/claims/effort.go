package claims

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/printable"
)

// trainingImages are how many a data set has to learn from.
var trainingImages = map[string]int{"cifar10": 50000, "fashionmnist": 60000, "clothes": 60000, "mnist-8k": 8000,
	"animals": 30000}

var counted = regexp.MustCompile(`count=(\d+)`)

// TrainingImages are how many images a model learns from; 0: not known.
func TrainingImages(m *recipe.Model) int {
	images := trainingImages[m.Data]
	if found := counted.FindStringSubmatch(m.Train); found != nil {
		images, _ = strconv.Atoi(found[1])
	}
	return images
}

// effort is the cost of training, views, noises and attacks counted.
type effort struct {
	steps        int
	rows, passes float64
}

// effort is that of a model by itself, without what it began with.
func (r rows) effort(m *recipe.Model) (effort, error) {
	images := TrainingImages(m)
	if m.BatchSize == 0 || images == 0 || m.Results != "" {
		return effort{}, nil
	}
	step, err := recipe.StepOf(r.manifest.Tier, m)
	if err != nil {
		return effort{}, err
	}
	passes, err := r.manifest.Passes(m, step)
	steps := m.Epochs * (images / m.BatchSize)
	return effort{steps, passes * float64(images), passes}, err
}

// unequal says in words how the efforts of two rows differ, where they do by more than a hundredth.
func (r rows) unequal(a, b string) (string, error) {
	left, right := r.models(a), r.models(b)
	if a == b || len(left) == 0 || len(right) == 0 {
		return "", nil
	}
	x, err := r.effort(left[0])
	if err != nil {
		return "", err
	}
	y, err := r.effort(right[0])
	if err != nil || x.steps == 0 || y.steps == 0 {
		return "", err
	}
	var all []string
	add := func(a, b float64, format string) {
		if math.Abs(a-b) > 0.01*max(a, b) {
			all = append(all, printable.Sprintf(format, int(math.Round(a)), int(math.Round(b))))
		}
	}
	add(float64(x.steps), float64(y.steps), "%d steps for %d")
	add(x.passes, y.passes, "%d passes for %d")
	return strings.Join(all, ", "), nil
}
