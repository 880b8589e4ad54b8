//go:build external

package external

import (
	"maps"
	"slices"
	"testing"

	"github.com/certspec/certspec/internal/testkit/drawnet"
)

// The operators that drawnet draws have all attributes that ONNX's own table gives them in opsets 7 to 25, and no others.
func TestExternalDrawnOperators(t *testing.T) {
	var attributes map[string][]string
	python(t, `
import onnx.defs
answer = {}
for op in arg:
    forms = [s for s in onnx.defs.get_all_schemas_with_history() if s.name == op and s.domain == ""]
    first = max((s.since_version for s in forms if s.since_version <= 7), default=7)
    answer[op] = sorted({name for s in forms if first <= s.since_version <= 25 for name in s.attributes})`, slices.Sorted(maps.Keys(drawnet.Operators)), &attributes)
	for op, drawn := range drawnet.Operators {
		if want := attributes[op]; !slices.Equal(slices.Sorted(maps.Keys(drawn)), want) {
			t.Errorf("%s: drawn with %v; ONNX has %v", op, slices.Sorted(maps.Keys(drawn)), want)
		}
	}
}
