package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/pixel"
)

const (
	corruptImages   = 20 // in one unit of work
	corruptSeverity = 3
)

// corruptCases compares each corruption of C with imagecorruptions at the strengths of CIFAR-C, and times the others alone: images one at
// a time on one thread.
func corruptCases(ctx context.Context, s settings) ([]comparison, error) {
	python, scripts, err := pythonOf(ctx, pyenv.Corruptions)
	if err != nil {
		return nil, err
	}
	var cases []comparison
	for _, info := range corrupt.List() {
		setting := corrupt.Setting{Name: info.Name, Severity: corruptSeverity}
		if info.Family == corrupt.F {
			setting = corrupt.Setting{Name: info.Name, Centre: 3, Decay: 0.5, Norm: 10}
		}
		c := comparison{info.Name + ", 32×32×3, one thread", 1, []entry{{"certspec", corruptLoop(setting)}}}
		if info.Name == "frost" {
			// The package's frost is cut from photographs; drawn ice is more work.
			photographs := setting
			if photographs.Photographs, err = frostPhotographs(python); err != nil {
				return nil, err
			}
			c.entries = []entry{{"certspec, the same photographs", corruptLoop(photographs)}, {"certspec, drawn ice", corruptLoop(setting)}}
		}
		if info.Family == corrupt.C || info.Family == corrupt.CExtra {
			c.entries = append(c.entries, entry{"imagecorruptions", pythonWorker(python, scripts, "imagecorruptions", info.Name,
				work{Task: "corrupt", Batch: corruptImages}, "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1")})
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// frostPhotographs is the folder of imagecorruptions' photographs in a Python environment.
func frostPhotographs(python string) (string, error) {
	pattern := filepath.Join(filepath.Dir(filepath.Dir(python)), "lib", "python*", "site-packages", "imagecorruptions", "frost")
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("no photographs of frost at %s", pattern)
	}
	return found[0], nil
}

func corruptLoop(s corrupt.Setting) contender {
	return &loop{prepare: func(context.Context) (func() (float64, error), error) {
		shape := pixel.Shape{Height: 32, Width: 32, Channels: 3}
		c, err := corrupt.New(s, shape, corrupt.Key{Data: "CIFAR-10", Seed: 1})
		if err != nil {
			return nil, err
		}
		// Ramps with noise, as in python/with_imagecorruptions.py.
		r := rand.New(rand.NewPCG(1, 2))
		src, dst := make([]uint8, corruptImages*shape.Len()), make([]uint8, shape.Len())
		for i := range src {
			at := i / 3 % 1024
			src[i] = uint8(3*(at/32+at%32) + r.IntN(20))
		}
		index := 0
		return func() (float64, error) {
			for i := range corruptImages {
				c.Apply(dst, src[i*len(dst):(i+1)*len(dst)], index)
				index++
			}
			return corruptImages, nil
		}, nil
	}}
}
