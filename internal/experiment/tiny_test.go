package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/progress"
)

// tinyFile writes a file with a kind of data, images of 8×8 pixels in three colours, recipes on it and a table of them; TABLE in the extra
// text is no key, and extra is added as it is.
func tinyFile(t *testing.T, extra string) string {
	t.Helper()
	dir := t.TempDir()
	for part, n := range map[string]int{"train": 48, "test": 24} {
		random := rand.New(rand.NewPCG(uint64(n), 1))
		var images, labels bytes.Buffer
		if err := dataset.WriteArrayHeader(&images, "|u1", n, 8, 8, 3); err != nil {
			t.Fatal(err)
		}
		if err := dataset.WriteArrayHeader(&labels, "|u1", n); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			label := i % 3
			labels.WriteByte(byte(label))
			for p := range 8 * 8 * 3 {
				v := 60 + random.IntN(40)
				if p%3 == label {
					v += 110
				}
				images.WriteByte(byte(v))
			}
		}
		for name, b := range map[string][]byte{part + ".npy": images.Bytes(), part + "-labels.npy": labels.Bytes()} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	file := filepath.Join(dir, "tiny.yaml")
	text := fmt.Sprintf(`data:
  tiny: {title: colours, at: %q, train: "npy:{}/train.npy,{}/train-labels.npy", test: "npy:{}/test.npy,{}/test-labels.npy"}
recipes:
  tiny/g: {from: A/base, title: Gaussian, data: tiny, network: small-cnn, batch: 16, rate: 0.05, epochs: 3, milestones: [2], augment: none}
  tiny/hcr: {from: tiny/g, title: HCR, method: hcr, options: {views: 2, noises: 2, lambda: 4, eta: 1}, views: flip}
  tiny/bn: {from: tiny/g, title: Gaussian+BN, start: tiny/g, adapt: {method: bn, images: 16, steps: 2, batch: 8}}
  tiny/act: {from: D/brier-act, title: Brier, start: tiny/g, batch: 16, augment: none, options: {noises: 2, epsilon: 0.2}, grid: {rate: [0.01, 0.001]}}
tables:
  tiny:
    title: Tiny table
    rows: [tiny/g, tiny/hcr, tiny/bn]
    measure: {clean: true, sweeps: [brightness, contrast], detail: true}
  confident:
    title: Tiny confidences
    rows: [tiny/g, tiny/act]
    measure: {calibration: {radii: [0.05, 3], within: 1}, ace: {epsilon: 0.05, bins: 5}}
%s`, dir, extra)
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// tiny are the options of the table of a file, on the Go backend.
func tiny(t *testing.T, file string) Options {
	return Options{
		Folder: filepath.Join(t.TempDir(), "out"), Table: "tiny", Tier: "T0", Add: []string{file}, Engine: "go", Training: "go", Program: "test", Command: "test",
		Progress: func(s progress.State) {
			if s.Message != "" && !strings.Contains(s.Message, "slow") {
				t.Log(s.Message)
			}
		},
	}
}

// stable are the files of a folder whose bytes do not depend on when and how often it was interrupted.
func stable(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"manifest.json", "models/*.safetensors", "adapted/*/*.safetensors", "ledgers/*/*.ledger", "results/*.csv", "results/*.calibration.json", "results/*.attacks.json"} {
		found, err := filepath.Glob(filepath.Join(folder, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(folder, f)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.ToSlash(name)] = string(text)
		}
	}
	return files
}

func sameFiles(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if g, ok := got[name]; !ok {
			t.Errorf("%s is missing", name)
		} else if g != text {
			a, b := strings.Split(g, "\n"), strings.Split(text, "\n")
			k := 0
			for k < min(len(a), len(b)) && a[k] == b[k] {
				k++
			}
			if k < min(len(a), len(b)) && len(a[k]) < 2000 {
				t.Errorf("%s differs in line %d of %d and %d: %q, want %q", name, k+1, len(a), len(b), a[k], b[k])
			} else {
				t.Errorf("%s differs", name)
			}
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is there, and should not", name)
		}
	}
}

// stopEachJob runs an experiment that is stopped at the first reports of each job, as often as times says, until it ends by itself.
func stopEachJob(t *testing.T, o Options, times int) {
	t.Helper()
	stops, stopped := 0, map[string]int{}
	for {
		ctx, cancel := context.WithCancelCause(t.Context())
		o.Progress = func(s progress.State) {
			if _, job, _ := strings.Cut(s.Task, ": "); !s.Final && s.Message == "" && stopped[job] < times && ctx.Err() == nil {
				stopped[job]++
				cancel(context.Canceled)
			}
		}
		err := Run(ctx, o)
		cancel(nil)
		if err == nil {
			break
		}
		if stops++; !errors.Is(err, context.Canceled) || stops > 60 {
			t.Fatalf("after %d stops: %v", stops, err)
		}
	}
	if stops < 3 {
		t.Errorf("only %d stops", stops)
	}
}
