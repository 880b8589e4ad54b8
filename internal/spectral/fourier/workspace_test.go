package fourier

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// What a transform leaves in a workspace, even if it is not finite, has no part in the next one, to the last bit.
func TestWorkspaceHasNoMemory(t *testing.T) {
	for _, side := range [][2]int{{1, 1}, {2, 3}, {13, 7}, {28, 28}, {32, 32}, {37, 53}, {53, 37}, {31, 64}} {
		p, err := NewPlan[float64](side[0], side[1])
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		plane, got, spectrum := make([]float64, side[0]*side[1]), make([]float64, side[0]*side[1]), NewSpectrum[float64](p.Half())
		for i := range plane {
			plane[i] = r.NormFloat64()
		}
		round := func(w *Workspace[float64]) ([]float64, Spectrum[float64]) {
			p.Forward(w, spectrum, plane)
			p.Inverse(w, got, spectrum)
			return slices.Clone(got), Spectrum[float64]{slices.Clone(spectrum.Re), slices.Clone(spectrum.Im)}
		}
		want, wantSpectrum := round(p.NewWorkspace())
		for _, stale := range []float64{math.NaN(), 1e300, 1} {
			w := p.NewWorkspace()
			for _, room := range [][]float64{w.re, w.im, w.re2, w.im2, w.rows[0], w.rows[1], w.rows[2], w.rows[3], w.scratch} {
				for i := range room {
					room[i] = stale
				}
			}
			again, s := round(w)
			if !slices.Equal(again, want) || !slices.Equal(s.Re, wantSpectrum.Re) || !slices.Equal(s.Im, wantSpectrum.Im) {
				t.Errorf("%v: another result where %v stood in the workspace", side, stale)
			}
		}
	}
}
