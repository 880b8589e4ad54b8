package store

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/rule"
	"github.com/certspec/certspec/study"
)

func FuzzRadii(f *testing.F) {
	form, _ := study.FormOf(".csv")
	f.Add([]byte("image,label,clean,fog-3\n0,1,0.25,a\n5,0,x,\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		columns, err := form.ReadColumns(text, "")
		if err != nil {
			return
		}
		kept := form.Text(columns)
		again, err := form.ReadColumns(kept, "")
		if err != nil || !bytes.Equal(form.Text(again), kept) {
			t.Fatalf("%q is read back as %q: %v", kept, form.Text(again), err)
		}
	})
}

// A wrong answer, an abstention and a right one are told apart; an image without a label is none.
func TestColumnOf(t *testing.T) {
	rows := rs.Rows{{Image: 7, Label: 2, Outcome: rule.Outcome{Class: 2, Radius: .5}}, {Image: 3, Label: 9, Outcome: rule.Outcome{Class: 1, Radius: .7}}, {Image: 5, Label: 0, Outcome: rule.Outcome{Class: rs.Abstain}}, {Image: 4, Label: -1, Outcome: rule.Outcome{Class: 3, Radius: 1}}}
	c := study.ColumnOf(study.Key{Set: "clean"}, rows, radius)
	if !slices.Equal(c.Images, []int{3, 5, 7}) || !slices.Equal(c.Labels, []int{9, 0, 2}) ||
		!slices.Equal(c.Marks, []string{"x", "a", ""}) || c.Values[2] != .5 ||
		!math.IsNaN(c.Values[0]) || !math.IsNaN(c.Values[1]) {
		t.Errorf("%+v", c)
	}
}
