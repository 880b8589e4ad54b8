package lines

import (
	"gonum.org/v1/gonum/stat"
)

// Influence is what one point does to a least-squares line through n points.
type Influence struct {
	Residual float64 `json:"residual"` // y − (slope·x + intercept)
	Leverage float64 `json:"leverage"` // h = 1/n + (x−x̄)²/Σ(x−x̄)²
	// Cook's distance e² h / (2 s² (1−h)²), s² = Σe²/(n−2); 0 where the line is perfect
	Cook    float64 `json:"cook"`
	Without Line    `json:"without"` // the line through the other points; zero where they have none
}

// Influences is the influence of each point (Cook 1977). Errors: those of LeastSquares.
func Influences(x, y []float64) (Line, []Influence, error) {
	line, err := LeastSquares(x, y)
	if err != nil {
		return Line{}, nil, err
	}
	n := float64(len(x))
	mean := stat.Mean(x, nil)
	sxx, sse := 0.0, 0.0
	out := make([]Influence, len(x))
	for i := range x {
		out[i].Residual = y[i] - line.At(x[i])
		sxx += (x[i] - mean) * (x[i] - mean)
		sse += out[i].Residual * out[i].Residual
	}
	variance := sse / (n - 2)
	ox, oy := make([]float64, len(x)-1), make([]float64, len(x)-1)
	for i := range x {
		p := &out[i]
		p.Leverage = min(1, 1/n+(x[i]-mean)*(x[i]-mean)/sxx)
		if rest := 1 - p.Leverage; variance > 0 && rest > 1e-12 {
			p.Cook = p.Residual * p.Residual * p.Leverage / (2 * variance * rest * rest)
		}
		copy(ox, x[:i])
		copy(ox[i:], x[i+1:])
		copy(oy, y[:i])
		copy(oy[i:], y[i+1:])
		if l, err := LeastSquares(ox, oy); err == nil {
			p.Without = l
		}
	}
	return line, out, nil
}

// Incremental is what a second predictor adds to a line: R² of y on both, minus R² of y on the first. Floor is what a
// useless predictor adds on average in the sample, (1−R²)/(n−2).
type Incremental struct {
	R2    float64 `json:"r2"`    // of the first predictor alone
	Added float64 `json:"added"` // by the second
	Floor float64 `json:"floor"`
	N     int     `json:"models"`
}

// Increment fits y on x, and on x and w, by least squares with intercept. Errors: those of LeastSquares, and *FewPoints
// for fewer than four points. A w that is a multiple of x, or constant, adds 0.
func Increment(x, w, y []float64) (Incremental, error) {
	first, err := LeastSquares(x, y)
	if err != nil {
		return Incremental{}, err
	}
	if err := checkPoints(w, y); err != nil && !isEqualX(err) {
		return Incremental{}, err
	}
	n := len(x)
	if n < 4 {
		return Incremental{}, &FewPoints{N: n}
	}
	out := Incremental{R2: first.R2, Floor: (1 - first.R2) / float64(n-2), N: n}
	// The part of w that x does not explain, and how much of y's residual it explains (Frisch and Waugh 1933).
	wx, err := LeastSquares(x, w)
	if err != nil {
		return Incremental{}, err
	}
	rw, ry := make([]float64, n), make([]float64, n)
	for i := range x {
		rw[i], ry[i] = w[i]-wx.At(x[i]), y[i]-first.At(x[i])
	}
	sw, sy := stat.Variance(rw, nil), stat.Variance(ry, nil)
	scale := stat.Variance(w, nil)
	if sw <= 1e-24*scale || sw == 0 || sy == 0 {
		return out, nil
	}
	c := stat.Covariance(rw, ry, nil)
	out.Added = (1 - first.R2) * c * c / (sw * sy)
	return out, nil
}

func isEqualX(err error) bool {
	few, ok := err.(*FewPoints)
	return ok && few.EqualX
}
