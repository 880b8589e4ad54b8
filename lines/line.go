package lines

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
)

// Line is y = Slope·x + Intercept through N points, with R2 the squared correlation of x and y.
type Line struct {
	Slope     float64 `json:"slope"`
	Intercept float64 `json:"intercept"`
	R2        float64 `json:"r2"` // 0 where y does not vary
	N         int     `json:"models"`
}

// At is the line's value at x.
func (l Line) At(x float64) float64 { return l.Slope*x + l.Intercept }

// FewPoints says that a line was asked of fewer than three points, or of points with one x.
type FewPoints struct {
	N      int
	EqualX bool
}

func (e *FewPoints) Error() string {
	if e.EqualX {
		return fmt.Sprintf("lines: all %d points have the same x: no line", e.N)
	}
	return fmt.Sprintf("lines: %d points, want at least 3 for a line", e.N)
}

// LeastSquares is the ordinary, unweighted least-squares line with intercept:
//
//	slope = Σ(x−x̄)(y−ȳ) / Σ(x−x̄)²,  intercept = ȳ − slope·x̄,  R² = (Σ(x−x̄)(y−ȳ))² / (Σ(x−x̄)² Σ(y−ȳ)²),
//
// and R² = 0 where y does not vary. Errors: fewer than three points or one x as *FewPoints, lengths that differ, a
// value that is not finite.
func LeastSquares(x, y []float64) (Line, error) {
	if err := checkPoints(x, y); err != nil {
		return Line{}, err
	}
	intercept, slope := stat.LinearRegression(x, y, nil, false)
	l := Line{Slope: slope, Intercept: intercept, N: len(x)}
	if constant(y) {
		l.Slope, l.Intercept = 0, y[0]
		return l, nil
	}
	r := stat.Correlation(x, y, nil)
	l.R2 = min(r*r, 1)
	return l, nil
}

func checkPoints(x, y []float64) error {
	if len(x) != len(y) {
		return fmt.Errorf("lines: %d x and %d y", len(x), len(y))
	}
	for i := range x {
		if v := x[i] + y[i]; math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("lines: point %d is (%v, %v), want finite numbers", i, x[i], y[i])
		}
	}
	switch {
	case len(x) < 3:
		return &FewPoints{N: len(x)}
	case constant(x):
		return &FewPoints{N: len(x), EqualX: true}
	}
	return nil
}

func constant(v []float64) bool {
	for _, w := range v[1:] {
		if w != v[0] {
			return false
		}
	}
	return true
}

// Deming is the line through points whose x and y both carry errors, with ratio δ the variance of y's errors over that
// of x's (Deming 1943):
//
//	slope = (s_yy − δ s_xx + √((s_yy − δ s_xx)² + 4 δ s_xy²)) / (2 s_xy).
//
// It takes all scatter about the line for such errors. Errors: those of LeastSquares, a ratio that is not positive,
// and x and y that do not vary together.
func Deming(x, y []float64, ratio float64) (Line, error) {
	if err := checkPoints(x, y); err != nil {
		return Line{}, err
	}
	if !(ratio > 0) || math.IsInf(ratio, 0) {
		return Line{}, fmt.Errorf("lines: Deming line with ratio %v of error variances, want a positive number", ratio)
	}
	mx, my := stat.Mean(x, nil), stat.Mean(y, nil)
	sxx, syy := stat.Variance(x, nil), stat.Variance(y, nil)
	sxy := stat.Covariance(x, y, nil)
	if sxy == 0 {
		return Line{}, fmt.Errorf("lines: x and y do not vary together: no Deming line")
	}
	d := syy - ratio*sxx
	slope := (d + math.Sqrt(d*d+4*ratio*sxy*sxy)) / (2 * sxy)
	r := stat.Correlation(x, y, nil)
	return Line{Slope: slope, Intercept: my - slope*mx, R2: min(r*r, 1), N: len(x)}, nil
}

// probitVariance is the variance of the sampling error of Φ⁻¹(k/n) by the delta method, p(1−p)/(n φ(z)²).
func probitVariance(p float64, n int) float64 {
	z := Probit(p)
	phi := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	return p * (1 - p) / (float64(n) * phi * phi)
}

// reliability is 1 − mean(v)/variance(x), the share of the variance of x that is not sampling error v (one value a
// point): an ordinary least-squares slope is too flat by about this factor. It is 0 where sampling error could
// explain all of it.
func reliability(x, v []float64) float64 {
	return max(0, 1-stat.Mean(v, nil)/stat.Variance(x, nil))
}
