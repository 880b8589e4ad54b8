package perturb

import (
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/rule"
)

// Three images of a ledger under two radii, counted by hand.
func TestSummarize(t *testing.T) {
	rows := rs.Rows{{Image: 1, Label: 0, Outcome: rule.Outcome{Class: 0, Radius: .3}}, {Image: 4, Label: 1, Outcome: rule.Outcome{Class: 1, Radius: .1}}, {Image: 6, Label: 1, Outcome: rule.Outcome{Class: rs.Abstain}}}
	outcomes := []Outcome{
		{Image: 1, Label: 0, Class: 0}, {Image: 1, Label: 0, Class: 0},
		{Image: 4, Label: 1, Class: 1}, {Image: 4, Label: 1, Class: 0},
		{Image: 6, Label: 1, Class: rs.Abstain}, {Image: 6, Label: 1, Class: 0},
	}
	two := 2.
	got := Summarize([]float64{0, .25}, rows, outcomes)
	want := []UnderAttack{{0, 2. / 3, 1, 0, 1, 3}, {.25, 1. / 3, 1 - two/3, 2, 0, 3}}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}

	run := &rs.Run{Rows: rows}
	images := &dataset.Images{Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, IDs: []int{4, 5, 6}, Labels: []int{1, 0, 1}, Pixels: []uint8{7, 8, 9}}
	both, of, err := InLedger(run, images.Indexed())
	if err != nil || both.Len() != 2 || both.IDs[1] != 6 || len(of) != 2 || of[0].Image != 4 {
		t.Errorf("%+v, %+v, %v; want the images 4 and 6", both, of, err)
	}
	images.Labels[0] = 0
	if _, _, err := InLedger(run, images.Indexed()); err == nil {
		t.Error("another label passes")
	}
	images.IDs = []int{10, 11, 12}
	if _, _, err := InLedger(run, images.Indexed()); err == nil {
		t.Error("other images pass")
	}
}
