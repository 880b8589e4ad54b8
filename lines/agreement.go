package lines

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/resample"
)

// Agreement holds estimates by predictions without labels of accuracy under a shift (Baek et al. 2022,
// "Agreement on the line"): where models lie on the line, their pairwise agreement does, too, with nearly the
// same slope and intercept.
type Agreement struct {
	// probit of agreement under the shift on probit of agreement without it, over all pairs
	Line     Line            `json:"line"`
	Reliable bool            `json:"reliable"` // R² of that line is at least LeastAgreement
	Clip     string          `json:"clip"`
	Sampling string          `json:"sampling"` // what the intervals took for random, and how
	Models   []AgreedModel   `json:"models"`
	Pairs    []AgreementPair `json:"pairs"`
}

// LeastAgreement is the R² of the agreement line below which its estimates are marked as unreliable (Baek et al. 2022,
// section 4).
const LeastAgreement = 0.95

// AgreedModel is one model's accuracy without shift, and the two estimates of its accuracy under it.
type AgreedModel struct {
	Name string   `json:"name"`
	ID   Accuracy `json:"-"`
	X    float64  `json:"id_accuracy"`
	S    float64  `json:"aline_s"` // Φ(a·Φ⁻¹(accuracy) + b) by the agreement line's a and b
	D    float64  `json:"aline_d"` // from least squares over all pairs

	SInterval *Interval `json:"aline_s_interval,omitempty"`
	DInterval *Interval `json:"aline_d_interval,omitempty"`

	Truth *float64 `json:"truth,omitempty"` // accuracy under the shift, where labels were given
}

// AgreementPair is the share of images on which two models give the same class.
type AgreementPair struct {
	A       string  `json:"a"`
	B       string  `json:"b"`
	ID      float64 `json:"id"`
	Shifted float64 `json:"shifted"`
}

// Agree estimates the accuracy of each model under a shift without labels of the shifted images. id and shifted are the
// predictions of the same models in the same order. labels are for the set without shift. truth, if not nil, holds
// the labels of the shifted set.
//
// ALine-S maps the accuracy without shift through the agreement line. ALine-D solves, by least squares over all pairs i
// < j,
//
//	½(z_i + z_j) = Φ⁻¹(G′_ij) + a·(½(Φ⁻¹A_i + Φ⁻¹A_j) − Φ⁻¹G_ij)
//
// for z_i, the probit of the accuracy under the shift. A is accuracy, G agreement without shift, G′ agreement under it,
// a the line's slope.
//
// Intervals are over images, of both sets by themselves or, if they are the same images, together; the models are
// given. They do not hold the error of the method, that accuracies and agreements have one line. Reliable says whether
// that is to be expected.
//
// Errors: fewer than three models, sets of other models or lengths, no images, pairs that agree equally often without
// the shift (*FewPoints), options of the bootstrap, that of ctx.
func Agree(ctx context.Context, id, shifted []Predictions, labels, truth []int, o AgreeOptions) (*Agreement, error) {
	out, err := agree(id, shifted, labels, truth, o.Clip)
	if err != nil {
		return nil, err
	}
	out.Sampling = "none"
	if !o.NoIntervals {
		err = out.intervals(ctx, id, shifted, labels, o)
	}
	return out, err
}

// AgreeOptions say how agreement is estimated.
type AgreeOptions struct {
	Clip        Clip
	SameImages  bool // both sets are of the same images in the same order, as a test set and a corruption of it
	NoIntervals bool

	Resamples  int     // of the bootstrap, 1 to 1,000,000; default 10,000
	Confidence float64 // of intervals, in (0, 1); default 0.95
	Seed       uint64  // of the bootstrap: equal seeds give equal intervals
}

