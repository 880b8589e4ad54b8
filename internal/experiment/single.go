package experiment

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/train"
)

// TrainRecipe trains one network by a recipe, RECIPE or RECIPE#POINT of a grid, into the model file
// out. Of Options it uses Tier, Add, Places, Methods, Training and what follows. The seed is the
// recipe's first where it is nil. The network that the recipe begins with is looked for beside out,
// under the name that it has in the folder of an experiment, and trained there where it is missing.
func TrainRecipe(ctx context.Context, recipe string, seed *uint64, out string, o Options) (*modelfile.Card, error) {
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

func trainModel(ctx context.Context, s *Setup, m Model, out string, o Options) (*modelfile.Card, error) {
	t, err := s.Options(m)
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
	if m.Begin != nil {
		t.From = m.Begin.File
	}
	if t.Train, err = openSet(m.Train); err != nil {
		return nil, err
	}
	if t.Test, err = openSet(m.Check); err != nil {
		return nil, err
	}
	if t.More, err = m.openMore(); err != nil {
		return nil, err
	}
	t.Diagnose = o.Diagnose
	t.Out, t.Backend, t.Program, t.Command, t.Progress = out, o.Training, o.Program, o.Command, o.Progress
	return train.Run(ctx, t)
}

// KindOf is the kind of data that a recipe learns from; see Options.Places.
func (o Options) KindOf(recipe string) (string, error) {
	s, _, err := o.Setup()
	if err != nil {
		return "", err
	}
	models, err := s.Models(strings.Split(recipe, "#")[0])
	if err != nil {
		return "", err
	}
	return models[0].Data, nil
}
