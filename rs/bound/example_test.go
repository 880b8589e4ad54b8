package bound_test

import (
	"fmt"

	"github.com/certspec/certspec/rs/bound"
)

func ExampleLower() {
	// All of 100: p ≥ .001^(1/100).
	p, _ := bound.Lower(100, 100, .001)
	fmt.Printf("%.4f\n", p.Down())
	// Output: 0.9333
}

func ExampleUpper() {
	// None of 100: 1 minus that.
	p, _ := bound.Upper(0, 100, .001)
	fmt.Printf("%.4f\n", p.Up())
	// Output: 0.0667
}

func ExampleCertificate() {
	p, _ := bound.Lower(100, 100, .001)
	lower, radius, _ := bound.Certificate(.25, p)
	fmt.Printf("%.4f %.4f\n", lower, radius) // .25·Φ⁻¹(.93325…)
	// Output: 0.9333 0.3751
}

func ExampleThreshold() {
	// A radius of one σ needs Φ(1).
	p, _ := bound.Threshold(.25, .25)
	fmt.Printf("%.6f\n", p.P)
	// Output: 0.841345
}

func ExampleQuantile() {
	q, _ := bound.Quantile(bound.Probability{P: .5, Q: .5})
	fmt.Println(q)
	// Output: 0
}

func ExampleLeastCount() {
	// Ten of ten happen with probability 1/1024 < .001 at one half, nine of ten more often.
	k, ok, _ := bound.LeastCount(10, .001)
	fmt.Println(k, ok)
	_, ok, _ = bound.LeastCount(9, .001)
	fmt.Println(ok)
	// Output:
	// 10 true
	// false
}

func ExampleTopTwoPValue() {
	p, _ := bound.TopTwoPValue(10, 0)
	fmt.Printf("%.6f\n", p) // 2/1024
	// Output: 0.001953
}

func ExampleNewMixture() {
	// What validity at any time costs where all of 100,000 noise samples hit.
	const n, alpha = 100_000, .001
	once, _ := bound.Lower(n, n, alpha)
	m, _ := bound.NewMixture(alpha, 60)
	ever, _ := m.Lower(n, n)
	a, _ := bound.Radius(1, once)
	b, _ := bound.Radius(1, ever)
	fmt.Printf("%.3fσ to %.3fσ, %.2f %%\n", a, b, 100*(1-b/a))
	// Output: 3.811σ to 3.810σ, 0.03 %
}
