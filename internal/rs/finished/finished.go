// Package finished knows from its ledger alone that a run is done.
package finished

import (
	"context"
	"errors"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
)

// Run is the run of a closed ledger with the settings of opt, on images of the name, number, ids
// and labels of data; nil: there is none, or it can go on. No image is read, and the digest is
// taken from the ledger: certspec ledger replay asks whether the images are still the same.
func Run(ctx context.Context, model classifier.Classifier, data *dataset.Dataset, opt rs.Options) *rs.Run {
	if opt.Ledger == "" || opt.Rule == rs.Anytime {
		return nil
	}
	run, err := rs.Open(opt.Ledger)
	if err != nil || run.Digest == "" {
		return nil
	}
	info, err := model.Info()
	if err != nil {
		return nil
	}
	list, err := data.List(ctx)
	if err != nil {
		return nil
	}
	for _, row := range run.Rows {
		if i := list.Index(row.Image); i < 0 || list.Labels[i] != row.Label {
			return nil
		}
	}
	list.Shape, list.Digest = info.Shape, run.Header.Data.Digest
	if run, err = rs.Certify(ctx, model, listed{list}, opt); err != nil || run.Digest == "" {
		return nil // the caller meets the reason with the images
	}
	return run
}

// listed are images that are not read.
type listed struct{ list *imageset.Images }

var errNotRead = errors.New("the ledger is no longer closed")

func (l listed) Load(context.Context) (*imageset.Images, error) { return nil, errNotRead }

func (l listed) Index(context.Context, progress.Reporter) (*imageset.Index, error) {
	return &imageset.Index{Images: *l.list,
		Read: func(context.Context, int) (*imageset.Images, error) { return nil, errNotRead }}, nil
}
