package results

import (
	"testing"

	"github.com/certspec/certspec/internal/experiment/recipe"
)

// Every measure that a table can ask for has a reader, and no reader is of another.
func TestEveryMeasureHasAReader(t *testing.T) {
	for _, m := range recipe.Declared() {
		if readers[m.Name()] == nil {
			t.Errorf("%s has no reader", m.Name())
			continue
		}
		readerOf(m) // panics where it is of another measure
	}
	if n := len(recipe.Declared()); len(readers) != n {
		t.Errorf("%d measures, %d readers", n, len(readers))
	}
}
