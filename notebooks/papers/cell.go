//go:build cell && unix

package papers

import (
	"context"
	"encoding/json"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/gomlxmodels/ace"
	"github.com/certspec/certspec/internal/listen"
	"github.com/certspec/certspec/internal/model/resident"
)

func init() {
	recipe.StepOf = func(t recipe.Tier, m *recipe.Model) (step recipe.Step, err error) {
		q := resident.Question{Kind: resident.Step}
		if q.Input, err = json.Marshal(map[string]any{"Tier": t, "Model": m}); err != nil {
			return step, err
		}
		err = resident.Ask(listen.Context(), q, listen.Progress(), &step)
		return step, err
	}
}

func confidences(ctx context.Context, model string, data *dataset.Dataset, attacks []ace.Attack) (
	found []ace.Predictions, err error) {
	images, err := data.Load(ctx)
	if err != nil {
		return nil, err
	}
	q := resident.Question{Kind: resident.Confidences, Path: model,
		Sets: [2]resident.Set{{Name: data.String(), Digest: images.Digest}}}
	if q.Input, err = json.Marshal(attacks); err != nil {
		return nil, err
	}
	err = resident.Ask(ctx, q, listen.Progress(), &found)
	return found, err
}
