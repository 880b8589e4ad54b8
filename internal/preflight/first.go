package preflight

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/classifier/purity"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/noise"

	"gonum.org/v1/gonum/mathext"
)

// First holds the settings and data that every run looks at before it starts.
type First struct {
	// of the images, before the network: "none: the graph gets values 0 to 1", say
	Preprocessing string `json:"preprocessing"`
	// comparisons that tell whether an answer depends on its image alone
	Function purity.Found `json:"function"`
	// bounds the probability that they miss a model that answers at random once in 20
	Missed     float64  `json:"missed"`
	Labelled   int      `json:"labelled"`       // images that were classified, at most 20
	Right      int      `json:"right"`          // of these
	RightNoisy int      `json:"right_noisy"`    // of one noise sample of each
	Note       string   `json:"note,omitempty"` // that fewer answers than usual were compared
	Warnings   []string `json:"warnings"`

	Witness *purity.Witness `json:"-"` // the first answers, for the context of a run
}

// Use says how a run asks its model. Sigma has no default.
type Use struct {
	Sigma    float64
	Noise    noise.Law         // default "grid"
	Block    int               // noise samples in one call; default 100
	Each     int               // noise samples of an image, at least; 0: not known
	Progress progress.Reporter // may be nil
}

// UseOf is how a certification with these options asks.
func UseOf(o rs.Options) Use {
	u := Use{Sigma: o.Sigma, Noise: o.Noise, Block: o.Block, Progress: o.Progress}
	plan, err := o.Plan()
	if err != nil {
		return u // the run says why
	}
	for _, p := range []float64{.6, .8, .95, 1} {
		samples, _ := plan.Forecast(p)
		if u.Each == 0 || samples < u.Each {
			u.Each = samples
		}
	}
	return u
}

// UseOfPrediction is how a prediction with these options asks.
func UseOfPrediction(o rs.PredictOptions) Use {
	return Use{Sigma: o.Sigma, Noise: o.Noise, Block: o.Block, Each: o.Samples}
}

// A look asks for at most a tenth of what the run does, its last question included, and takes at most lookTime, or
// longRun of the time that the run takes at least.
const (
	lookShare = 1. / 12
	lookTime  = 2 * time.Minute
	longRun   = 0.01
)

// glanced is how many labelled images First classifies.
const glanced = 20

// Look checks a model before a run. It asks whether the model is a deterministic function of one image (package
// purity), on noise samples of the images in blocks as the run asks them. It also measures the accuracy on twenty
// labelled images, as they are and in one noise sample each. The noise is none that a run draws. Before a short run,
// and where one image takes long, it compares fewer answers; First.Missed says what that costs.
//
// Errors: a model that is no such function, as *purity.Error, with what was found; one without a finite answer; one
// that gives probabilities for logits; one that cannot take the images; those of the model and of ctx. Accuracy near
// chance and more than 1 % of answers that are not finite are warnings.
func Look(ctx context.Context, model classifier.Classifier, images *dataset.Images, use Use) (*First, error) {
	p, err := newGlance(model, images, use)
	if err != nil {
		return nil, err
	}
	f := &First{Warnings: []string{}}
	if f.Preprocessing, err = Preprocessing(model); err != nil {
		return nil, err
	}
	late := lateReport{report: use.Progress, task: "look at " + p.info.Name, start: time.Now()}
	effort := use.effort(images.Len())
	if use.Progress != nil {
		effort.Report = late.asked
	}
	f.Function, f.Witness, err = p.function(ctx, effort)
	late.end(f.Function.Answers)
	if err != nil {
		return nil, fmt.Errorf("preflight: whether an answer depends on its image alone: %w", err)
	}
	if err := f.Function.Err(p.info.Name); err != nil {
		return f, err
	}
	if f.Function.Probabilities() {
		return f, fmt.Errorf("preflight: %s", softmaxed(p.info, f.Function))
	}
	if f.Missed = f.Function.Missed(p.info.Classes); f.Function.Comparisons < purity.Comparisons(p.info.Classes) {
		f.Note = fmt.Sprintf("%d answers of the model were compared: one that answers at random once in 20 is missed "+
			"with a probability of at most %.2g",
			f.Function.Comparisons, f.Missed)
	}
	warning, err := rs.Outputs(p.info.Name, f.Function.Invalid, f.Function.Answers)
	if err != nil {
		return f, err
	}
	if warning != "" {
		f.Warnings = append(f.Warnings, warning)
	}
	if err := p.glance(ctx, f); err != nil {
		return nil, fmt.Errorf("preflight: a first look at the images: %w", err)
	}
	return f, nil
}

