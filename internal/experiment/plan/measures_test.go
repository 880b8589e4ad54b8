package plan

import (
	"testing"

	"github.com/certspec/certspec/internal/experiment/recipe"
)

// Every measure that a table can ask for has jobs, and no jobs are of another.
func TestEveryMeasureHasJobs(t *testing.T) {
	for _, m := range recipe.Declared() {
		if planners[m.Name()] == nil {
			t.Errorf("%s has no jobs", m.Name())
			continue
		}
		plannerOf(m) // panics where they are of another measure
	}
	if n := len(recipe.Declared()); len(planners) != n {
		t.Errorf("%d measures, jobs of %d", n, len(planners))
	}
}
