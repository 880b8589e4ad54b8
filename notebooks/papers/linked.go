//go:build !cell || !unix

package papers

import (
	"context"

	"github.com/certspec/certspec/dataset"
	_ "github.com/certspec/certspec/internal/experiment/settings" // knows the methods of training
	"github.com/certspec/certspec/internal/gomlxmodels/ace"
	"github.com/certspec/certspec/internal/gomlxmodels/perturb"
)

func confidences(ctx context.Context, model string, data *dataset.Dataset, attacks []ace.Attack) ([]ace.Predictions,
	error) {
	images, err := data.Load(ctx)
	if err != nil {
		return nil, err
	}
	return perturb.ConfidencesAt(ctx, model, "", images, attacks, nil)
}
