package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/testkit/engines"
)

// A denoiser that was trained before one network is set before another, as one file whose σ certify knows.
func TestJoin(t *testing.T) {
	engines.NeedONNXRuntime(t)
	t.Setenv("CERTSPEC_DATA", t.TempDir())
	net := onnxFile(t)
	m, err := modelfile.Read(guessing(t))
	if err != nil {
		t.Fatal(err)
	}
	a := &m.Card.Architecture
	a.Denoiser, a.Input = 2, "center"
	m.Card.Recipe.Sigma, m.Card.Recipe.Method = new(0.25), "denoise"
	m.Weights = nil
	for _, tensor := range a.Tensors() {
		m.Weights = append(m.Weights, modelfile.Tensor{Name: tensor.Name, Shape: tensor.Shape, Values: tensor.Initialize(1)})
	}
	trained := filepath.Join(t.TempDir(), "denoised")
	if err := modelfile.Write(trained, m); err != nil {
		t.Fatal(err)
	}
	alone, joined := filepath.Join(t.TempDir(), "den.onnx"), filepath.Join(t.TempDir(), "joined.onnx")
	if text, code := output(t, "export", trained, "--denoiser", "--out", alone); code != 0 {
		t.Fatalf("exit code %d: %s", code, text)
	}
	for _, denoiser := range []string{"../../notebooks/models/cifar10-denoiser-s025.onnx", alone, trained} {
		text, code := output(t, "join", net, "--denoiser", denoiser, "--out", joined, "--json")
		var said struct{ Sigma float64 }
		if err := json.Unmarshal([]byte(text), &said); err != nil || code != 0 || said.Sigma != 0.25 {
			t.Errorf("%s: exit code %d, %v: %s", denoiser, code, err, text)
		}
	}
	for _, c := range []struct{ model, sigma, want string }{
		{joined, "0.25", ""}, {joined, "0.5", "its denoiser is made for noise of σ = 0.25, not 0.5"},
		{trained, "0.5", "its denoiser is made for noise of σ = 0.25, not 0.5"},
	} {
		text := said(t, "certify", c.model, "--data", "synthetic/test[max_index=2]", "--sigma", c.sigma,
			"--n", "100", "--rule", "fixed", "--engine", map[bool]string{true: "go", false: "auto"}[c.model == trained],
			"--out", filepath.Join(t.TempDir(), "x.ledger"))
		if strings.Contains(text, "its denoiser") != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("%+v: %s", c, text)
		}
	}
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{net}, 2}, {[]string{net, "--denoiser", alone}, 2},
		{[]string{net, "--denoiser", alone, "--out", "x"}, 2}, {[]string{net, "--out", joined}, 2},
		{[]string{net, "--denoiser", alone, "--discriminator", alone, "--out", joined}, 2},
		{[]string{net, "--denoiser", alone, "--shift", "1", "--out", joined}, 2},
		{[]string{net, "--discriminator", alone, "--sigma", "0.5", "--out", joined}, 2},
		{[]string{net, "--denoiser", alone, "--out", joined, "--sigma", "0.5"}, 1},
		{[]string{net, "--denoiser", net, "--out", joined, "--sigma", "0.5"}, 1},
		{[]string{net, "--denoiser", net, "--out", joined}, 1},
		{[]string{net, "--discriminator", net, "--out", joined}, 1},
	} {
		if text, code := output(t, append([]string{"join"}, c.args...)...); code != c.code {
			t.Errorf("%v: exit code %d, want %d: %s", c.args, code, c.code, text)
		}
	}
}
