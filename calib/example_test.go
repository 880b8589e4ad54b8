package calib_test

import (
	"fmt"
	"strings"

	"github.com/certspec/certspec/calib"
)

// Four predictions, all in the bin [½, 1]: mean confidence .825, accuracy .5.
var (
	right      = []bool{true, true, false, false}
	confidence = []float64{.9, .9, .9, .6}
)

// Two intervals in which confidences are certified to stay, of a right prediction and of a wrong one.
var (
	hits         = []bool{true, false}
	lower, upper = []float64{.5, .2}, []float64{.9, .6}
)

func ExampleUniform() {
	bins, _ := calib.Uniform(4, calib.LeftClosed)
	fmt.Println(bins.Edges())
	// Output: [0 0.25 0.5 0.75 1]
}

func ExampleNewBins() {
	bins, err := calib.NewBins([]float64{0, .5, .9, 1}, calib.LeftClosed)
	fmt.Println(bins.Len(), err)
	// Output: 3 <nil>
}

func ExampleAccuracy() {
	share, _ := calib.Accuracy(right)
	fmt.Println(share)
	// Output: 0.5
}

func ExampleECE() {
	bins, _ := calib.Uniform(2, calib.LeftClosed)
	ece, _ := calib.ECE(right, confidence, bins)
	fmt.Printf("%.3f\n", ece)
	// Output: 0.325
}

func ExampleAdaECE() {
	// Two bins of two samples: confidence .6 with accuracy .5, and .9 with 1.
	ece, _ := calib.AdaECE([]bool{true, false, true, true}, []float64{.6, .6, .9, .9}, 2)
	fmt.Printf("%.3f\n", ece)
	// Output: 0.100
}

func ExampleBrier() {
	// (.2² + .3²)/2
	brier, _ := calib.Brier([]bool{true, false}, []float64{.8, .3})
	fmt.Printf("%.3f\n", brier)
	// Output: 0.065
}

func ExampleReliability() {
	bins, _ := calib.Uniform(2, calib.LeftClosed)
	bars, _ := calib.Reliability(right, confidence, bins)
	for _, b := range bars {
		fmt.Printf("%g to %g: %d samples, gap %+.3f\n", b.Lower, b.Upper, b.Count, b.Gap)
	}
	// Output:
	// 0 to 0.5: 0 samples, gap +0.000
	// 0.5 to 1: 4 samples, gap +0.325
}

func ExampleExactCCE() {
	// In one bin, the confidences sum to .7 to 1.5 and one prediction is right: at most |1 − 1.5|/2.
	worst, _ := calib.ExactCCE(hits, lower, upper, []float64{0, 1})
	fmt.Printf("%.3f\n", worst.CCE)
	// Output: 0.250
}

func ExampleCertifiedBrier() {
	// Largest where the right one has .5 and the wrong one .6.
	score, gap, _ := calib.CertifiedBrier(hits, lower, upper)
	fmt.Printf("%.3f %.3f\n", score, gap)
	// Output: 0.305 0.550
}

func ExampleBrierConfidences() {
	z := make([]float64, 2)
	calib.BrierConfidences(z, hits, lower, upper)
	fmt.Println(z)
	// Output: [0.5 0.6]
}

func ExampleSummarize() {
	bins, _ := calib.Uniform(1, calib.LeftClosed)
	s, _, err := calib.Summarize(hits, nil, lower, upper, bins)
	fmt.Printf("CCE %.3f, Brier score at most %.3f, mean width %.1f %v\n", s.CCE, s.CBS, s.MeanWidth, err)
	// Output: CCE 0.250, Brier score at most 0.305, mean width 0.4 <nil>
}

func ExampleReadCSV() {
	table, err := calib.ReadCSV("mine.csv", strings.NewReader("correct,confidence\n1,0.9\n0,0.6\n"))
	fmt.Println(table.Correct, table.Confidence, err)
	// Output: [true false] [0.9 0.6] <nil>
}

func ExampleMeasure() {
	bins, _ := calib.Uniform(15, calib.LeftClosed)
	m, _ := calib.Measure(right, confidence, bins)
	fmt.Printf("accuracy %.2f, ECE %.3f, Brier %.4f\n", m.Accuracy, m.ECE, m.Brier)
	// Output: accuracy 0.50, ECE 0.325, Brier 0.2975
}

func ExampleClaim() {
	// Two images certified of three that were attempted, each false with probability 0.002 at most.
	bins, _ := calib.Uniform(1, calib.LeftClosed)
	c, _ := calib.Claim(hits, lower, upper, bins, 3, .002, .001)
	fmt.Printf("where all hold %.2f; at most %d false: %.2f\n", c.CCE, c.Failures, c.Joint)
	// Output: where all hold 0.25; at most 1 false: 0.80
}
