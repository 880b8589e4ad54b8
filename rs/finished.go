package rs

import (
	"context"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
)

// Finished is the run of a closed ledger, known from the ledger alone: Certify with the same options would return it.
// It is nil where there is no such ledger, where its images are others than those that list names, and where a run
// can go on. List gives ids and labels, as dataset.Dataset.List; no image is read. So the digest of the images is
// taken from the ledger; Replay asks whether they are still the same.
//
// Errors: those of Certify, such as a closed ledger of other settings.
func Finished(ctx context.Context, model classifier.Classifier,
	list func(context.Context) (*imageset.Images, error), opt Options) (*Run, error) {
	if opt.Rule == Anytime {
		return nil, nil
	}
	run, err := openBefore(opt.Ledger)
	if run == nil {
		return nil, err
	}
	images, err := list(ctx)
	if err != nil {
		return nil, nil // the caller meets the reason with the images
	}
	for _, row := range run.Rows {
		if i := images.Index(row.Image); i < 0 || images.Labels[i] != row.Label {
			return nil, nil
		}
	}
	s, err := begin(model, opt, run, func() (*imageset.Index, error) {
		info, err := model.Info()
		images.Shape, images.Digest = info.Shape, run.Header.Data.Digest
		return &imageset.Index{Images: *images}, err
	})
	if err != nil {
		return nil, err
	}
	return s.complete()
}
