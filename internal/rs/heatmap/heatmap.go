// Package heatmap finds what a model keeps of images that are disturbed at one frequency, over a
// grid of frequencies: certificates with a ledger for each frequency, or the error without noise.
// It is to frequencies what package sweep is to corruptions.
package heatmap

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/noise"
	"github.com/certspec/certspec/spectral"
)

// Metric is the value of a map at a frequency.
type Metric string

const (
	ACR       Metric = "acr"       // average certified radius; also ""
	Certified Metric = "certified" // certified accuracy at a radius
	Error     Metric = "error"     // share of the labelled images that the model gets wrong without noise
)

// Metrics are all metrics.
var Metrics = []Metric{ACR, Certified, Error}

// Options say what a map is of. Frequencies is needed, and Run.Sigma unless the metric is Error.
type Options struct {
	Metric      Metric
	Radius      float64               // of Certified; unit: full range of a value
	Frequencies []int                 // periods over the height, and over the width; ascending
	Probe       spectral.ProbeOptions // Real is set where the noise is real
	Run         rs.Options            // of each certification; its Ledger is chosen here
	// of a ledger for each frequency, or of a file of errors; "": nothing is kept, and all is
	// computed anew
	Folder   string
	Progress progress.Reporter
}

// Result is a map with what it is of.
type Result struct {
	Metric  Metric  `json:"metric"`
	Radius  float64 `json:"radius,omitempty"`
	Model   string  `json:"model"`
	Data    string  `json:"data"`
	Images  int     `json:"images"`
	Epsilon float64 `json:"epsilon"` // ℓ2 norm of a probe per channel
	// largest ℓ2 norm of a probe over all channels, after rounding to the grid where it is
	Norm    float64         `json:"norm"`
	Profile []spectral.Ring `json:"profile"` // mean over the frequencies of a ring
	*spectral.Map

	byImage map[spectral.Frequency]map[int]float64 // of each evaluated frequency, by the image's id
}

