package papers

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/nb"
)

// bands are ranges of accuracy, in percent, that networks are sorted into.
var bands = [][2]float64{{0, 30}, {30, 45}, {45, 60}, {60, 75}, {75, 85}, {85, 90}, {90, 100}}

// ByAccuracy sets networks trained without augmentation beside each other by their accuracy: those
// of the study, those of published.jsonl in its folder (measured on the same images) and released
// ones; for each range the mean, least and greatest HFF within classes, and the points of accuracy
// that Gaussian noise takes. Models without these two numbers are left out.
func (s *Study) ByAccuracy(released lines.Models) *nb.Tabular {
	t := nb.Columns("trained without augmentation", "accuracy, %", "networks", "HFF within classes",
		"lost to Gaussian noise, points")
	t.Title = "What a network has learned decides what its numbers say"
	kept := func(models lines.Models) lines.Models { return models.Where("augmentation", "clean") }
	for _, source := range []struct {
		name   string
		models lines.Models
	}{{"ours", kept(s.Models)}, {"published, on our images", s.Published}, {"released with the paper",
		kept(released)}} {
		for _, band := range bands {
			var fractions, losses []float64
			for _, m := range source.models {
				hff, measured := m.Numbers["high_freq_fracs_within"]
				noisy, corrupted := m.Accuracies["gaussian_noise"]
				if p := 100 * m.Accuracies[clean].Share; measured && corrupted && p >= band[0] && p < band[1] {
					fractions, losses = append(fractions, hff), append(losses, p-100*noisy.Share)
				}
			}
			if len(fractions) > 0 {
				t.Add(source.name, fmt.Sprintf("%.0f to %.0f", band[0], band[1]), len(fractions), spread(fractions, 3),
					spread(losses, 1))
			}
		}
	}
	t.Notes = []string{s.State() +
		". Mean over networks (least to greatest). Ours and the published ones: a JPEG copy of CIFAR-10, severities " +
		"1, 3 and 5; released: CIFAR-10 and all severities."}
	return t
}

// spread is the mean of values with the least and the greatest.
func spread(values []float64, digits int) string {
	sum := 0.
	for _, v := range values {
		sum += v
	}
	return printable.Ranged(sum/float64(len(values)), slices.Min(values), slices.Max(values), math.NaN(), digits)
}

// records reads a file of records in the study's folder, or nothing where there is none.
func records(folder, name string) lines.Models {
	models, err := lines.Read(filepath.Join(folder, name), lines.CSV{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return nb.Must(models, err)
}
