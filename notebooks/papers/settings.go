package papers

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/notebooks/lesson"
	"github.com/certspec/certspec/study"
)

// networkNames are networks as readers call them.
var networkNames = map[string]string{"resnet20": "ResNet-20", "resnet56": "ResNet-56", "resnet110": "ResNet-110",
	"resnet50": "ResNet-50", "small-cnn": "small CNN", "l": "L", "xl": "XL"}

// dataNames are kinds of own images as readers call them.
var dataNames = map[string]string{"cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "fashionmnist": "FashionMNIST",
	"clothes": "FashionMNIST", "mnist": "MNIST", "mnist-8k": "MNIST, 8,000 images", "animals": "animals of CIFAR-10",
	"imagenet": "ImageNet", "svhn": "SVHN"}

// trainingImages are how many a data set has to learn from.
var trainingImages = map[string]int{"cifar10": 50000, "fashionmnist": 60000, "clothes": 60000, "mnist-8k": 8000,
	"animals": 30000}

var counted = regexp.MustCompile(`count=(\d+)`)

// effort is what training took, views, noises and attacks counted.
type effort struct {
	steps        int
	rows, passes float64
}

// effort is that of a model by itself, without what it began with.
func (r rows) effort(m *recipe.Model) (effort, error) {
	images := trainingImages[m.Data]
	if found := counted.FindStringSubmatch(m.Train); found != nil {
		images, _ = strconv.Atoi(found[1])
	}
	if m.BatchSize == 0 || images == 0 || m.Results != "" {
		return effort{}, nil
	}
	passes, err := r.manifest.Passes(&recipe.Setup{Tier: r.manifest.Tier}, m)
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

// settings says in words how the results of a table were found.
func settings(folder, table string) (string, error) {
	if strings.HasPrefix(recipe.StoredName(table), "C/table") {
		return "three architectures at an eighth of the width, 12 epochs on 8,000 images of a JPEG copy of CIFAR-10; 2,000 " +
			"images, severities 1, 3 and 5", nil
	}
	r, err := openRows(folderOf(folder), table)
	if err != nil {
		return "", err
	}
	var m *recipe.Model
	for _, l := range r.table.Lines {
		if m = r.manifest.Model(l.Models[0]); m.Results == "" && m.Network != "" {
			break
		}
	}
	images := trainingImages[m.Data]
	if found := counted.FindStringSubmatch(m.Train); found != nil {
		images, _ = strconv.Atoi(found[1])
	}
	start := "from random weights"
	if m.Begin != nil || m.Start != "" {
		start = "from one network"
	}
	name := networkNames[m.Network]
	if m.Network == "l" {
		name = "L at an eighth of its width"
	}
	epochs := printable.Sprintf("%d epochs", m.Epochs)
	if m.Begin != nil {
		epochs = "fine-tuned for as many rows each"
	}
	text := printable.Sprintf("%s on %s, %s %s, %d images", name, dataNames[m.Data], epochs, start, images)
	switch t := r.manifest.Tier; {
	case strings.HasPrefix(r.table.Name, "B/"):
		text += "; bounds on 2,000 images a set, attacks on 1,000"
	case r.table.Name == "D/table1":
		text += "; 500 images"
	case strings.HasPrefix(r.table.Name, "D/"):
		text += printable.Sprintf("; 500 images, %d noise samples", t.Calibration.Certify.N)
	default:
		plan, err := t.Certify.Options(m.Noise()).Plan()
		if err != nil {
			return "", err
		}
		cells := ""
		if s := t.Corrupted.Severities; len(s) > 0 {
			cells = ", corrupted at severity " + joined(s)
		}
		text += printable.Sprintf("; %s%s, at most %d noise samples, which end radii at %.3f", imagesIn(t.Clean), cells,
			t.Certify.N, plan.RadiusCap())
	}
	return text, nil
}

// imagesIn says how many images a selection of 10,000 has.
func imagesIn(selection string) string {
	skip, n := 1, 10000
	for part := range strings.SplitSeq(selection, ",") {
		fmt.Sscanf(part, "skip=%d", &skip)
		fmt.Sscanf(part, "count=%d", &n)
	}
	return printable.Sprintf("%d images", min(n, 10000/skip))
}

func joined(of []int) string {
	var words []string
	for _, v := range of {
		words = append(words, strconv.Itoa(v))
	}
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return words[0]
}

// say is a claim in the words of a reader: titles for recipes, and names of sets.
func say(j study.Judged) string {
	c := j.Claim
	a, b := c.Row, c.Than
	for _, row := range []*string{&a, &b} {
		if r, err := library().Recipe(*row); err == nil {
			*row = r.Title
		}
	}
	word, argument, _ := strings.Cut(c.What, " ")
	if word == "accuracy" && j.Set != study.OwnImages {
		a, b = groupName(a), groupName(b)
	}
	quantity := map[string]string{"gauc": "GAUC", "aauc": "AAUC", "auc": "AUC", "accuracy": "accuracy",
		"confidence": "confidence", "cce": "CCE", "cbs": "CBS", "ace": "AdaECE", "r2": "R²", "slope": "slope"}[word]
	on := setName(j.Set)
	above := "above"
	if c.Sign < 0 {
		above = "below"
	}
	number := func(v float64) string {
		factor, digits := scale(c.What)
		s := printable.Fixed(factor*v, digits)
		if strings.Contains(s, ".") {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		return s
	}
	switch {
	case word == "ace":
		return fmt.Sprintf("%s: the attack %s raises AdaECE", a, argument)
	case word == "r2" || word == "slope":
		a, b = groupName(a), groupName(b)
		of := fmt.Sprintf("%s: %s by %s on %s", a, quantity, argument, on)
		if c.Than != "" {
			return fmt.Sprintf("%s %s that of %s", of, above, b)
		}
		if c.ThanOn != "" {
			return fmt.Sprintf("%s %s that on %s", of, above, setName(c.ThanOn))
		}
		return fmt.Sprintf("%s %s %s", of, above, number(c.By))
	case word == "cce" || word == "cbs":
		return fmt.Sprintf("%s %s %s, %s at R = %s", a, above, b, quantity, argument)
	case alone(c):
		return fmt.Sprintf("%s of %s %s %s on %s", quantity, a, above, number(c.By), on)
	case c.ThanOn != "":
		return fmt.Sprintf("%s: %s %s %s", a, on, above, setName(c.ThanOn))
	}
	if quantity != "" {
		a = quantity + " of " + a
	}
	if c.ThanWhat != "" {
		b = strings.ToUpper(c.ThanWhat) + " of " + b
	}
	if c.By < 0 && c.Sign >= 0 {
		b += ", but for " + number(-c.By)
	}
	return fmt.Sprintf("%s %s %s on %s", a, above, b, on)
}

// groupName is a group of networks as a reader calls it.
func groupName(group string) string {
	if name, ok := map[string]string{"clean": "no augmentation", "Gaussian": "Gaussian noise in training"}[group]; ok {
		return name
	}
	return group
}

// setName is a set of images as a reader calls it.
func setName(set string) string {
	if name, ok := map[string]string{"clean": "clean images", "F": "CIFAR-F", "low": "low frequencies",
		"mid": "middle frequencies", "high": "high frequencies", "all": "six shifts", "own": "own images",
		"out": "grey crops of CIFAR-10", "out-vehicles": "vehicles held out", "uniform-rgb": "uniform noise",
		"smooth-rgb": "smooth noise"}[set]; ok {
		return name
	}
	if at, severity, ok := strings.Cut(set, " severity "); ok {
		return setName(at) + " at severity " + severity
	}
	if name := lesson.Foreign[set]; name != "" && !slices.Contains([]string{"in"}, set) {
		return name
	}
	if printable.Name(set) != "" && strings.Contains(set, "_") {
		return strings.ToLower(printable.Name(set))
	}
	return set
}

// Settings are the data, network and certificates of results, by paper and tier, as the second line of a title says
// them.
var Settings = map[string]string{
	"A cpu":      "CIFAR-10, small CNN, 100 images, σ = 0.25, n ≤ 500, α = 0.001",
	"A evidence": "CIFAR-10, ResNet-20, 500 images, σ = 0.25, n ≤ 2,000, α = 0.001",
	"A scratch":  "CIFAR-10, ResNet-20, 300 images, σ = 0.25, n ≤ 1,000, α = 0.001",
	"B cpu":      "L at an eighth of its width, 2,000 images",
	"C cpu":      "CIFAR-10 (JPEG copy), severities 1, 3 and 5, 177 networks, 2,000 images",
	"D evidence": "FashionMNIST, small CNN, 500 images, σ = 0.25, n = 10,000, α = 0.001",
}

// settingsOfTitle are those of a folder.
func settingsOfTitle(folder string) string {
	of := map[string]string{"A": "A cpu", "A-more": "A cpu", "C": "C cpu", "D-evidence": "D evidence",
		"acce-published": "D evidence", "A-scratch": "A scratch", "B": "B cpu"}[folder]
	if of == "" {
		of = "A evidence"
	}
	return Settings[of]
}
