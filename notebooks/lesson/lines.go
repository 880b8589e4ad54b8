package lesson

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/spectral"
)

// Families are classifiers of two Gaussian classes with means ±(d, d), d the separation, in two
// features with noise of deviation 1 of which the shift leaves the second 30 % of its signal. A
// family looks in one direction, mostly at the first or mostly at the second feature; its members
// add noise τ of their own. A member of direction (cos φ, sin φ) has accuracy Φ(d(cos φ + sin
// φ)/√(1+τ²)) and under the shift Φ(d(cos φ + 0.3 sin φ)/√(1+τ²)): in probit units one is a
// multiple of the other.
func Families(separation float64) lines.Models {
	var models lines.Models
	for _, f := range []struct {
		name  string
		angle float64
	}{{"first feature", 20}, {"second feature", 70}} {
		sin, cos := math.Sincos(f.angle * math.Pi / 180)
		for i := range 8 {
			d := separation / math.Sqrt(1+math.Pow(float64(i)/2.5, 2))
			models = append(models, lines.Model{Name: fmt.Sprintf("%s %d", f.name, i),
				Labels: map[string]string{"looks at": f.name}, Accuracies: map[string]lines.Accuracy{
					"accuracy":             {Share: lines.Phi(d * (cos + sin))},
					"accuracy under shift": {Share: lines.Phi(d * (cos + 0.3*sin))},
				}})
		}
	}
	return models
}

// RobustNets are the models of Fridovich-Keil et al. (2022), of $CERTSPEC_DATA/robustnets; whole is
// false where the file is not there, and drawn models stand in: 33 with the same labels and
// columns, whose accuracies scatter about a line for each shift.
func RobustNets() (models lines.Models, whole bool) {
	path := filepath.Join(os.Getenv("CERTSPEC_DATA"), "robustnets", "metric_and_OOD_var_dict.json")
	models, err := lines.Read(path, lines.CSV{})
	if !errors.Is(err, fs.ErrNotExist) {
		return nb.Must(models, err), true
	}
	nb.StandIn("Drawn models", "RobustNets", "set CERTSPEC_DATA to a folder with robustnets/"+filepath.Base(path))
	return drawn(), false
}

func drawn() lines.Models {
	rng := rand.New(rand.NewPCG(2, 33))
	shifts := append(CIFAR10C(), "cifar10c_acc", "cifar10.1_acc")
	predictors := []string{"consistent_distances_amp", "consistent_distances_phase", "high_freq_fracs_amp",
		"high_freq_fracs_between",
		"high_freq_fracs_phase", "high_freq_fracs_within", "jacobian_norm"}
	var models lines.Models
	for i, architecture := range []string{"Conv8", "ResNet18", "VGG16"} {
		for j := range 11 {
			method, sparsity := "dense", 0.
			if j > 0 {
				method, sparsity = []string{"lrr", "lth"}[(j-1)/5], []float64{.5, .6, .8, .9, .95}[(j-1)%5]
			}
			u := 1.2 + 0.15*float64(i) - 0.3*sparsity + 0.05*rng.NormFloat64()
			m := lines.Model{
				Name: fmt.Sprintf("drawn %s %s %g", architecture, method, sparsity),
				Labels: map[string]string{"architecture": architecture, "augmentation": "clean", "method": method,
					"layout": "globally", "sparsity": fmt.Sprint(sparsity)},
				Accuracies: map[string]lines.Accuracy{"cifar10_acc": {Share: lines.Phi(u), N: 10_000}},
				Numbers:    map[string]float64{},
			}
			for k, shift := range shifts {
				slope := 1 - 0.07*float64(k)
				m.Accuracies[shift] = lines.Accuracy{Share: lines.Phi(slope*u - 0.2 +
					0.02*float64(k)*rng.NormFloat64()), N: 50_000}
			}
			for k, name := range predictors {
				m.Numbers[name] = 1 + 0.1*float64(k)*rng.NormFloat64() + u
			}
			models = append(models, m)
		}
	}
	return models
}

// Testbed are the models of the ImageNet testbed, of $CERTSPEC_DATA/imagenet-testbed; none where the file is not there.
func Testbed() lines.Models {
	models, err := lines.Read(filepath.Join(os.Getenv("CERTSPEC_DATA"), "imagenet-testbed",
		"robustness_top1s.csv"), lines.CSV{})
	if errors.Is(err, fs.ErrNotExist) {
		nb.StandIn("Nothing", "the ImageNet testbed", "set CERTSPEC_DATA to a folder with it")
		return nil
	}
	return nb.Must(models, err)
}

