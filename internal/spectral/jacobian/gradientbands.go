package jacobian

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/spectral"
)

// Bands are the shares of the energy of the gradient of the cross-entropy by the input in three bands of
// frequency. Each is the mean over images of the share of Σ|G|², with G the unitary Fourier transform of the gradient
// of a channel. They sum to 1. With f the azimuthal frequency and n the shorter side, low is f < n/6, middle n/6 ≤ f <
// n/3, high f ≥ n/3. These are thirds of the range up to the highest frequency of a row (after Krishnamachari et al.
// 2023).
type Bands struct {
	Low    spectral.Estimate `json:"low"`
	Middle spectral.Estimate `json:"middle"`
	High   spectral.Estimate `json:"high"`
	Images int               `json:"images"`
	Missed int               `json:"missed,omitempty"` // images whose gradient is zero or not finite; they do not count
}

// MeasureBands measures the bands at labelled images. Gradients are with respect to values normalised by Std
// (Options); of its other fields it takes Batch alone.
//
// Errors: those of Measure; a label that the model does not have.
func MeasureBands(ctx context.Context, model classifier.Classifier, gradients classifier.Differentiable,
	images *dataset.Images, o Options) (*Bands, error) {
	info, err := model.Info()
	if err != nil {
		return nil, err
	}
	if err := o.check(info, images, false); err != nil {
		return nil, err
	}
	plan, err := fourier.NewPlan[float64](info.Shape.Height, info.Shape.Width)
	if err != nil {
		return nil, err
	}
	batch := o.Batch
	batch = cmp.Or(batch, 50)
	j := jacobian{Options: o}
	out := &Bands{}
	var shares [3][]float64
	size, classes := info.Shape.Len(), info.Classes
	for start := 0; start < images.Len(); start += batch {
		end := min(start+batch, images.Len())
		n := end - start
		real := realImages(images, start, end)
		result := classifier.Result{Classes: make([]int32, n), Scores: make([]float32, n*classes)}
		if err := model.Classify(ctx, classifier.Batch{N: n, Real: real}, &result); err != nil {
			return nil, err
		}
		v := result.Scores // ∂(cross-entropy)/∂logits = softmax − one-hot
		for i := range n {
			label := images.Labels[start+i]
			if label < 0 || label >= classes {
				return nil, fmt.Errorf("spectral: image %d of %s has the label %d, and the model %d classes",
					images.IDs[start+i], images.Name, label, classes)
			}
			v[i*classes+label]--
		}
		gradient := make([]float32, n*size)
		if err := gradients.VectorJacobian(ctx, real, v, gradient); err != nil {
			return nil, err
		}
		for i := range n {
			bands := j.bands(plan, gradient[i*size:(i+1)*size], info.Shape.Channels)
			total := bands[0] + bands[1] + bands[2]
			if !(total > 0) || math.IsInf(total, 0) || result.Classes[i] == classifier.Miss {
				out.Missed++
				continue
			}
			for b := range bands {
				shares[b] = append(shares[b], bands[b]/total)
			}
		}
	}
	if out.Images = len(shares[0]); out.Images == 0 {
		return nil, fmt.Errorf("spectral: no image of %s has a gradient", images.Name)
	}
	out.Low, out.Middle = spectral.EstimateOf(shares[0]), spectral.EstimateOf(shares[1])
	out.High = spectral.EstimateOf(shares[2])
	return out, nil
}

// bands is the energy of a gradient in each band. The gradient is scaled by its largest value
// first, which no square is too small for.
func (j *jacobian) bands(plan *fourier.Plan[float64], gradient []float32, channels int) (bands [3]float64) {
	half := plan.Half()
	spectrum, workspace := fourier.NewSpectrum[float64](half), plan.NewWorkspace()
	plane := make([]float64, len(gradient)/channels)
	largest := 0.0
	for k, g := range gradient {
		largest = max(largest, math.Abs(float64(g))*j.std(k))
	}
	if largest == 0 {
		return bands
	}
	third := float64(min(half.Height, half.Width)) / 6
	for c := range channels {
		for k := range plane {
			at := k*channels + c
			plane[k] = float64(gradient[at]) * j.std(at) / largest
		}
		plan.Forward(workspace, spectrum, plane)
		for k := range half.Len() {
			u, v := half.Frequency(k)
			f := math.Hypot(float64(u), float64(v))
			b := 2
			if f < third {
				b = 0
			} else if f < 2*third {
				b = 1
			}
			re, im := spectrum.Re[k], spectrum.Im[k]
			bands[b] += float64(half.Multiplicity(k)) * (re*re + im*im)
		}
	}
	return bands
}