// Preprocessing says what a model does to an image in [0, 1] before its network gets it, in its own words.
func Preprocessing(model classifier.Classifier) (string, error) {
	if m, ok := model.(interface{ Preprocessing() (string, error) }); ok {
		return m.Preprocessing()
	}
	return "none known: the model gets values 0 to 1", nil
}

// newGlance is a pilot without a plan of a run.
func newGlance(model classifier.Classifier, images *dataset.Images, use Use) (*pilot, error) {
	law, err := noise.ParseLaw(string(use.Noise))
	if err != nil {
		return nil, fmt.Errorf("preflight: %w", err)
	}
	info, err := model.Info()
	if err != nil {
		return nil, fmt.Errorf("preflight: model: %w", err)
	}
	switch {
	case images.Len() == 0:
		return nil, fmt.Errorf("preflight: data %s has no images", images.Name)
	case info.Shape != images.Shape:
		return nil, fmt.Errorf("preflight: model %s takes images of %v, data %s has %v (a resize and a crop change "+
			"their size)", info.Name, info.Shape, images.Name, images.Shape)
	case info.Classes < 2:
		return nil, fmt.Errorf("preflight: model %s has %d classes, want at least 2", info.Name, info.Classes)
	case info.Classes > ledgerio.MaxClasses:
		return nil, fmt.Errorf("preflight: model %s has %d classes, want at most %d",
			info.Name, info.Classes, ledgerio.MaxClasses)
	}
	block := cmp.Or(use.Block, stopping.DefaultBlock)
	if block < 1 {
		return nil, fmt.Errorf("preflight: Block is %d, want at least 1", block)
	}
	return &pilot{model: model, info: info, images: images, opt: rs.Options{Sigma: use.Sigma,
		Block: block, Noise: law}}, nil
}

// effort is the number of images that the look before a run on so many may ask.
func (u Use) effort(images int) purity.Effort {
	e := purity.Effort{Answers: max(1, int(lookShare*float64(u.Each*images)))}
	if u.Each == 0 {
		e.Answers = 0
	}
	e.Time, e.Least = lookTime, int(longRun*float64(u.Each*images))
	return e
}

// lateReport reports work that goes on for some seconds.
type lateReport struct {
	report      progress.Reporter
	task        string
	start, last time.Time
	state       progress.State
}

func (l *lateReport) asked(done, of float64) {
	const quiet, pause = 2 * time.Second, 250 * time.Millisecond
	now := time.Now()
	elapsed := now.Sub(l.start)
	if elapsed < quiet || now.Sub(l.last) < pause {
		return
	}
	l.last = now
	left := time.Duration((of - done) / done * float64(elapsed))
	l.state = progress.State{Task: l.task, Done: done, Total: of, Unit: "answers", Rate: done / elapsed.Seconds(),
		Left: left}
	l.report(l.state)
}

func (l *lateReport) end(done int) {
	if l.report == nil || l.last.IsZero() {
		return
	}
	l.state.Done, l.state.Total, l.state.Final = float64(done), float64(done), true
	l.report(l.state)
}

// function compares answers to noise samples of a few images of different labels.
func (p *pilot) function(ctx context.Context, effort purity.Effort) (purity.Found, *purity.Witness, error) {
	s, err := p.sampler()
	if err != nil {
		return purity.Found{}, nil, err
	}
	from := p.spread(purity.References(p.opt.Block))
	var blocks []classifier.Batch
	for k, i := range from {
		b := s.batch(p.opt.Block, p.info.Shape.Len())
		// An image that comes again gets further samples.
		if err := s.draw(b, 0, p.opt.Block, p.images.Grid(i), p.images.IDs[i], k*p.opt.Block); err != nil {
			return purity.Found{}, nil, err
		}
		blocks = append(blocks, b)
	}
	return purity.Check(ctx, p.model, blocks, s.seed, effort)
}