// Both lists frequencies and their negatives, each once, ascending, as Options wants them.
func Both(frequencies ...int) []int {
	list := slices.Clone(frequencies)
	for _, f := range frequencies {
		list = append(list, -f)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Run makes a map: for each frequency, a Fourier basis image of that frequency (spectral.Probe) is
// added to every image, and the metric is taken of the images. Half of the grid is evaluated, and
// mirrored. What Options.Folder has is not done again: an interrupted map goes on, and a second
// metric of the same certificates costs nothing.
//
// Errors: settings out of range, as *rule.OptionError or *spectral.InputError; a metric that is none;
// images without labels; a folder of another run; those of rs.Certify and of ctx.
func Run(ctx context.Context, model classifier.Classifier, images *dataset.Dataset, o Options) (*Result, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	loaded, err := images.Index(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	info, err := model.Info()
	if err != nil {
		return nil, err
	}
	if _, err := fourier.NewHalf(loaded.Shape.Height, loaded.Shape.Width); err != nil {
		return nil, err
	}
	if o.Folder != "" {
		if err := os.MkdirAll(o.Folder, 0o777); err != nil {
			return nil, fmt.Errorf("heatmap: %w", err)
		}
	}
	var kept *errorsFile
	if o.Metric == Error && o.Folder != "" {
		head := errorsHead{info.Identity, loaded.Name, loaded.Digest, o.Probe.Epsilon, o.Probe.Seed, o.Probe.Shared}
		if kept, err = openErrors(o.Folder, head); err != nil {
			return nil, err
		}
		defer kept.Close()
	}
	r := &Result{Metric: o.Metric, Radius: o.Radius, Model: info.Name, Data: loaded.Name, Images: loaded.Len(),
		Epsilon: o.Probe.Epsilon, byImage: map[spectral.Frequency]map[int]float64{}}
	total, at := len(spectral.Representatives(loaded.Shape, o.Frequencies, o.Frequencies)), 0
	if o.Progress != nil {
		o.Run.Progress = func(s progress.State) {
			s.Task = fmt.Sprintf("%d of %d: %s", at, total, s.Task)
			o.Progress(s)
		}
	}
	r.Map, err = spectral.HeatMap(ctx, loaded.Shape, o.Frequencies, o.Frequencies, func(ctx context.Context,
		q spectral.Frequency) (float64, error) {
		at++
		p, err := spectral.NewProbe(loaded.Shape, q, o.Probe.Epsilon)
		if err != nil {
			return 0, err
		}
		if o.Probe.Real {
			r.Norm = o.Probe.Epsilon * math.Sqrt(float64(loaded.Shape.Channels))
		} else {
			r.Norm = max(r.Norm, p.Norm())
		}
		run := o.Run
		run.Ledger = ""
		if o.Folder != "" {
			run.Ledger = filepath.Join(o.Folder, fmt.Sprintf("u%+dv%+d.ledger", q.U, q.V))
		}
		find := func() (float64, error) { return r.evaluate(ctx, model, images, q, o.Probe, run) }
		if kept != nil {
			return kept.of(q, find)
		}
		return find()
	})
	if err != nil {
		return nil, err
	}
	r.Map.Measure = r.Metric.title(o.Radius)
	r.Map.Ends = r.ends()
	r.Profile = r.Map.Profile()
	return r, nil
}

// title says a metric to people.
func (m Metric) title(radius float64) string {
	switch m {
	case Error:
		return "error"
	case Certified:
		return fmt.Sprintf("certified accuracy at %g", radius)
	}
	return "average certified radius"
}

// ends are the ends of Student's 95 % interval for the mean of each ring, over the images: of an image counts
// its mean over the frequencies of the ring. There are none of errors, whose images are not kept, and of fewer
// than two images.
func (r *Result) ends() (ends [][2]float64) {
	if r.Metric == Error || len(r.byImage) == 0 {
		return nil
	}
	shape := pixel.Shape{Height: r.Height, Width: r.Width}
	one := *r.Map
	sums := map[int][]float64{} // by image, of each ring
	for at := range r.Values {
		f := spectral.Frequency{U: r.U[at/len(r.V)], V: r.V[at%len(r.V)]}
		for image, value := range r.byImage[spectral.Canonical(shape, f)] {
			if sums[image] == nil {
				sums[image] = make([]float64, len(r.Values))
			}
			sums[image][at] = value
		}
	}
	var rings [][]float64
	for _, image := range slices.Sorted(maps.Keys(sums)) {
		one.Values, one.Ends = sums[image], nil
		for k, ring := range one.Profile() {
			if k == len(rings) {
				rings = append(rings, nil)
			}
			rings[k] = append(rings[k], ring.Mean)
		}
	}
	for _, values := range rings {
		if len(values) < 2 {
			return nil
		}
		mean, deviation := stat.MeanStdDev(values, nil)
		half := distuv.StudentsT{Sigma: 1, Nu: float64(len(values) - 1)}.Quantile(0.975) * deviation /
			math.Sqrt(float64(len(values)))
		ends = append(ends, [2]float64{max(mean-half, 0), mean + half})
	}
	return ends
}

// withDefaults checks the options and fills in what was left out.
func (o Options) withDefaults() (Options, error) {
	if o.Metric == "" {
		o.Metric = ACR
	}
	if !slices.Contains(Metrics, o.Metric) {
		return o, fmt.Errorf("heatmap: metric %q; expected one of %q", o.Metric, Metrics)
	}
	if !(o.Radius >= 0) || math.IsInf(o.Radius, 0) {
		return o, fmt.Errorf("heatmap: radius %v; expected at least 0", o.Radius)
	}
	o.Probe.Epsilon = cmp.Or(o.Probe.Epsilon, spectral.DefaultEpsilon)
	certify := o.Metric != Error
	if certify {
		if _, err := o.Run.Plan(); err != nil {
			return o, err
		}
	}
	o.Probe.Real = certify && o.Run.Noise == noise.LawGaussian
	return o, nil
}

// evaluate finds the value at one frequency.
func (r *Result) evaluate(ctx context.Context, model classifier.Classifier, data *dataset.Dataset,
	f spectral.Frequency, probe spectral.ProbeOptions, o rs.Options) (float64, error) {
	probed := spectral.Probed(data, f, probe)
	if r.Metric == Error {
		images, err := probed.Index(ctx, nil)
		if err != nil {
			return 0, err
		}
		accuracy, err := rs.BaseAccuracy(ctx, model, images, 0, 0)
		return 1 - accuracy, err
	}
	run, err := rs.Certify(ctx, model, probed, o)
	if err != nil {
		return 0, err
	}
	acr := run.ACR()
	values := map[int]float64{}
	ids, labels, radii := run.Rows.Vectors()
	for i, radius := range radii {
		if labels[i] < 0 {
			continue
		}
		values[ids[i]] = max(radius, 0)
		if r.Metric == Certified {
			values[ids[i]] = 0
			if radius >= r.Radius {
				values[ids[i]] = 1
			}
		}
	}
	r.byImage[f] = values
	switch {
	case acr.Images == 0:
		return 0, fmt.Errorf("data %s has no labels", r.Data)
	case r.Metric == ACR:
		return acr.Value, nil
	}
	return run.CertifiedAccuracy(r.Radius)[0].Value, nil
}
