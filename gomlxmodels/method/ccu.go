package method

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
	"github.com/certspec/certspec/internal/gomlxmodels/outlierloss"
	"github.com/certspec/certspec/internal/ood/mixture"
	"github.com/certspec/certspec/internal/ood/mixture/fit"
	"github.com/certspec/certspec/pixel"
)

// ccu trains a classifier with outlier exposure on the posterior of nets.CCU, and beside it the
// means and variances of its two mixtures (Meinke and Hein 2020, arXiv 1909.12180; section 4.6 of
// Bitterwolf et al. 2020):
//
//	(1/N) Σ_i [CE(p(x_i), y_i) − D·ln p(x_i)] + (1/M) Σ_j [κ·L_uniform(p(z_j)) − D·ln p(z_j)]
//
// with p(x) = ½ p(x|in) + ½ p(x|out), and
//
// D the option density. The mixtures begin with EM. After each step ln σ² of every component of out is at least ln
// 4 above the largest of in.
type ccu struct {
	outlierOptions
	Density float64 `json:"density" usage:"weight of the densities in the loss"`
	Rate    float64 `json:"mixture_rate" usage:"of means and variances, in parts of the learning rate"`
	Metric  string  `json:"metric" usage:"of a principal component: singular (its value) or covariance (its eigenvalue)"`
	Rounds  int     `json:"rounds" usage:"of EM"`
	Images  int     `json:"mixture_images" usage:"of each set that the mixtures are fitted to, at most"`
	Seed    int     `json:"mixture_seed" usage:"of the points that EM begins with"`
}

func (ccu) Name() string { return "ccu" }

func (m ccu) Needs() Needs {
	n := m.outlierOptions.needs()
	n.Posterior, n.Rates = nets.CCU, map[string]float64{netparts.Densities + "/": m.Rate}
	return n
}

func (m ccu) Check() error {
	if m.Metric != string(fit.Singular) && m.Metric != string(fit.Covariance) {
		return fmt.Errorf("metric is %q; expected one of %q", m.Metric, fit.Readings())
	}
	if m.Rounds < 1 || m.Images < 2 {
		return fmt.Errorf("%d rounds of EM on %d images; expected at least 1, and 2", m.Rounds, m.Images)
	}
	if err := weights("density", m.Density, "mixture_rate", m.Rate); err != nil {
		return err
	}
	return m.outlierOptions.check()
}

func (m ccu) Loss(b *Batch) []loss.Term {
	out := b.More[outSet]
	density := func(images *Node) *Node {
		d, _ := b.Intervals(netparts.Densities, images, nil, false) // [N, 2]
		top := StopGradient(ReduceAndKeep(d, ReduceMax, -1))
		return ReduceAllMean(AddScalar(Add(top, Log(ReduceAndKeep(Exp(Sub(d, top)), ReduceSum, -1))), -math.Ln2))
	}
	return append(m.terms(b, "uniform", func(out *More) *Node { return outlierloss.Uniform(out.Logits) }),
		loss.Term{Name: "density", Value: MulScalar(Add(density(b.Rows), density(out.Images)), -m.Density)})
}

// Start fits metric and mixtures.
func (m ccu) Start(shape pixel.Shape, images [][]float64, more map[string][][]float64) (map[string][]float32, error) {
	some := func(all [][]float64) [][]float64 { // spread evenly
		n := min(m.Images, len(all))
		out := make([][]float64, n)
		for i := range out {
			out[i] = all[i*len(all)/n]
		}
		return out
	}
	own := some(images)
	metric, err := fit.NewMetric(own, fit.Reading(m.Metric))
	if err != nil {
		return nil, err
	}
	sides := map[string]*mixture.Mixture{}
	for side, points := range map[string][][]float64{"in": own, "out": some(more[outSet])} {
		if sides[side], err = fit.EM(metric.Whiten(points), netparts.MixtureComponents, m.Rounds,
			uint64(m.Seed)); err != nil {
			return nil, fmt.Errorf("the mixture %s: %w", side, err)
		}
	}
	fit.Apart(sides["in"], sides["out"])
	d := shape.Len()
	transform := metric.Transform()
	values := map[string][]float32{netparts.Densities + "/transform": make([]float32, 0, d*d), netparts.Densities +
		"/shift": make([]float32, d)}
	shift := make([]float64, d)
	for i := range d {
		for j, v := range transform.RawRowView(i) {
			values[netparts.Densities+"/transform"] = append(values[netparts.Densities+"/transform"], float32(v))
			shift[j] -= metric.Mean[i] * v
		}
	}
	for j, v := range shift {
		values[netparts.Densities+"/shift"][j] = float32(v)
	}
	for side, of := range sides {
		var means []float32
		for _, mean := range of.Means {
			means = append(means, narrow(mean)...)
		}
		at := netparts.Densities + "/" + side
		values[at+"/means"], values[at+"/log-variances"], values[at+"/log-weights"] = means, narrow(of.LogVariances),
			narrow(of.LogWeights)
	}
	return values, nil
}

func narrow(values []float64) []float32 {
	out := make([]float32, len(values))
	for i, v := range values {
		out[i] = float32(v)
	}
	return out
}

// Constrain keeps the variances of out four times those of in.
func (m ccu) Constrain(tensors func(name string) *Node) map[string]*Node {
	in, name := tensors(netparts.Densities+"/in/log-variances"), netparts.Densities+"/out/log-variances"
	out := tensors(name)
	least := AddScalar(ReduceAllMax(in), math.Log(4))
	return map[string]*Node{name: Max(out, BroadcastToShape(least, out.Shape()))}
}
