package notebook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Figures of drawn data are saved at tier fast alone.
func TestStandInsAreNotSaved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.ipynb")
	for text, refused := range map[string]bool{"fashionmnist/test": false, "synthetic/test[count=200]": true} {
		content := `{"cells": [{"source": "", "outputs": [{"data": {"text/plain": "` + text + `"}}]}]}`
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		for tier, drawn := range map[string]bool{"": refused, "paper": refused, "fast": false} {
			err := refuseStandIns("a.ipynb", file, tier)
			if (err != nil) != drawn || drawn && !strings.Contains(err.Error(), "certspec dataset fetch") {
				t.Errorf("%s at tier %q: %v", text, tier, err)
			}
		}
	}
}
