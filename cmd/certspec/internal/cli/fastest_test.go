package cli

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/engine"
)

// The engine of a recording is ordered again by the word that gave its identity.
func TestEngineOf(t *testing.T) {
	for want, id := range map[string]classifier.Identity{
		"onnxruntime":             {Engine: "onnxruntime", EngineVersion: "1.31.1 cpu, graph 12"},
		"openvino,precision=f32":  {Engine: "openvino", EngineVersion: "2026.4.1 cpu, precision=f32"},
		"openvino,precision=bf16": {Engine: "openvino", EngineVersion: "2026.4.1 cpu, precision=bf16, graph 12"},
		winograd:                  {Engine: "xla", EngineVersion: "go-xla, kernels 1 winograd-avx2"},
		"":                        {},
	} {
		if got := engineOf(id); got != want {
			t.Errorf("%+v: %q, want %q", id, got, want)
		}
	}
}

// Of known rates the engine with the best turn is taken; engines that are not there, or do not run, are left out.
func TestFastestOfKnownRates(t *testing.T) {
	for _, c := range []struct {
		rates map[string][]float64 // by turn; none: it does not open
		want  string
	}{
		{map[string][]float64{engine.ONNXRuntime: {300, 310, 305}, "xla:cpu": {200, 210, 205}}, engine.ONNXRuntime},
		{map[string][]float64{engine.ONNXRuntime: {200, 210, 205}, "xla:cpu": {300, 310, 305}}, "xla:cpu"},
		{map[string][]float64{"xla:cpu": {290, 150, 280}, winograd: {200, 300, 210}}, winograd},
		{map[string][]float64{engine.ONNXRuntime: {1}, "xla:cpu": {}}, engine.ONNXRuntime},
		{nil, ""},
	} {
		opened, turns := map[*engine.Model]string{}, map[string]int{}
		got, err := fastest(t.Context(), func(choice string) (*engine.Model, error) {
			if c.rates[choice] == nil {
				return nil, errors.New("not there")
			}
			m := &engine.Model{}
			opened[m] = choice
			return m, nil
		}, func(_ context.Context, m *engine.Model, limit time.Duration) (float64, error) {
			rates := c.rates[opened[m]]
			if limit == 0 { // the call that compiles
				if len(rates) == 0 {
					return 0, errors.New("does not run")
				}
				return 1000, nil
			}
			turns[opened[m]]++
			return rates[turns[opened[m]]-1], nil
		})
		if got != c.want || err != nil {
			t.Errorf("of %v: %q, %v, want %q", c.rates, got, err, c.want)
		}
	}
}
