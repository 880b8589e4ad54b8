package nb

import (
	"testing"
)

// Where nobody can move a slider, a live figure is that of the first choice; a move that is no choice is left out.
func TestLiveWithoutAReader(t *testing.T) {
	sent := page(t)
	t.Setenv(batchVariable, "1")
	sliders := []Slider{{Name: "a", Values: []string{"x", "y"}, Start: 1}, {Name: "b", Values: []string{"1", "2", "3"}}}
	var asked [][]int
	Live(sliders, func(at []int) *Figure {
		asked = append(asked, at)
		return Lines(Axes{Caption: "a line"})
	})
	if len(asked) != 1 || asked[0][0] != 1 || asked[0][1] != 0 || len(*sent) != 2 {
		t.Errorf("asked for %v, shown %d outputs", asked, len(*sent))
	}
	for move, want := range map[string]bool{"1,2": true, "0,0": true, "2,0": false, "1": false, "1,2,0": false, "1,x": false, "-1,0": false} {
		if _, ok := choice(move, sliders); ok != want {
			t.Errorf("%q is a choice: %v", move, ok)
		}
	}
	if code, _ := stopped(t, func() { Live([]Slider{{Name: "a"}}, nil) }); code != 1 {
		t.Errorf("a slider without values: code %d", code)
	}
}
