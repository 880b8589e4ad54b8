package results

import (
	"testing"

	"github.com/certspec/certspec/internal/study/measure"
)

// Every measure that a table can ask for has a reader, and no reader is of another.
func TestEveryMeasureHasAReader(t *testing.T) {
	for _, m := range measure.Declared() {
		readerOf(m) // panics where it is of another measure, or where there is none
	}
}