// intervals draws images again.
func (a *Agreement) intervals(ctx context.Context, id, shifted []Predictions, labels []int, o AgreeOptions) error {
	n, m, models := len(labels), len(shifted[0].Classes), len(id)
	design, what := resample.Independent(n, m), "images of each set"
	if o.SameImages {
		if err := sameImages(id, shifted); err != nil {
			return err
		}
		if m%n != 0 {
			return fmt.Errorf("lines: %d images without the shift and %d under it, which are said to be the same", n, m)
		}
		design, what = resample.Paired(n), "images, the same in both sets"
	}
	right := make([][]bool, models)
	var agreed, agreedShifted [][]bool
	for i := range id {
		right[i] = equal(id[i].Classes, labels)
		for j := i + 1; j < models; j++ {
			agreed = append(agreed, equal(id[i].Classes, id[j].Classes))
			agreedShifted = append(agreedShifted, equal(shifted[i].Classes, shifted[j].Classes))
		}
	}
	sample := append(a.values(func(m AgreedModel) float64 { return m.S }),
		a.values(func(m AgreedModel) float64 { return m.D })...)
	of := func(d resample.Draw, values []float64) error {
		times := count(d.First, n)
		timesShifted := times
		if !o.SameImages {
			timesShifted = count(d.Second, m)
		}
		probits := func(all [][]bool, times []int, of int) []float64 {
			out := make([]float64, len(all))
			for i, hits := range all {
				k := 0
				for at, hit := range hits {
					if hit {
						k += times[at%len(times)]
					}
				}
				p, _ := o.Clip.share(Accuracy{float64(k) / float64(of), of})
				out[i] = Probit(p)
			}
			return out
		}
		_, s, z, err := estimate(probits(right, times, n), probits(agreed, times, n), probits(agreedShifted,
			timesShifted, m))
		if degenerate(err) {
			copy(values, sample)
			return nil
		}
		for i := range s {
			values[i], values[models+i] = Phi(s[i]), Phi(z[i])
		}
		return err
	}
	b, err := resample.Options{Resamples: o.Resamples, Confidence: o.Confidence, Seed: o.Seed}.Resolved()
	if err != nil {
		return fmt.Errorf("lines: %w", err)
	}
	estimates, err := resample.Run(ctx, design, 2*models, of, b)
	if err != nil {
		return fmt.Errorf("lines: %w", err)
	}
	for i := range a.Models {
		a.Models[i].SInterval, a.Models[i].DInterval = &Interval{estimates[i].Interval},
			&Interval{estimates[models+i].Interval}
	}
	a.Sampling = fmt.Sprintf("%s; %d resamples, %g %% intervals, seed %d", what, b.Resamples, 100*b.Confidence, b.Seed)
	return nil
}

func (a *Agreement) values(of func(AgreedModel) float64) (out []float64) {
	for _, m := range a.Models {
		out = append(out, of(m))
	}
	return out
}

func equal(a, b []int) []bool {
	out := make([]bool, len(a))
	for i := range a {
		out[i] = a[i] == b[i]
	}
	return out
}

func count(places []int, n int) []int {
	times := make([]int, n)
	for _, i := range places {
		times[i]++
	}
	return times
}

func agree(id, shifted []Predictions, labels, truth []int, clip Clip) (*Agreement, error) {
	if err := checkPredictions(id, shifted, labels, truth); err != nil {
		return nil, err
	}
	if err := clip.check(); err != nil {
		return nil, err
	}
	probit := func(k, n int) (float64, error) {
		p, err := clip.share(Accuracy{float64(k) / float64(n), n})
		return Probit(p), err
	}
	out := &Agreement{Clip: clip.String()}
	accuracy := make([]float64, len(id)) // in probit units
	for i, p := range id {
		k := matches(p.Classes, labels)
		a, _ := Count(k, len(labels))
		z, err := probit(k, len(labels))
		if err != nil {
			return nil, fmt.Errorf("lines: %s: %w", p.Model, err)
		}
		accuracy[i] = z
		m := AgreedModel{Name: p.Model, ID: a, X: a.Share}
		if truth != nil {
			right := float64(matches(shifted[i].Classes, truth)) / float64(len(truth))
			m.Truth = &right
		}
		out.Models = append(out.Models, m)
	}
	var x, y []float64
	for i := range id {
		for j := i + 1; j < len(id); j++ {
			k, n := matches(id[i].Classes, id[j].Classes), len(labels)
			kShifted, nShifted := matches(shifted[i].Classes, shifted[j].Classes), len(shifted[i].Classes)
			g, err := probit(k, n)
			if err != nil {
				return nil, err
			}
			h, err := probit(kShifted, nShifted)
			if err != nil {
				return nil, err
			}
			x, y = append(x, g), append(y, h)
			out.Pairs = append(out.Pairs, AgreementPair{id[i].Model, id[j].Model, float64(k) / float64(n),
				float64(kShifted) / float64(nShifted)})
		}
	}
	line, s, d, err := estimate(accuracy, x, y)
	if err != nil {
		return nil, fmt.Errorf("%w (agreement of %d models)", err, len(id))
	}
	out.Line, out.Reliable = line, line.R2 >= LeastAgreement
	for i := range out.Models {
		out.Models[i].S, out.Models[i].D = Phi(s[i]), Phi(d[i])
	}
	return out, nil
}

