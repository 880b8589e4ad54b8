package study

import (
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	for name, want := range map[string]string{"arc": "did you mean acr", "ca x": "no number", "ca ": "no number",
		"ca NaN": "no number", "": "no measure"} {
		if _, err := Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected %q", name, err, want)
		}
	}
	q, err := Find("ca 0.25")
	if err != nil || q.Unit != share || q.Capped {
		t.Fatal(q, err)
	}
	column := &Column{Values: []float64{0.25, 0.2, 1}, Marks: []string{"", "", wrong}}
	for i, want := range []float64{1, 0, 0} {
		if got := q.Each([]*Column{column}, i); got != want {
			t.Errorf("image %d: %v", i, got)
		}
	}
}
