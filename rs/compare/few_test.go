package compare_test

import (
	"math"
	"slices"
	"testing"

	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
)

// Over few images intervals are Student's: the quantiles at 97.5 % are 2.045230 with 29 degrees of freedom, 3.182446 with
// 3 and 12.706205 with 1. Of 30 images of which 4 gain .3, the mean is .04 and the square of its standard error
// (4·.26² + 26·.04²)/(29·30).
func TestStudentOfFewImages(t *testing.T) {
	const n = 30
	of := func(gain float64, differ int) compare.Difference {
		a, b := make([]float64, n), make([]float64, n)
		for i := range a {
			a[i], b[i] = .5, .5
			if i < differ {
				b[i] += gain
			}
		}
		c, err := compare.Runs(t.Context(), correct(a...), correct(b...), nil, resample.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return c.ACR
	}
	for differ, quantile := range map[int]float64{0: 0, 1: 12.706205, 2: 12.706205, 4: 3.182446, 20: 2.045230} {
		mean := .3 * float64(differ) / n
		square := (float64(differ)*(.3-mean)*(.3-mean) + float64(n-differ)*mean*mean) / (n - 1) / n
		half := quantile * math.Sqrt(square)
		d := of(.3, differ)
		if math.Abs(d.Interval.Low-mean+half) > 1e-6 || math.Abs(d.Interval.High-mean-half) > 1e-6 || (d.P <= .05) != (half < mean) {
			t.Errorf("%d differ: %v, p = %v; want %v ± %v", differ, d.Interval, d.P, mean, half)
		}
	}
}

// Where all images but few are at the cap, those that were not drawn count: the upper 97.5 % bound of Clopper and Pearson
// on the share below it is 1 − .025^(1/30) = .115703 of none in 30, and .172169 of one.
func TestFewImagesBelowTheCap(t *testing.T) {
	const c = .5
	radii := slices.Repeat([]float64{c}, 30)
	i, err := compare.ACR(t.Context(), correct(radii...), resample.Options{})
	if err != nil || math.Abs(i.Low-c*(1-.115703)) > 1e-6 || i.High != c {
		t.Errorf("all at the cap: %v, %v", i, err)
	}
	radii[3] = .3
	i, err = compare.ACR(t.Context(), correct(radii...), resample.Options{})
	if mean := (29*c + .3) / 30; err != nil || math.Abs(i.Low-(mean-c*(.172169-1./30))) > 1e-6 || i.High < mean {
		t.Errorf("one below it: %v, %v", i, err)
	}
	// At 100 images with ten below it the bootstrap stays.
	many := append(slices.Repeat([]float64{c}, 90), slices.Repeat([]float64{.2}, 10)...)
	i, err = compare.ACR(t.Context(), correct(many...), resample.Options{Seed: 1})
	other, _ := compare.ACR(t.Context(), correct(many...), resample.Options{Seed: 1, Method: "percentile"})
	if err != nil || i != other || i.Low < c-.3*.17 || i.Low > c-.3*.15 { // 16 or 17 of 100 are drawn in the highest 2.5 %
		t.Errorf("ten of a hundred: %v, %v, %v", i, other, err)
	}
}