// OnPath are some images on a path between two, in steps of equal number, clipped for the screen.
func OnPath(path spectral.Path, a, b []uint8, every int) (images [][]uint8, words []string) {
	points := nb.Must(path.Set(inUnits(a), inUnits(b)))
	values := make([]float64, len(a))
	for j := 0; j < points; j += every {
		path.Point(values, j)
		images, words = append(images, inBytes(values)), append(words, fmt.Sprintf("point %d", j))
	}
	return images, words
}

// Voters are six classifiers of ten classes, with their predictions on images with and without a
// shift, and the labels. Where they share errors an image is hard for all of them, as for networks;
// else each errs by itself.
func Voters(share bool) (id, shifted []lines.Predictions, labels, truth []int) {
	rng := rand.New(rand.NewPCG(1, 5))
	draw := func(images int, drop float64) (p []lines.Predictions, labels []int) {
		p = make([]lines.Predictions, 6)
		for range images {
			label, hard := rng.IntN(10), rng.NormFloat64()
			labels = append(labels, label)
			for k := range p {
				class, own := label, rng.NormFloat64()
				if share {
					own = 0.95*hard + 0.31*own
				}
				skill := 0.5 + 0.3*float64(k)
				if !share { // each meets the shift in its own way
					skill -= drop * float64((5*k)%6) / 2.5
				} else {
					skill -= drop
				}
				if skill < own {
					class = (label + 1 + rng.IntN(9)) % 10
				}
				p[k].Model, p[k].Classes = fmt.Sprintf("model %d", k), append(p[k].Classes, class)
			}
		}
		return p, labels
	}
	id, labels = draw(4000, 0)
	shifted, truth = draw(4000, 0.7)
	return id, shifted, labels, truth
}

// PointsAbove is how far the first model of zero-shot CLIP stands above a line, in points.
func PointsAbove(r *lines.Result, name string) string {
	for _, m := range r.Models {
		if strings.Contains(strings.ToLower(m.Name), name) {
			return fmt.Sprintf("%+.2f (%s)", 100*m.Robustness, m.Name)
		}
	}
	return "not there"
}

// CIFAR10C are the fifteen corruptions of CIFAR-10-C.
func CIFAR10C() []string { return nb.Must(corrupt.Names([]string{string(corrupt.C)})) }

// SpectraOfChange are the mean amplitude spectra of what six corruptions at a severity, AugMix and
// Gaussian augmentation change of images, as in figure 7 of Fridovich-Keil et al. (2022), with a
// table of their centroids.
func SpectraOfChange(images *dataset.Images, severity int) (*nb.Figure, *nb.Tabular) {
	var names []string
	var maps []*spectral.Map
	t := nb.Columns("what changes", "centroid, periods per image")
	add := func(name string, changed []uint8) {
		s := nb.Must(spectral.MeanSpectrum(nb.Context(), nb.Must(spectral.Difference(images.Shape, changed,
			images.Pixels)), nil))
		names, maps = append(names, printable.Name(name)), append(maps, logarithm(s.Amplitude))
		t.Add(printable.Name(name), nb.Must(s.Amplitude.Centroid()))
	}
	for _, name := range []string{"brightness", "contrast", "defocus_blur", "pixelate", "gaussian_noise",
		"impulse_noise"} {
		c := nb.Must(corrupt.New(corrupt.Setting{Name: name, Severity: severity}, images.Shape,
			corrupt.Key{Data: "CIFAR-10"}))
		changed := make([]uint8, len(images.Pixels))
		nb.Check(c.Images(nb.Context(), changed, images.Pixels, images.IDs, 0, nil))
		add(name, changed)
	}
	for _, name := range []string{"augmix", "gaussian"} {
		a := nb.Must(augment.Parse(name))
		var changed []uint8
		for i := range images.Len() {
			changed = append(changed, View(a, images.Shape, images.Image(i), augment.Address{Seed: 1,
				Image: uint64(images.IDs[i])})...)
		}
		add(name, changed)
	}
	return nb.HeatMaps(fmt.Sprintf("CIFAR-10, severity %d: mean amplitude of what shifts and augmentations change, by "+
		"frequency, as logarithm to base 10", severity), -1, 1.5, names, maps...), t
}

// Grouped are the testbed's models of the paper's figure 4: those of torchvision, those trained for
// robustness, and zero-shot CLIP.
func Grouped(testbed lines.Models) lines.Models {
	return slices.DeleteFunc(slices.Clone(testbed), func(m lines.Model) bool {
		return !slices.Contains([]string{"torchvision", "robustness", "clip"}, m.Labels["group"])
	})
}