// spread names n images, one of each label as far as there are some, then the next of each, and all
// of them before one comes again.
func (p *pilot) spread(n int) []int {
	byLabel := map[int][]int{}
	for i, label := range p.images.Labels {
		byLabel[label] = append(byLabel[label], i)
	}
	labels := slices.Sorted(maps.Keys(byLabel))
	var chosen []int
	for turn := 0; len(chosen) < min(n, len(p.images.Labels)); turn++ {
		for _, label := range labels {
			if own := byLabel[label]; turn < len(own) && len(chosen) < n {
				chosen = append(chosen, own[turn])
			}
		}
	}
	for len(chosen) < n {
		chosen = append(chosen, chosen[len(chosen)-len(p.images.Labels)])
	}
	return chosen
}

// glance classifies a few labelled images, as they are and in one noise sample each.
func (p *pilot) glance(ctx context.Context, f *First) error {
	var labelled []int
	for _, i := range p.spread(len(p.images.Labels)) {
		if len(labelled) < glanced && p.images.Labels[i] >= 0 {
			labelled = append(labelled, i)
		}
	}
	if len(labelled) == 0 {
		return nil
	}
	s, err := p.sampler()
	if err != nil {
		return err
	}
	size, block := p.info.Shape.Len(), p.opt.Block
	result := classifier.Result{Classes: make([]int32, block)}
	all := s.batch(2*len(labelled), size)
	for k, i := range labelled {
		set(all, k, p.images.Grid(i))
		if err := s.draw(all, len(labelled)+k, 1, p.images.Grid(i), p.images.IDs[i], 1<<20); err != nil {
			return err
		}
	}
	for start := 0; start < all.N; start += block {
		batch := s.batch(block, size)
		n := min(block, all.N-start)
		for i := range block {
			purity.Copy(batch, i, all, start+min(i, n-1), size)
		}
		if err := p.model.Classify(ctx, batch, &result); err != nil {
			return err
		}
		for i := range n {
			k := start + i
			switch right := int(result.Classes[i]) == p.images.Labels[labelled[k%len(labelled)]]; {
			case right && k < len(labelled):
				f.Right++
			case right:
				f.RightNoisy++
			}
		}
	}
	f.Labelled = len(labelled)
	chance := p.chance(labelled)
	if guessed(f.Right, f.Labelled, chance) && guessed(f.RightNoisy, f.Labelled, chance) {
		f.Warnings = append(f.Warnings,
			fmt.Sprintf("only %d of %d labelled images are classified right, and %d of them under noise: guessing "+
				"does as well (%.0f %%). certspec preflight looks for the reason, e.g. a forgotten normalisation",
				f.Right, f.Labelled, f.RightNoisy, 100*chance))
	}
	return nil
}

// chance is the share of these images that guessing gets right: one class at random, or always
// their most frequent label.
func (p *pilot) chance(images []int) float64 {
	counts, most := map[int]int{}, 0
	for _, i := range images {
		counts[p.images.Labels[i]]++
		most = max(most, counts[p.images.Labels[i]])
	}
	if len(counts) < 2 {
		most = 0 // all of one label say nothing of what is frequent
	}
	return max(float64(most)/float64(len(images)), 1/float64(p.info.Classes))
}

// guessed reports whether guessing gets as many of n images right with a probability above 5 %. Of
// fewer than 5 images nothing is said.
func guessed(right, n int, chance float64) bool {
	const few, level = 5, 0.05
	if n < few || right == n {
		return false
	}
	return right == 0 || mathext.RegIncBeta(float64(right), float64(n-right+1), chance) > level
}

// set puts an image at a place of a batch.
func set(batch classifier.Batch, at int, grid []int16) {
	for j, v := range grid {
		if batch.Grid != nil {
			batch.Grid[at*len(grid)+j] = v
		} else {
			batch.Real[at*len(grid)+j] = float32(v) / pixel.Steps
		}
	}
}
