package store

import (
	"slices"
	"testing"

	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/rule"
)

func FuzzRadii(f *testing.F) {
	f.Add([]byte("image,label,clean,fog-3\n0,1,0.25,a\n5,0,x,\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := DecodeRadii(text)
		if err != nil {
			return
		}
		again, err := DecodeRadii(r.encode())
		if err != nil {
			t.Fatalf("%q: %v", r.encode(), err)
		}
		for _, cell := range r.Cells {
			if !slices.Equal(r.Outcomes(cell), again.Outcomes(cell)) {
				t.Errorf("%s is read back as %v", cell, again.Outcomes(cell))
			}
		}
	})
}

// A wrong answer, an abstention and a right one are told apart, in a file and read back.
func TestOutcomes(t *testing.T) {
	rows := rs.Rows{{Image: 7, Label: 2, Outcome: rule.Outcome{Class: 2, Radius: .5}}, {Image: 3, Label: 9, Outcome: rule.Outcome{Class: 1, Radius: .7}}, {Image: 5, Label: 0, Outcome: rule.Outcome{Class: rs.Abstain}}, {Image: 4, Label: -1, Outcome: rule.Outcome{Class: 3, Radius: 1}}}
	of := outcomes(rows, radius)
	want := Outcomes{{3, 9, Wrong, 0}, {5, 0, Abstained, 0}, {7, 2, Right, .5}}
	if len(of) != 3 || of[0] != want[0] || of[1] != want[1] || of[2] != want[2] || of.ACR() != .5/3 {
		t.Errorf("%+v, ACR %v", of, of.ACR())
	}
	r := &Radii{}
	r.Set("clean", of)
	back, err := DecodeRadii(r.encode())
	if err != nil || back.Outcomes("clean")[0] != want[0] || back.Outcomes("clean")[1] != want[1] || back.Outcomes("clean")[2] != want[2] {
		t.Errorf("%+v, %v", back, err)
	}
}
