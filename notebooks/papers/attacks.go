package papers

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/internal/gomlxmodels/ace"
	"github.com/certspec/certspec/nb"
)

// Attacked runs the four attacks on confidence of Emde et al. 2025 on a model file and images: a table of
// accuracy, mean confidence and calibration errors without and under each attack, and the
// reliability diagram of each as a line, over bins that are not empty. It checks that no attack
// changes an answer and that the attacks on the prediction do what they say. raised tells whether
// (1, y) raises both calibration errors.
func Attacked(model string, data *dataset.Dataset, epsilon float64, steps int) (t *nb.Tabular, lines []nb.Line,
	raised bool) {
	images, attacks := nb.Must(data.Load(nb.Context())), ace.Attacks(epsilon)
	for i := range attacks {
		attacks[i].Steps = steps
	}
	found := nb.Must(confidences(nb.Context(), model, data, attacks))
	bins, few := nb.Must(calib.Uniform(15, calib.LeftClosed)), nb.Must(calib.Uniform(8, calib.LeftClosed))
	t = nb.Columns("attack", "accuracy", "mean confidence", "ECE, 15 bins", "AdaECE, 15 bins", "published: plain",
		"published: AT")
	plain, robust := []float64{3.06, 2.49, 18.79, 5.19, 11.87}, []float64{20.69, 21.84, 23.51, 11.92, 25.59}
	t.Notes = []string{"Published: Emde et al. 2025, table 1, CIFAR-10, ECE of PreActResNet18 under ε = 8/255."}
	var means, eces, adaptive []float64
	for k, p := range found {
		name := "none"
		if k > 0 {
			name = strings.NewReplacer("-", "−", ",", ", ").Replace(attacks[k-1].String())
		}
		nb.Assert(slices.Equal(p.Classes, found[0].Classes), "the attack %s changes an answer", name)
		correct, mean := make([]bool, images.Len()), 0.0
		for i, c := range p.Classes {
			correct[i] = c == images.Labels[i]
			mean += p.Confidence[i] / float64(len(correct))
		}
		means = append(means, mean)
		eces = append(eces, nb.Must(calib.ECE(correct, p.Confidence, bins)))
		adaptive = append(adaptive, nb.Must(calib.AdaECE(correct, p.Confidence, 15)))
		t.Add(name, nb.Must(calib.Accuracy(correct)), mean, eces[k], adaptive[k], plain[k]/100, robust[k]/100)
		line := nb.Line{Name: name}
		for _, b := range nb.Must(calib.Reliability(correct, p.Confidence, few)) {
			if b.Count > 0 {
				line.X, line.Y = append(line.X, b.Confidence), append(line.Y, b.Accuracy)
			}
		}
		lines = append(lines, line)
	}
	nb.Assert(means[3] >= means[0] && means[4] <= means[0],
		"the attacks on ŷ do not do what they say: mean confidences %v", means)
	return t, append(lines, nb.Line{Name: "calibrated", X: []float64{0, 1}, Y: []float64{0, 1}}), eces[2] > eces[0] &&
		adaptive[2] > adaptive[0]
}

// Batch is a batch of confidences with what an adversary may make of them.
type Batch struct {
	Sigma, Epsilon      float64
	Clean, Lower, Upper []float64
	Correct             []bool
}

// DrawnBatch are count calibrated confidences, drawn with a seed, each within the standard
// certificate's interval at radius epsilon.
func DrawnBatch(count int, sigma, epsilon float64, seed uint64) Batch {
	random := rand.New(rand.NewPCG(1, seed))
	b := Batch{Sigma: sigma, Epsilon: epsilon}
	for range count {
		z := 0.35 + 0.6*random.Float64()
		b.Clean, b.Correct = append(b.Clean, z), append(b.Correct, random.Float64() < z)
		b.Lower, b.Upper = append(b.Lower, shift(z, -epsilon/sigma)), append(b.Upper, shift(z, epsilon/sigma))
	}
	return b
}

// shift is Φ(Φ⁻¹(z) + by).
func shift(z, by float64) float64 {
	return math.Erfc(-(math.Sqrt2*math.Erfinv(2*z-1)+by)/math.Sqrt2) / 2
}

func driverBins() *calib.Bins { return nb.Must(calib.Uniform(attack.Bins, calib.LeftClosed)) }

// Worst is the largest ECE that the intervals allow, exactly.
func (b Batch) Worst() float64 {
	return nb.Must(calib.ExactCCE(b.Correct, b.Lower, b.Upper, driverBins().Edges())).CCE
}

// Drive is the ECE of the batch step by step as an adversary drives it: a full step has the length,
// in the units of ε, and moves the probit of a confidence by length/σ, the most that smoothing
// allows (Salman et al. 2019, lemma 2).
func (b Batch) Drive(name string, driver attack.Driver, steps int, length float64) nb.Line {
	st := &attack.State{Sigma: b.Sigma, Epsilon: b.Epsilon, Length: length, Confidence: slices.Clone(b.Clean),
		Correct: b.Correct, Direction: make([]float32, len(b.Clean))}
	line := nb.Line{Name: name}
	for step := range steps {
		line.X, line.Y = append(line.X, float64(step)),
			append(line.Y, nb.Must(calib.ECE(b.Correct, st.Confidence, driverBins())))
		st.Step = step
		nb.Check(driver.Drive(st))
		for i, way := range st.Direction {
			st.Confidence[i] = min(max(shift(st.Confidence[i], float64(way)*length/b.Sigma), b.Lower[i]), b.Upper[i])
		}
	}
	worst := b.Worst()
	nb.Assert(line.Y[steps-1] <= worst+1e-9, "%s ends at %g, above the largest ECE %g", name, line.Y[steps-1], worst)
	return line
}

// Last is where a line ends.
func Last(l nb.Line) float64 { return l.Y[len(l.Y)-1] }

// Level is a horizontal line over as many steps.
func Level(name string, steps int, height float64) nb.Line {
	return nb.Line{Name: name, X: []float64{0, float64(steps - 1)}, Y: []float64{height, height}}
}
