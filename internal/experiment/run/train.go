package run

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/settings"
)

// TrainRecipe trains one network by a recipe, RECIPE or RECIPE#POINT of a grid, into the model file
// out. Of Options it uses Tier, Add, Places, Methods, Training and what follows. The seed is the
// recipe's first where it is nil. The network that the recipe begins with is looked for beside out,
// under the name that it has in the folder of an experiment, and trained there where it is missing.
func TrainRecipe(ctx context.Context, recipe string, seed *uint64, out string,
	o plan.Options) (*modelfile.Card, error) {
	s, _, err := o.Setup()
	if err != nil {
		return nil, err
	}
	name, number, grid := strings.Cut(recipe, "#")
	point := 0
	if grid {
		if point, err = strconv.Atoi(number); err != nil {
			return nil, fmt.Errorf("experiment: recipe %s: %q is no number of a point of its grid", recipe, number)
		}
	}
	r, err := s.Library.Recipe(name)
	if err != nil {
		return nil, err
	}
	if seed == nil {
		seed = &r.Seeds[0]
	}
	m, err := s.Model(name, point, *seed)
	if err != nil {
		return nil, err
	}
	return trainModel(ctx, s, m, out, o)
}

func trainModel(ctx context.Context, s *settings.Setup, m recipe.Model, out string,
	o plan.Options) (*modelfile.Card, error) {
	t, err := training(s, m, o, recipe.OpenSet)
	if err != nil {
		return nil, err
	}
	if m.Start != "" {
		name, number, _ := strings.Cut(m.Start, "@")
		seed, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("experiment: start %s: %w", m.Start, err)
		}
		start, err := s.Model(name, 0, seed)
		if err != nil {
			return nil, err
		}
		t.From = filepath.Join(filepath.Dir(out), start.Slug())
		plain := o
		plain.Diagnose = nil
		if _, err := trainModel(ctx, s, start, t.From, plain); err != nil {
			return nil, err
		}
	}
	t.Out, t.Diagnose = out, o.Diagnose
	return train.Run(ctx, t)
}

// training are the options of training a model, but for the file that it is written into, and the
// one that it begins with where that is a model of the experiment.
func training(s *settings.Setup, m recipe.Model, o plan.Options,
	open func(string) (*dataset.Dataset, error)) (t train.Options, err error) {
	if t, err = s.Options(m); err != nil {
		return t, err
	}
	if t.Train, err = open(m.Train); err != nil {
		return t, err
	}
	if t.Test, err = open(m.Check); err != nil {
		return t, err
	}
	if t.More, err = settings.OpenMore(&m); err != nil {
		return t, err
	}
	if m.Begin != nil {
		t.From, err = m.Begin.File, m.Begin.Check()
	}
	t.Backend, t.Program, t.Command, t.Progress = o.Training, o.Program, o.Command, o.Progress
	return t, err
}
