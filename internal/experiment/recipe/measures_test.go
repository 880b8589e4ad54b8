package recipe

import (
	"encoding/json"
	"strings"
	"testing"
)

// A manifest of a newer program may ask for a measure that this one does not have.
func TestUnknownMeasureOfAManifest(t *testing.T) {
	var m Measures
	err := json.Unmarshal([]byte(`{"clean": true, "newer": {"n": 1}}`), &m)
	if err == nil || !strings.Contains(err.Error(), `no measure "newer"`) {
		t.Errorf("%v", err)
	}
}
