package train

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
)

// A denoiser is trained before a network that stays as it is, in two stages that resume; the squared error falls.
func TestDenoise(t *testing.T) {
	dir, folder := t.TempDir(), t.TempDir()
	pictures(t, dir)
	before := filepath.Join(folder, "classifier")
	plain := options(t, dir, before)
	plain.Epochs = 1
	run(t, plain)
	stage := func(from, out string, set ...string) Options {
		o := options(t, dir, filepath.Join(folder, out))
		o.Sigma, o.From, o.Own.Method = new(0.3), from, newMethod(t, "denoise", append([]string{"channels=8"}, set...)...)
		o.Optimizer, o.Nesterov, o.LearningRate, o.Augment, o.Epochs = "adam", false, 0.01, noneAug, 8
		return o
	}
	read := func(path string) *modelfile.Model {
		m, err := modelfile.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	first := stage(before, "first", "labels=0")
	card := run(t, first)
	// It begins as the identity, at 100·σ² = 9.
	if card.Loss > 7.5 || card.Recipe.Start != read(before).Card.Weights || card.Architecture.Denoiser != 8 {
		t.Errorf("loss %v, recipe %+v", card.Loss, card.Recipe)
	}
	second := stage(first.Out, "second")
	whole := run(t, second)
	last := read(second.Out)
	for _, w := range read(before).Weights {
		i := slices.IndexFunc(last.Weights, func(o modelfile.Tensor) bool { return o.Name == w.Name })
		if !slices.Equal(last.Weights[i].Values, w.Values) {
			t.Errorf("%s of the network behind has changed", w.Name)
		}
	}
	parts := stage(first.Out, "parts")
	ctx, cancel := context.WithCancel(t.Context())
	parts.afterStep = func(step int) {
		if step == 7 {
			cancel()
		}
	}
	if _, err := Run(ctx, parts); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	parts.afterStep = nil
	if again := run(t, parts); again.Weights != whole.Weights || again.Weights == card.Weights {
		t.Errorf("weights %s after an interrupt, %s without, %s before", again.Weights, whole.Weights, card.Weights)
	}
	for want, o := range map[string]Options{
		"it needs the model file of that network as the start": stage("", "none"),
		"the model to start from":                              stage(first.Out, "wide", "channels=4"),
	} {
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	_, err := method.New("denoise", "squares=0")
	if err == nil || !strings.Contains(err.Error(), "labels destroy the denoiser") {
		t.Errorf("no squares: %v", err)
	}
}
