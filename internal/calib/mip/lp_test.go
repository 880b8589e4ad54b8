package mip

import (
	"strings"
	"testing"

	"github.com/certspec/certspec/calib"
)

// The worked example of section 4.4 of the specification, with bins of edges 0, .25, .75, 1 so that all numbers
// are short: written down by hand. Sample 1 (wrong, [.1, .6]) reaches bins 1 and 2, sample 2 (correct, [.5, .9])
// bins 2 and 3.
func TestWriteLP(t *testing.T) {
	p := must(New([]bool{false, true}, []float64{.1, .5}, []float64{.6, .9}, must(calib.NewBins([]float64{0, .25, .75, 1}, calib.LeftClosed))))
	var text strings.Builder
	if err := p.WriteLP(&text); err != nil {
		t.Fatal(err)
	}
	const want = `\ certified calibration error of 2 samples in 3 bins: the optimum / 2
Maximize
 obj: + 1 t_1 + 1 t_2 + 1 t_3
Subject To
 one_1: + 1 a_1_1 + 1 a_1_2 = 1
 one_2: + 1 a_2_2 + 1 a_2_3 = 1
 low_1_1: + 1 y_1_1 - 0.1 a_1_1 >= 0
 high_1_1: + 1 y_1_1 - 0.25 a_1_1 <= 0
 low_1_2: + 1 y_1_2 - 0.25 a_1_2 >= 0
 high_1_2: + 1 y_1_2 - 0.6 a_1_2 <= 0
 low_2_2: + 1 y_2_2 - 0.5 a_2_2 >= 0
 high_2_2: + 1 y_2_2 - 0.75 a_2_2 <= 0
 low_2_3: + 1 y_2_3 - 0.75 a_2_3 >= 0
 high_2_3: + 1 y_2_3 - 0.9 a_2_3 <= 0
 plus_1: + 1 t_1 - 1 y_1_1 <= 0
 minus_1: + 1 t_1 + 1 y_1_1 - 0.5 s_1 <= 0
 plus_2: + 1 t_2 - 1 y_1_2 - 1 y_2_2 + 1 a_2_2 + 1 s_2 <= 1
 minus_2: + 1 t_2 + 1 y_1_2 + 1 y_2_2 - 1 a_2_2 - 1.2 s_2 <= 0
 plus_3: + 1 t_3 - 1 y_2_3 + 1 a_2_3 + 0.5 s_3 <= 0.5
 minus_3: + 1 t_3 + 1 y_2_3 - 1 a_2_3 <= 0
Binary
 a_1_1 a_1_2 a_2_2 a_2_3 s_1 s_2
 s_3
End
`
	if got := text.String(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
