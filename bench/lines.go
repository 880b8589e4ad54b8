package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"

	"github.com/certspec/certspec/bench/internal/linestest"
	"github.com/certspec/certspec/lines"
)

const (
	fittedModels    = 20
	fittedImages    = 500
	fittedCells     = 45
	fittedResamples = 1000 // in one unit of work
)

// linesCases compares table 1 of the released networks, from its file to rounded numbers, and the bootstrap over images, on one core.
func linesCases(ctx context.Context, s settings) ([]comparison, error) {
	python, scripts, err := pythonSide(ctx)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(os.Getenv("CERTSPEC_DATA"), "robustnets", "metric_and_OOD_var_dict.json")
	table1 := func(context.Context) (func() (float64, error), error) {
		return func() (float64, error) {
			models, err := lines.Read(file, lines.CSV{})
			if err != nil {
				return 0, err
			}
			_, err = lines.Tabulate(models, lines.ByPruning, lines.Clip{})
			return 1, err
		}, nil
	}
	other := func(form, task string) *worker {
		return pythonWorker(python, scripts, "lines", form, work{Task: task, Batch: fittedResamples}, oneThread...)
	}
	cases := []comparison{
		{fmt.Sprintf("bootstrap over images: resamples of %d models × %d images × %d cells, one thread", fittedModels, fittedImages, fittedCells), 1, []entry{
			{"certspec: slope, intercept, R² of each cell, effective robustness of each model", &loop{prepare: fitWork}},
			{"NumPy, the same by matrices", other("numpy", "bootstrap")},
		}},
	}
	if _, err := os.Stat(file); err == nil {
		cases = append(cases, comparison{"table 1 of 447 networks, 224 and 112 numbers, the file's reading included", 1, []entry{
			{"certspec", &loop{prepare: table1}}, {"plain Python", other("plain", "table")}, {"NumPy and SciPy", other("numpy", "table")},
		}})
	}
	return cases, nil
}

// fitWork is a fit of all cells.
func fitWork(ctx context.Context) (func() (float64, error), error) {
	rng := rand.New(rand.NewPCG(1, 1))
	w := linestest.World{Models: fittedModels, Slope: 0.8, Intercept: -0.4, Images: fittedImages, Common: 0.5}
	var points []lines.Point
	for cell := range fittedCells {
		drawn, _ := w.Draw(rng)
		for i, p := range drawn {
			p.Group, p.Fits = fmt.Sprint("cell ", cell), true
			if cell > 0 {
				p.X, p.XImages = points[i].X, points[i].XImages
			}
			points = append(points, p)
		}
	}
	return func() (float64, error) {
		before := runtime.GOMAXPROCS(1)
		defer runtime.GOMAXPROCS(before)
		_, err := lines.FitPoints(ctx, points, lines.Options{Over: lines.Images,
			Resamples: fittedResamples})
		return fittedResamples, err
	}, nil
}
