package papers

import (
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/printable"
)

// dataOf are the data of a folder's models, as titles name them.
func dataOf(m *store.Manifest) string {
	var names []string
	for _, model := range m.Models {
		if at, _, found := strings.Cut(model.Check, "/"); found {
			names = append(names, map[string]string{"cifar10-jpeg": "CIFAR-10", "fashionmnist": "FashionMNIST"}[at])
		}
	}
	if names = slices.Compact(names); len(names) != 1 {
		return ""
	}
	return names[0]
}

// Titles say of a tier what the folders of that tier say: data where all models have the same, network, n and α.
func TestSettingsAreThoseOfTheFolders(t *testing.T) {
	for of, folder := range map[string]string{"A evidence": "A-evidence", "A scratch": "A-scratch", "A radii": "A-scratch-radii", "A cpu": "A",
		"B cpu": "B", "C cpu": "C", "D evidence": "D-evidence"} {
		m, err := store.ReadManifest("../results/experiments/" + folder)
		if err != nil {
			t.Fatal(err)
		}
		data, named := dataOf(m), ""
		for _, name := range []string{"CIFAR-10", "FashionMNIST", "MNIST"} {
			if strings.HasPrefix(Settings[of], name) {
				named = name
			}
		}
		if named != data {
			t.Errorf("%s: titles name the data %q, all models are of %q", of, named, data)
		}
	}
	for of, folder := range map[string]string{"A evidence": "A-evidence", "A scratch": "A-scratch", "A radii": "A-scratch-radii", "A cpu": "A", "D evidence": "D-evidence"} {
		m, err := store.ReadManifest("../results/experiments/" + folder)
		if err != nil {
			t.Fatal(err)
		}
		certify, sign := m.Tier.Certify, " ≤ "
		if strings.HasPrefix(of, "D") {
			certify, sign = m.Tier.Calibration.Certify, " = "
		}
		network := map[string]string{"resnet20": "ResNet-20", "small-cnn": "small CNN"}[m.Models[0].Network]
		for _, word := range []string{network, "n" + sign + printable.Count(certify.N) + ",", "α = 0.001"} {
			if got := Settings[of]; word == "" || !strings.Contains(got, word) {
				t.Errorf("%s: %q, want %q in it", of, got, word)
			}
		}
		if certify.Alpha != 0 {
			t.Errorf("%s: α = %g", of, certify.Alpha)
		}
	}
}
