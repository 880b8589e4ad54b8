package measure

import (
	"strings"
	"testing"
)

// Bounds that no file could hold are refused before anything is measured.
func TestBadBounds(t *testing.T) {
	for want, m := range map[string]Placed{
		`by the method "crow"`:        &Bound{Method: "crow"},
		`in the arithmetic "float32"`: &Bound{Arithmetic: "float32"},
		`of the images "count=5"`:     &Bound{Images: "count=5"},
		`attacks among "a/b"`:         &Attack{Among: "a/b"},
	} {
		if _, err := m.At(Setting{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// The measures stand in the order of their tables, each with a key of its own; certified radii come first.
func TestDeclared(t *testing.T) {
	var names []string
	for _, m := range Declared() {
		names = append(names, m.Name())
	}
	const want = "radius calibration ace agreement heatmap evaluate bound attack record kept"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("%s; expected %s", got, want)
	}
}