// estimate is the agreement line through the pairs (g, h), in the order of i < j, and both
// estimates of each model's accuracy under the shift, all in probit units.
func estimate(accuracy, g, h []float64) (line Line, s, d []float64, err error) {
	if line, err = LeastSquares(g, h); err != nil {
		return line, nil, nil, err
	}
	for _, z := range accuracy {
		s = append(s, line.At(z))
	}
	return line, s, alineD(accuracy, g, h, line.Slope), nil
}

// alineD solves the normal equations of ALine-D in closed form: with r_i half the sum over j of the
// right sides b_ij, they are ¼((n−2)·z_i + Σz) = r_i.
func alineD(accuracy, g, h []float64, slope float64) []float64 {
	n := len(accuracy)
	r := make([]float64, n)
	total, pair := 0.0, 0
	for i := range n {
		for j := i + 1; j < n; j++ {
			b := h[pair] + slope*((accuracy[i]+accuracy[j])/2-g[pair])
			r[i] += b / 2
			r[j] += b / 2
			total += b
			pair++
		}
	}
	sum := 4 * total / float64(2*n-2)
	z := make([]float64, n)
	for i := range z {
		z[i] = (4*r[i] - sum) / float64(n-2)
	}
	return z
}

func matches(a, b []int) int {
	k := 0
	for i := range a {
		if a[i] == b[i] {
			k++
		}
	}
	return k
}

func checkPredictions(id, shifted []Predictions, labels, truth []int) error {
	switch {
	case len(id) < 3:
		return fmt.Errorf("lines: predictions of %d models, want at least 3 for agreement", len(id))
	case len(shifted) != len(id):
		return fmt.Errorf("lines: predictions of %d models without the shift and of %d under it", len(id), len(shifted))
	case len(labels) == 0 || len(shifted[0].Classes) == 0:
		return fmt.Errorf("lines: no images")
	case truth != nil && len(truth) != len(shifted[0].Classes):
		return fmt.Errorf("lines: %d labels of %d shifted images", len(truth), len(shifted[0].Classes))
	}
	seen := map[string]bool{}
	for i := range id {
		switch {
		case id[i].Model != shifted[i].Model:
			return fmt.Errorf("lines: predictions %d are of %q without the shift and of %q under it", i, id[i].Model,
				shifted[i].Model)
		case seen[id[i].Model]:
			return fmt.Errorf("lines: model %q stands twice", id[i].Model)
		case len(id[i].Classes) != len(labels):
			return fmt.Errorf("lines: model %q has predictions for %d images, the set has %d", id[i].Model,
				len(id[i].Classes), len(labels))
		case len(shifted[i].Classes) != len(shifted[0].Classes):
			return fmt.Errorf("lines: model %q has predictions for %d shifted images, %q for %d", id[i].Model,
				len(shifted[i].Classes), id[0].Model, len(shifted[0].Classes))
		}
		seen[id[i].Model] = true
	}
	return nil
}
