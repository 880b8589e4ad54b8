package papers

import (
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/printable"
)

// What titles say of a tier is what the folders of that tier say.
func TestSettingsAreThoseOfTheFolders(t *testing.T) {
	for of, folder := range map[string]string{"A evidence": "A-evidence", "A scratch": "A-scratch", "A cpu": "A",
		"best evidence": "A-evidence", "from evidence-long": "long-evidence", "D evidence": "D-evidence"} {
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
