package rstest

import (
	"testing"

	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/confidences"
)

func TestScoredLedger(t *testing.T) {
	path, err := ScoredLedger(t.Context(), t.TempDir(), 60, 400)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := rs.Verify(t.Context(), path); err != nil || v.Images != 60 || v.Scores != "hold" {
		t.Errorf("%+v, %v", v, err)
	}
	c, err := confidences.Certify(t.Context(), path, []float64{0, .1}, confidences.Options{})
	if err != nil || len(c) != 2 || len(c[0].Images) != 60 || c[0].Of != 60 {
		t.Fatalf("%+v, %v", c, err)
	}
	// The sixth image has a logit of 1 before noise of deviation 1: E[sigmoid(1 + ξ)] = 0.696735.
	if z := c[0].Confidence[5]; z < .69 || z > .70 {
		t.Errorf("confidence %v, want .697", z)
	}
}
