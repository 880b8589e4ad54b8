package run

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/npy"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/progress"
)

// tinyFile writes testdata/tiny.yaml with extra tables, and the images of its data: 8×8 pixels in three colours.
func tinyFile(t *testing.T, extra string) string {
	t.Helper()
	dir := t.TempDir()
	for part, n := range map[string]int{"train": 48, "test": 24} {
		random := rand.New(rand.NewPCG(uint64(n), 1))
		var images, labels bytes.Buffer
		if err := npy.WriteHeader(&images, "|u1", n, 8, 8, 3); err != nil {
			t.Fatal(err)
		}
		if err := npy.WriteHeader(&labels, "|u1", n); err != nil {
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
			testkit.Write(t, b, dir, name)
		}
	}
	file := filepath.Join(dir, "tiny.yaml")
	text := testkit.Read(t, "../testdata/tiny.yaml")
	text = bytes.Replace(text, []byte("FOLDER"), strconv.AppendQuote(nil, dir), 1)
	testkit.Write(t, append(text, extra...), file)
	return file
}

// tiny are the options of the table of a file, on the Go backend.
func tiny(t *testing.T, file string) plan.Options {
	return plan.Options{
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
			text := testkit.Read(t, f)
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
func stopEachJob(t *testing.T, o plan.Options, times int) {
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
		err := Table(ctx, o)
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
