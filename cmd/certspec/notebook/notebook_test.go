package notebook

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// Figures of drawn data are saved at tier fast alone.
func TestStandInsAreNotSaved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.ipynb")
	for text, refused := range map[string]bool{"fashionmnist/test": false, "synthetic/test[count=200]": true} {
		content := `{"cells": [{"source": "", "outputs": [{"data": {"text/plain": "` + text + `"}}]}]}`
		testkit.Write(t, []byte(content), file)
		for tier, drawn := range map[string]bool{"": refused, "paper": refused, "fast": false} {
			err := refuseStandIns("a.ipynb", file, tier)
			if (err != nil) != drawn || drawn && !strings.Contains(err.Error(), "certspec dataset fetch") {
				t.Errorf("%s at tier %q: %v", text, tier, err)
			}
		}
	}
}
