package nb

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// Where nobody can move a slider, a live figure shows the first choice; a move that is no choice is left out.
func TestLiveWithoutAReader(t *testing.T) {
	sent := page(t)
	t.Setenv(batchVariable, "1")
	sliders := []Slider{{Name: "a", Values: []string{"x", "y"}, Start: 1}, {Name: "b", Values: []string{"1", "2", "3"}}}
	var asked [][]float64
	sliders[1] = Slide("b", 0.5, 2, 3)
	Live(func(at ...float64) any {
		asked = append(asked, at)
		return Lines(Axes{Caption: "a line"})
	}, sliders...)
	if len(asked) != 1 || asked[0][0] != 1 || asked[0][1] != 0.5 || len(*sent) != 2 {
		t.Errorf("asked for %v, shown %d outputs", asked, len(*sent))
	}
	for move, want := range map[string]bool{"1,2": true, "0,0": true, "2,0": false, "1": false, "1,2,0": false, "1,x": false, "-1,0": false} {
		if _, ok := choice(move, sliders); ok != want {
			t.Errorf("%q is a choice: %v", move, ok)
		}
	}
	if code, _ := stopped(t, func() { Live(nil, Slider{Name: "a"}) }); code != 1 {
		t.Errorf("a slider without values: code %d", code)
	}
}

// A choice is computed once, however often the page repeats it; a page that waits gets its figure; a page that is
// silent is closed, however long a reader may think.
func TestLiveFollowsItsPage(t *testing.T) {
	defer func(a, b, c, d time.Duration) { firstSign, firstMove, nextMove, silence = a, b, c, d }(
		firstSign, firstMove, nextMove, silence)
	firstSign, firstMove, nextMove, silence = time.Hour, time.Hour, time.Hour, 50*time.Millisecond
	sliders := []Slider{{Name: "a", Values: []string{"x", "y", "z"}}}
	moves := make(chan string, 7)
	for _, move := range []string{"0", "?1", "1", "9", "?1", "2", "2"} {
		moves <- move
	}
	var shown, sent []string
	of := func(at []int) any {
		shown = append(shown, fmt.Sprint(at))
		return Lines(Axes{Caption: fmt.Sprint(at)})
	}
	last := follow(moves, sliders, []int{0}, of([]int{0}), of, func(v any) { sent = append(sent, v.(*Figure).Caption) }).(*Figure)
	if !slices.Equal(shown, []string{"[0]", "[1]", "[2]"}) || !slices.Equal(sent, []string{"[1]", "[1]", "[2]"}) ||
		last.Caption != "[2]" {
		t.Errorf("shown %v, sent %v, last %s", shown, sent, last.Caption)
	}
	firstMove, silence = 50*time.Millisecond, time.Hour // nobody moves a slider of an open page
	moves <- "0"
	if follow(moves, sliders, []int{0}, last, of, nil) != last || len(moves) != 0 {
		t.Error("a sign of the page counts as a move")
	}
	firstSign, firstMove = 50*time.Millisecond, time.Hour // no page
	if follow(moves, sliders, []int{0}, last, of, nil) != last {
		t.Error("a page that nobody opened is waited for")
	}
}
