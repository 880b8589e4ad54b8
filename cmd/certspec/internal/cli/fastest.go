package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs"
)

// Fastest is the value of --engine that lets a measurement choose.
const Fastest = "fastest"

// winograd are the kernels that compute convolutions of 3×3 by fewer products.
const winograd = "xla:cpu,kernels=winograd"

// compared are the engines that a measurement compares. Those that are not there, or cannot run the
// model, are left out.
var compared = []string{engine.ONNXRuntime, engine.OpenVINO, "xla:cuda", "xla:cpu", winograd}

// fastest names the engine that gives most classes per second for blocks of a run of the model, as
// rate measures them in about a time. Engines take turns, and each counts by its best.
func fastest(ctx context.Context, open func(choice string) (*engine.Model, error),
	rate func(ctx context.Context, m *engine.Model, limit time.Duration) (float64, error)) (string, error) {
	const turns, turn = 3, 500 * time.Millisecond
	var models []*engine.Model
	var choices []string
	for _, choice := range compared {
		m, err := open(choice)
		if err == nil {
			defer m.Close()
			_, err = rate(ctx, m, 0) // compiles
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			continue
		}
		models, choices = append(models, m), append(choices, choice)
	}
	if len(models) < 2 {
		return strings.Join(choices, ""), nil // "" is auto, which says why
	}
	rates := make([]float64, len(models))
	for range turns {
		for i, m := range models {
			r, err := rate(ctx, m, turn)
			if err != nil {
				return "", err
			}
			rates[i] = max(rates[i], r)
		}
	}
	best := choices[slices.Index(rates, slices.Max(rates))]
	var texts []string
	for i, r := range rates {
		texts = append(texts, fmt.Sprintf("%s %.0f", choices[i], r))
	}
	Say("noise samples/s: %s; --engine %s is taken", strings.Join(texts, ", "), best)
	return best, nil
}

// rate calls a model as a run does, for some time and at least once, and gives images per second.
func rate(ctx context.Context, m *engine.Model, limit time.Duration) (float64, error) {
	info, err := m.Info()
	if err != nil {
		return 0, err
	}
	batch := classifier.Batch{N: stopping.DefaultBlock, Grid: make([]int16, stopping.DefaultBlock*info.Shape.Len())}
	for i := range batch.Grid {
		batch.Grid[i] = int16(i * 7919 % 256)
	}
	var calls atomic.Int64
	var work sync.WaitGroup
	failed := make([]error, rs.DefaultWorkers(info.Identity))
	begun := time.Now()
	for i := range failed {
		work.Go(func() {
			result := classifier.Result{Classes: make([]int32, batch.N)}
			for first := true; failed[i] == nil && (first || time.Since(begun) < limit); first = false {
				failed[i] = m.Classify(ctx, batch, &result)
				calls.Add(1)
			}
		})
	}
	work.Wait()
	return float64(calls.Load()) * float64(batch.N) / time.Since(begun).Seconds(), errors.Join(failed...)
}

// recording describes a run by the first line of its ledger or scores.
type recording struct {
	Data  struct{ Name string }
	Model struct{ Identity classifier.Identity }
}

// recorded reads the first line of a file, or of a ledger in a folder; of what is neither it is empty.
func recorded(path string) (r recording) {
	if path == "" {
		return r
	}
	if inside, _ := filepath.Glob(filepath.Join(path, "*.ledger")); len(inside) > 0 {
		path = inside[0]
	}
	file, err := os.Open(path)
	if err != nil {
		return r
	}
	defer file.Close()
	if json.NewDecoder(io.LimitReader(file, 1<<24)).Decode(&r) != nil {
		return recording{}
	}
	return r
}

// engineOf is the choice of --engine that gave an identity.
func engineOf(id classifier.Identity) string {
	if id.Engine == "xla" && strings.Contains(id.EngineVersion, "winograd") {
		return winograd
	}
	if at := strings.Index(id.EngineVersion, "precision="); id.Engine == engine.OpenVINO && at >= 0 {
		precision, _, _ := strings.Cut(id.EngineVersion[at:], ",")
		return id.Engine + "," + precision
	}
	return id.Engine
}
