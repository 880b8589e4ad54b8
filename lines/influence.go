package lines

import (
	"gonum.org/v1/gonum/stat"
)

// Influence of one point on a least-squares line through n points.
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
