package experiment

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/rs/sweep"
)

// imagenetBar is the family of ImageNet-C-bar (Mintun et al. 2021, arXiv 2102.11273), other
// corruptions than those of CIFAR-10-C-bar. They are read from the published pictures, not made, as
// are those of ImageNet-C, whose strengths are others than CIFAR's: what a network is certified on
// is then what the papers certified on.
const imagenetBar = "ImageNet-C-bar"

var imagenetBarNames = []string{"blue_noise_sample", "brownish_noise", "caustic_refraction", "checkerboard_cutout",
	"cocentric_sine_waves",
	"inverse_sparkles", "perlin_noise", "plasma_noise", "single_frequency_greyscale", "sparkles"}

// familyNames are the corruptions of a family of a measure's sweeps.
func familyNames(word string) ([]string, error) {
	if word == imagenetBar {
		return imagenetBarNames, nil
	}
	return corrupt.Names([]string{word})
}

// familyCells are the cells of some corruptions of a family.
func familyCells(word string, names []string) ([]sweep.Cell, error) {
	if word != imagenetBar {
		return sweep.Cells(names, corrupt.Setting{}, nil)
	}
	var cells []sweep.Cell
	for _, name := range names {
		for severity := 1; severity <= greatestSeverity; severity++ {
			cells = append(cells, sweep.Cell{Corruption: name, Severity: severity, Setting: corrupt.Setting{Name: name,
				Severity: severity}})
		}
	}
	return cells, nil
}

// imagenet is the kind of data whose corrupted images are pictures in folders
// FOLDER/CORRUPTION/SEVERITY/CLASS, of 224×224 pixels.
const imagenet = "imagenet"

func imagenetCell(folder string, c sweep.Cell) string {
	return fmt.Sprintf("folder:%s[crop=224,channels=rgb]", filepath.Join(folder, c.Corruption, fmt.Sprint(c.Severity)))
}

// published reports a table of corrupted pictures of ImageNet whose place was not given. A tier
// that puts other images in the place of ImageNet's makes what it can of them.
func checkImageNetC(m *Manifest, t Table) error {
	if m.Places[imagenet+officialSuffix] != "" || !slices.ContainsFunc(m.Models,
		func(o Model) bool { return o.Data == imagenet }) {
		return nil
	}
	for _, word := range t.Measure.Radii.Sweeps {
		if word == imagenetBar || m.Tier.Data[imagenet].At == "" && m.Places[imagenet] == "" {
			return fmt.Errorf("experiment: %s: the corrupted images of ImageNet are read, not made: --data "+
				"%s%s=FOLDER, with the pictures of ImageNet-C and ImageNet-C-bar in "+
				"FOLDER/CORRUPTION/SEVERITY/CLASS, as in FOLDER/fog/3/n01440764",
				t.Name, imagenet, officialSuffix)
		}
	}
	return nil
}
