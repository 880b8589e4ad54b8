package run

import (
	"testing"

	"github.com/certspec/certspec/internal/experiment/recipe"
)

// Every measure that a table can ask for has a runner.
func TestEveryMeasureHasARunner(t *testing.T) {
	for _, m := range recipe.Declared() {
		if runners[m.Name()] == nil {
			t.Errorf("%s has no runner", m.Name())
		}
	}
	if n := len(recipe.Declared()); len(runners) != n {
		t.Errorf("%d measures, %d runners", n, len(runners))
	}
}
