package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	attackcmd "github.com/certspec/certspec/cmd/certspec/attack"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/internal/npy"
	"github.com/certspec/certspec/internal/testkit"
)

// Train a little, certify, attack: what is certified stands.
func TestAttack(t *testing.T) {
	dir := t.TempDir()
	model, other, ledger := filepath.Join(dir, "net"), filepath.Join(dir, "other"), filepath.Join(dir, "run.ledger")
	for path, seed := range map[string]string{model: "3", other: "4"} {
		if _, err := outputOf(t, "train", "--data", "synthetic[count=8]", "--test", "synthetic/test[count=2]", "--epochs", "1", "--batch", "8", "--width", "0.25",
			"--sigma", "0.25", "--seed", seed, "--engine", "go", "--out", path); err != nil {
			t.Fatal(err)
		}
	}
	certify := commandOf(t, "certify")
	certify.SetOut(new(bytes.Buffer))
	certify.SetArgs([]string{"--model", model, "--data", "synthetic/test", "--count", "3", "--sigma", "0.25", "--n0", "50", "--n", "50", "--block", "50", "--rule", "fixed",
		"--engine", "go", "--out", ledger})
	if err := certify.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	args := []string{ledger, "--model", model, "--data", "synthetic/test", "--radii", "0.1,0,0.3", "--steps", "2", "--noises", "2", "--n", "100", "--engine", "go"}
	out, err := outputOf(t, "attack", append(args, "--json")...)
	if err != nil {
		t.Fatal(err)
	}
	var a attackcmd.Result
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		t.Fatal(err)
	}
	if a.Sigma != 0.25 || len(a.Radii) != 3 || len(a.Outcomes) != 9 || a.Radii[0].Radius != 0 || a.Radii[1].Images != 3 {
		t.Errorf("%+v", a)
	}
	for i, r := range a.Radii {
		if r.Empirical < r.Certified || i > 0 && r.Empirical > a.Radii[i-1].Empirical {
			t.Errorf("row %+v", r)
		}
	}
	if out, err := outputOf(t, "attack", args...); err != nil || !strings.Contains(out, "radius  certified  empirical") {
		t.Errorf("%q, %v", out, err)
	}
	for want, bad := range map[string][]string{
		"the ledger is of":  {ledger, "--model", other, "--data", "synthetic/test"},
		"no certificate of": {ledger, "--model", model, "--data", "synthetic/test[range=100:110]"},
		"no model at":       {ledger, "--model", filepath.Join(dir, "none"), "--data", "synthetic/test"},
	} {
		if _, err := outputOf(t, "attack", bad...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
	if _, err := onnx.Library(""); err == nil {
		attackONNX(t, model, other)
	}
}

// The attacked images equal the ledger's, value by value, also in another selection of their set.
func TestAttackOnOtherImages(t *testing.T) {
	dir := t.TempDir()
	array := func(name string, shape []int, values []byte) string {
		var file bytes.Buffer
		if err := npy.WriteHeader(&file, "|u1", shape...); err != nil {
			t.Fatal(err)
		}
		return testkit.Write(t, append(file.Bytes(), values...), dir, name)
	}
	values := make([]byte, 4*28*28)
	labels := array("labels.npy", []int{4}, []byte{0, 1, 0, 1})
	set := "npy:" + array("images.npy", []int{4, 28, 28, 1}, values) + "," + labels
	values[2*28*28+7] = 1
	other := "npy:" + array("other.npy", []int{4, 28, 28, 1}, values) + "," + labels
	model, ledger := filepath.Join(dir, "net"), filepath.Join(dir, "run.ledger")
	for _, args := range [][]string{
		{"train", "--data", set, "--test", set, "--epochs", "1", "--batch", "4", "--width", "0.25", "--sigma", "0.25", "--engine", "go", "--out", model},
		{"certify", "--model", model, "--data", set + "[range=0:3]", "--sigma", "0.25", "--n", "50", "--block", "50", "--rule", "fixed", "--engine", "go", "--out", ledger},
	} {
		if _, err := outputOf(t, args[0], args[1:]...); err != nil {
			t.Fatal(err)
		}
	}
	for data, want := range map[string]string{set + "[range=0:3]": "", set: "", other + "[range=0:2]": "", other: "image 2 differs"} {
		_, err := outputOf(t, "attack", ledger, "--model", model, "--data", data, "--radii", "0.1", "--steps", "1", "--noises", "1", "--n", "100", "--engine", "go")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v; want %q", data, err, want)
		}
	}
}

// attackONNX attacks a model by the gradients of its layers, out of an ONNX file; a program is told what can be attacked.
func attackONNX(t *testing.T, model, other string) {
	t.Helper()
	dir := t.TempDir()
	var files [2]string
	for i, path := range []string{model, other} {
		files[i] = filepath.Join(dir, filepath.Base(path)+".onnx")
		if _, err := outputOf(t, "export", "--model", path, "--out", files[i]); err != nil {
			t.Fatal(err)
		}
	}
	ledger := filepath.Join(dir, "run.ledger")
	images := []string{"--data", "synthetic/test"}
	certify := append([]string{"--model", files[0], "--sigma", "0.25", "--n0", "50", "--n", "50", "--block", "50", "--rule", "fixed",
		"--count", "2", "--out", ledger}, images...)
	if _, err := outputOf(t, "certify", certify...); err != nil {
		t.Fatal(err)
	}
	flags := append([]string{ledger, "--model", files[0], "--radii", "0,1,20", "--steps", "3", "--noises", "2", "--n", "100", "--json"}, images...)
	out, err := outputOf(t, "attack", flags...)
	if err != nil {
		t.Fatal(err)
	}
	var a attackcmd.Result
	if err := json.Unmarshal([]byte(out), &a); err != nil || len(a.Outcomes) != 6 || !(a.Outcomes[1].Norm > 0.9 && a.Outcomes[1].Norm <= 1) {
		t.Errorf("%v: %+v", err, a)
	}
	if _, err := outputOf(t, "attack", append(flags, "--model", files[1])...); err == nil || !strings.Contains(err.Error(), "the ledger is of") {
		t.Errorf("another file: %v", err)
	}
	var usage cli.UsageError
	if _, err := outputOf(t, "attack", append(flags, "--exec", "true")...); !errors.As(err, &usage) || !strings.Contains(err.Error(), "--model with --exec") {
		t.Errorf("a program: %v", err)
	}
}

func TestAttackUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"--model":    {"x.ledger", "--data", "synthetic"},
		"--data":     {"x.ledger", "--model", "x"},
		"--steps":    {"x.ledger", "--model", "x", "--data", "synthetic", "--steps", "0"},
		"--radii -1": {"x.ledger", "--model", "x", "--data", "synthetic", "--radii", "-1"},
	} {
		var usage cli.UsageError
		if _, err := outputOf(t, "attack", args...); !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want a wrong use that says %q", err, want)
		}
	}
}
