package recipe

import (
	"encoding/json"
	"strings"
	"testing"
)

// Bounds that no file could hold are refused before anything is measured.
func TestBadBounds(t *testing.T) {
	for want, m := range map[string]interface{ at(*Setup) (Measure, error) }{
		`by the method "crow"`:        &Bound{Method: "crow"},
		`in the arithmetic "float32"`: &Bound{Arithmetic: "float32"},
		`of the images "count=5"`:     &Bound{Images: "count=5"},
		`attacks among "a/b"`:         &Attack{Among: "a/b"},
	} {
		if _, err := m.at(&Setup{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// A manifest of a newer program may ask for a measure that this one does not have.
func TestUnknownMeasureOfAManifest(t *testing.T) {
	var m Measures
	err := json.Unmarshal([]byte(`{"clean": true, "newer": {"n": 1}}`), &m)
	if err == nil || !strings.Contains(err.Error(), `no measure "newer"`) {
		t.Errorf("%v", err)
	}
}
