package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/intnet"
)

// integerEntries are an integer network with random weights by each kernel of this processor, whole certifications and
// the model alone, and beside each kernel the limit: as many products in registers.
func integerEntries(a nets.Architecture, batch int,
	whole, alone func(ctx context.Context, model classifier.Classifier, batch int) error) (entries []entry) {
	for _, kernel := range intnet.Kernels() {
		if intnet.Peak(kernel, 1) == 0 {
			continue // the definition, in plain Go
		}
		for _, work := range []struct {
			name string
			run  func(ctx context.Context, model classifier.Classifier, batch int) error
		}{{"rs.Certify with noise and ledger", whole}, {"the model alone, no noise", alone}} {
			entries = append(entries, entry{fmt.Sprintf("certspec: %s, integer network, %s", work.name, kernel), &gated{
				open: func() (classifier.Classifier, func(), error) { return exactNet(context.Background(), a, kernel) },
				work: func(ctx context.Context, model classifier.Classifier) error { return work.run(ctx, model, batch) },
			}})
		}
		entries = append(entries, entry{"the limit of " + kernel + ": as many integer products in registers", &loop{
			prepare: func(ctx context.Context) (func() (float64, error), error) {
				dir, err := os.MkdirTemp("", "certspec-bench-")
				if err != nil {
					return nil, err
				}
				defer os.RemoveAll(dir)
				path, err := writeExact(ctx, dir, a)
				if err != nil {
					return nil, err
				}
				n, _, err := intnet.Read(path)
				if err != nil {
					return nil, err
				}
				return func() (float64, error) {
					return intnet.Peak(kernel, 1_000_000) / float64(n.Products()), nil
				}, nil
			},
		}})
	}
	return entries
}

// exactNet is randomNet as an integer network, as by certspec quantize --exact.
func exactNet(ctx context.Context, a nets.Architecture, kernel string) (classifier.Classifier, func(), error) {
	dir, err := os.MkdirTemp("", "certspec-bench-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	path, err := writeExact(ctx, dir, a)
	if err != nil {
		return nil, nil, err
	}
	model, err := engine.Open(path, engine.Backend(kernel))
	if err != nil {
		return nil, nil, err
	}
	return model, func() { model.Close() }, nil
}

// exactFiles are integer networks that were made: each takes longer to make than to time.
var exactFiles sync.Map // name of an architecture → contents

func writeExact(ctx context.Context, dir string, a nets.Architecture) (string, error) {
	exact := filepath.Join(dir, a.Name+".intnet")
	if data, ok := exactFiles.Load(a.Name); ok {
		return exact, atomicfile.Write(exact, data.([]byte))
	}
	path, err := writeRandom(dir, a)
	if err != nil {
		return "", err
	}
	float, err := engine.Open(path)
	if err != nil {
		return "", err
	}
	defer float.Close()
	images, err := randomImages(a.Shape).Load(ctx)
	if err != nil {
		return "", err
	}
	if err = float.QuantizeExact(ctx, images.Take([]int{0, 1, 2, 3, 4, 5, 6, 7}), sigma, 1, exact); err != nil {
		return "", err
	}
	data, err := os.ReadFile(exact)
	exactFiles.Store(a.Name, data)
	return exact, err
}
