package papers

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/experiment/claims"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/printable"
)

// networkNames are networks as readers call them.
var networkNames = map[string]string{"resnet20": "ResNet-20", "resnet56": "ResNet-56", "resnet110": "ResNet-110",
	"resnet50": "ResNet-50", "small-cnn": "small CNN", "l": "L", "xl": "XL"}

// dataNames are kinds of own images as readers call them.
var dataNames = map[string]string{"cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "fashionmnist": "FashionMNIST",
	"clothes": "FashionMNIST", "mnist": "MNIST", "mnist-8k": "MNIST, 8,000 images", "animals": "animals of CIFAR-10",
	"imagenet": "ImageNet", "svhn": "SVHN"}

// settings says in words how the results of a table were found.
func settings(folder, table string) (string, error) {
	if strings.HasPrefix(recipe.StoredName(table), "C/table") {
		return "three architectures at an eighth of the width, 12 epochs on 8,000 images of a JPEG copy of CIFAR-10; 2,000 " +
			"images, severities 1, 3 and 5", nil
	}
	manifest, err := store.ReadManifest(folderOf(folder))
	if err != nil {
		return "", err
	}
	if recipe.StoredName(table) == "B/table4" { // shows what table 1 measures
		table = "B/table1"
	}
	t, err := manifest.Table(table)
	if err != nil {
		return "", err
	}
	var m *recipe.Model
	for _, l := range t.Lines {
		if m = manifest.Model(l.Models[0]); m.Results == "" && m.Network != "" {
			break
		}
	}
	images := claims.TrainingImages(m)
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
	switch tier := manifest.Tier; {
	case strings.HasPrefix(t.Name, "B/"):
		text += "; bounds on 2,000 images a set, attacks on 1,000"
	case t.Name == "D/table1":
		text += "; 500 images"
	case strings.HasPrefix(t.Name, "D/"):
		text += printable.Sprintf("; 500 images, %d noise samples", tier.Calibration.Certify.N)
	default:
		plan, err := tier.Certify.Options(m.Noise()).Plan()
		if err != nil {
			return "", err
		}
		cells := ""
		if s := tier.Corrupted.Severities; len(s) > 0 {
			cells = ", corrupted at severity " + joined(s)
		}
		text += printable.Sprintf("; %s%s, at most %d noise samples, which end radii at %.3f", imagesIn(tier.Clean), cells,
			tier.Certify.N, plan.RadiusCap())
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

// Settings are the data, network and certificates of results, by paper and tier, as the second line of a title says
// them.
var Settings = map[string]string{
	"A cpu":      "CIFAR-10, small CNN, 100 images, σ = 0.25, n ≤ 500, α = 0.001",
	"A evidence": "CIFAR-10, ResNet-20, 500 images, σ = 0.25, n ≤ 2,000, α = 0.001",
	"A scratch":  "CIFAR-10, ResNet-20, 300 images, σ = 0.25, n ≤ 1,000, α = 0.001",
	"A radii":    "CIFAR-10, ResNet-20, 500 images, σ = 0.25, n ≤ 10,000, α = 0.001",
	"B cpu":      "L at an eighth of its width, 2,000 images",
	"C cpu":      "CIFAR-10 (JPEG copy), severities 1, 3 and 5, 177 networks, 2,000 images",
	"D evidence": "FashionMNIST, small CNN, 500 images, σ = 0.25, n = 10,000, α = 0.001",
}

func settingsOfTitle(folder string) string {
	of := map[string]string{"A": "A cpu", "A-more": "A cpu", "C": "C cpu", "D-evidence": "D evidence",
		"acce-published": "D evidence", "A-scratch": "A scratch", "A-scratch-radii": "A radii", "B": "B cpu"}[folder]
	if of == "" {
		of = "A evidence"
	}
	return Settings[of]
}
