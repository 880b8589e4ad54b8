package noise_test

import (
	"fmt"
	"log"

	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/noise"
)

// Float noise certifies a radius that is false; noise on the grid does not.
//
// The classifier answers A iff its float64 input is a float32 value. Around x = 0, noise that
// is drawn in float32 gives nothing else, so the usual procedure certifies 3.81σ. At 2⁻⁴⁰,
// far inside that radius, hardly any noise sample is A. On the grid the network sees
// round(255v)/255 only, which is the same function at both points: the certificate speaks of that
// function, and it is true.
func Example_soundness() {
	isFloat32 := func(v float64) bool { return float64(float32(v)) == v }
	const n, sigma = 100_000, 0.25
	radius := func(hits int) float64 {
		p, err := bound.Lower(hits, n, 0.001)
		if err != nil {
			log.Fatal(err)
		}
		r, err := bound.Radius(sigma, p)
		if err != nil {
			log.Fatal(err)
		}
		return r
	}
	at := noise.Address{Seed: 1}

	gaussian, err := noise.NewGaussian(sigma)
	if err != nil {
		log.Fatal(err)
	}
	values := make([]float32, n)
	gaussian.AddTo(values, []int16{0}, at, 0)
	atZero, near := 0, 0
	for _, v := range values {
		if isFloat32(0 + float64(v)) {
			atZero++
		}
		if isFloat32(0x1p-40 + float64(v)) {
			near++
		}
	}
	fmt.Printf("float noise: radius %.4f at 0; at a distance of 10⁻¹² the class has %.1f %% of the votes\n",
		radius(atZero), 100*float64(near)/n)

	grid, err := noise.NewGrid(sigma)
	if err != nil {
		log.Fatal(err)
	}
	steps := make([]int16, n)
	if _, err := grid.AddTo(steps, []int16{0}, at, 0, nil); err != nil {
		log.Fatal(err)
	}
	votes := 0
	for _, z := range steps {
		if isFloat32(float64(z) / 255) {
			votes++
		}
	}
	fmt.Printf("grid noise: %.1f %% of the votes, radius %.4f\n", 100*float64(votes)/n, radius(votes))
	// Output:
	// float noise: radius 0.9529 at 0; at a distance of 10⁻¹² the class has 0.0 % of the votes
	// grid noise: 0.7 % of the votes, radius 0.0000
}
