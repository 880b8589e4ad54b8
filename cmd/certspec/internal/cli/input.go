package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/preflight"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// InputOptions name a model and the images that it is asked about.
type InputOptions struct {
	Model   ModelOptions
	Images  ImageOptions
	Corrupt CorruptOptions
}

// Flags adds the flags of a model and of images; CorruptFlags adds those that corrupt them.
func (o *InputOptions) Flags(cmd *cobra.Command) {
	o.Model.Flags(cmd)
	o.Images.Flags(cmd)
}

// CorruptFlags is Flags with --corrupt.
func (o *InputOptions) CorruptFlags(cmd *cobra.Command) {
	o.Flags(cmd)
	o.Corrupt.Flags(cmd)
}

// Input is a model and its images.
type Input struct {
	Model classifier.Classifier
	Data  *dataset.Dataset

	end func() error
}

// Open opens images and model, and says what of the model is not as good as it could be.
func (o *InputOptions) Open() (*Input, error) {
	images, err := o.Images.Open()
	if err == nil && o.Corrupt.cmd != nil {
		images, err = o.Corrupt.Open(images)
	}
	if err != nil {
		return nil, err
	}
	o.Model.recorded = o.Images.Recorded
	m, end, err := o.Model.Open()
	if err != nil {
		return nil, err
	}
	return &Input{m, images, end}, nil
}

// Index opens the images, which are read one by one, and says their warnings.
func (in *Input) Index(ctx context.Context) (*imageset.Index, error) {
	x, err := in.Data.Index(ctx, Progress())
	if err != nil {
		return nil, err
	}
	for _, warning := range x.Warnings {
		Say("warning: %s", warning)
	}
	return x, nil
}

// Some reads the images, or some of them where they are not to be in memory at once, and says their warnings. Of a
// shard by images it takes those of the shard.
func (in *Input) Some(ctx context.Context, shard rs.Shard) (*dataset.Images, error) {
	x, err := in.Index(ctx)
	if err != nil {
		return nil, err
	}
	if im := x.Whole(); im != nil {
		return im, nil
	}
	first, step := 0, 1
	if shard.Count > 0 && shard.By != ledger.ShardBlocks {
		first, step = shard.Index, shard.Count
	}
	n := max(0, x.Len()-first+step-1) / step
	return spread(ctx, x, n, func(k int) int { return first + step*k })
}

// Spread reads images of a set that are spread over it, at most 64.
func Spread(ctx context.Context, x *imageset.Index) (*dataset.Images, error) {
	return spread(ctx, x, x.Len(), func(k int) int { return k })
}

func spread(ctx context.Context, x *imageset.Index, n int, place func(k int) int) (*dataset.Images, error) {
	const most = 64
	var places []int
	for k := range min(n, most) {
		places = append(places, place(k*n/min(n, most)))
	}
	return x.Load(ctx, places)
}

// Close closes the model.
func (in *Input) Close() error { return in.end() }

// LookFirst looks a model over before a run: it refuses one that is no function of a single image,
// says what preprocessing applies, and warns where accuracy is near chance.
func LookFirst(ctx context.Context, m classifier.Classifier, images *dataset.Images,
	use preflight.Use) (*preflight.First, error) {
	use.Progress = Progress()
	first, err := preflight.Look(ctx, m, images, use)
	if errors.Is(err, classifier.ErrImpure) {
		return first, fmt.Errorf("nothing can be certified: %w", err)
	}
	if err != nil {
		return nil, Usage(inOwnName{err})
	}
	Say("preprocessing: %s", first.Preprocessing)
	if joined, ok := m.(interface{ DenoiserSigma() float64 }); ok {
		if made := joined.DenoiserSigma(); made > 0 && made != use.Sigma {
			Say("warning: its denoiser is made for noise of σ = %g, not %g", made, use.Sigma)
		}
	}
	WarnOfSeen(m, images.Name, images.Digest)
	if first.Note != "" {
		Say("%s", first.Note)
	}
	for _, warning := range first.Warnings {
		Say("warning: %s", warning)
	}
	return first, nil
}

// WarnOfSeen says where a model meets the images that it was trained on, or that gave the ranges of its integers, or
// others of their set.
func WarnOfSeen(m classifier.Classifier, data, digest string) {
	place := func(name string) string { name, _, _ = strings.Cut(name, "["); return name }
	warn := func(set ledger.Data, did string) {
		switch {
		case set.Digest == digest && digest != "":
			Say("warning: these %d images %s: accuracy on them is optimistic; use others", set.Images, did)
		case place(set.Name) == place(data):
			Say("warning: %d images of %s %s, and may be among these: accuracy on them is optimistic; use others",
				set.Images, set.Name, did)
		}
	}
	if quantized, ok := m.(interface{ Ranges() (ledger.Data, bool) }); ok {
		if set, ok := quantized.Ranges(); ok {
			warn(set, "gave the ranges of this quantised network")
		}
	}
	if trained, ok := m.(interface{ Trained() []ledger.Data }); ok {
		for _, set := range trained.Trained() {
			warn(set, "trained this network")
		}
	}
}

// inOwnName is an error of package preflight as another verb says it, without the name of a verb that was not called.
type inOwnName struct{ err error }

func (e inOwnName) Error() string { return strings.TrimPrefix(e.err.Error(), "preflight: ") }
func (e inOwnName) Unwrap() error { return e.err }
