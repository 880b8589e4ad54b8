package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/certspec/certspec/classifier"
	certifycmd "github.com/certspec/certspec/cmd/certspec/certify"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	predictcmd "github.com/certspec/certspec/cmd/certspec/predict"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs"
)

// output runs a command line and gives what it prints on standard output, and its exit code.
func output(t *testing.T, args ...string) (string, int) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = file
	code := cli.Run(root(), args)
	os.Stdout = stdout
	file.Close()
	b := testkit.Read(t, file.Name())
	return string(b), code
}

// Rows of the spec, §11.3: ACR .332, CA(.34) = .6, CA(.35) = .4.
const publishedLog = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n" +
	"0\t1\t1\t0.378\t1\t15.4\n20\t1\t-1\t0.0\t0\t15.6\n40\t1\t1\t0.341\t1\t15.7\n60\t1\t1\t0.941\t1\t15.8\n80\t1\t0\t0.2\t0\t1.0\nmean radius 0.4\n"

func TestLogMetrics(t *testing.T) {
	path := testkit.Write(t, []byte(publishedLog), t.TempDir(), "log.tsv")
	text, code := output(t, "ledger", "metrics", path, "--radii", "0.34,0.35", "--json")
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s", code, err, text)
	}
	acr, _ := got["acr"].(float64)
	warnings, _ := got["warnings"].([]any)
	if got["file"] != path || got["rows"] != 5. || got["abstained"] != 1. || acr < .33199 || acr > .33201 || len(warnings) != 1 {
		t.Errorf("%s", text)
	}
	if !strings.Contains(text, `"certified_accuracy":[{"radius":0.34,"value":0.6},{"radius":0.35,"value":0.4}]`) {
		t.Errorf("%s", text)
	}
	// Two files give two lines; a bad one does not hide the good one.
	text, code = output(t, "ledger", "metrics", path, path+".missing", path, "--json")
	if strings.Count(text, "\n") != 2 || code != cli.ExitFailed {
		t.Errorf("exit code %d: %s", code, text)
	}
	text, code = output(t, "ledger", "metrics", path)
	if !strings.Contains(text, "0.3320") || code != 0 {
		t.Errorf("exit code %d: %s", code, text)
	}
}

func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{
		{"certify"},
		{"certify", "--model", "m", "--data", "synthetic/test"},
		{"certify", "--model", "m", "--data", "synthetic/test", "--sigma", "0.25", "--n", "0"},
		{"certify", "--model", "m", "--data", "nowhere/test", "--sigma", "0.25"},
		{"certify", "--model", "m", "--data", "synthetic/test", "--sigma", "0.25", "--radii", "-1"},
		{"certify", "more"},
		{"predict", "--model", "m"},
		{"predict", "--model", "m", "--data", "synthetic/test", "--sigma", "0.25", "--alpha", "0"},
		{"ledger", "metrics"},
		{"ledger", "metrics", "f", "--radii", "NaN"},
	} {
		if text, code := output(t, args...); code != cli.ExitUsage || text != "" {
			t.Errorf("%q: exit code %d, output %q; want %d and nothing", args, code, text, cli.ExitUsage)
		}
	}
}

const trainedModel = "../../notebooks/models/fmnist-cnn-s025"

// fixedImages is a rs.Source.
type fixedImages struct{ images *dataset.Images }

func (f fixedImages) Load(context.Context) (*dataset.Images, error) { return f.images, nil }

// A certification of a trained network that is stopped again and again ends with the bytes of an undisturbed one.
func TestCertifyTrainedNetResumes(t *testing.T) {
	model, err := engine.Open(trainedModel)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	im := &dataset.Images{Name: "noise", Shape: model.Card().Architecture.Shape, Digest: "sha256:noise"}
	for id := range 6 {
		im.IDs = append(im.IDs, id)
		im.Labels = append(im.Labels, id)
		for range im.Shape.Len() {
			im.Pixels = append(im.Pixels, uint8(rng.IntN(1<<(4+id%5))))
		}
	}
	opt := rs.Options{Sigma: .5, MaxSamples: 400, Block: 20, Tolerance: 1e-6, Ledger: filepath.Join(t.TempDir(), "whole"), Workers: 1}
	whole, err := rs.Certify(t.Context(), model, fixedImages{im}, opt)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := os.ReadFile(opt.Ledger)
	opt.Ledger, opt.Workers = filepath.Join(t.TempDir(), "parts"), 3
	stops := 0
	for ; ; stops++ {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := rs.Certify(ctx, stopping{model, new(atomic.Int64), cancel}, fixedImages{im}, opt)
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile(opt.Ledger); !bytes.Equal(got, want) || stops < 2 {
		t.Errorf("%d stops:\n%s\nwant\n%s", stops, got, want)
	}
	if whole.Abstained() == len(whole.Rows) {
		t.Error("the network abstains on everything: a weak test")
	}
}

// stopping stops the run at its tenth batch.
type stopping struct {
	classifier.Classifier
	calls *atomic.Int64
	stop  context.CancelFunc
}

func (s stopping) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	if s.calls.Add(1) == 10 {
		s.stop()
	}
	return s.Classifier.Classify(ctx, batch, result)
}

func TestCertifyCommand(t *testing.T) {
	if os.Getenv("CERTSPEC_DATA") == "" {
		t.Skip("needs FashionMNIST: CERTSPEC_DATA names no folder")
	}
	ledger := filepath.Join(t.TempDir(), "out", "x.ledger")
	args := []string{"certify", "--model", trainedModel, "--data", "fashionmnist/test", "--max-index", "4", "--sigma", "0.25",
		"--n", "400", "--block", "50", "--out", ledger, "--json"}
	first, code := output(t, args...)
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	var got certifycmd.Result
	if err := json.Unmarshal([]byte(first), &got); err != nil {
		t.Fatal(err)
	}
	if got.Rows != 4 || got.Sigma != .25 || got.Misses != 0 || got.Passes < 4*200 || got.ACR == nil || got.SeedChosen || len(got.CertifiedAccuracy) < 2 {
		t.Errorf("%s", first)
	}
	before, _ := os.ReadFile(ledger)
	second, code := output(t, args...)
	if after, _ := os.ReadFile(ledger); second != first || code != 0 || !bytes.Equal(before, after) {
		t.Errorf("again: exit code %d\n%s\nwant\n%s", code, second, first)
	}
	args[8] = "0.5"
	if text, code := output(t, args...); code != cli.ExitFailed || text != "" {
		t.Errorf("another σ on the same ledger: exit code %d, %q", code, text)
	}
	text, code := output(t, "predict", "--model", trainedModel, "--data", "fashionmnist/test", "--image", "0,3", "--sigma", "0.25", "--n", "100", "--json")
	var predictions []predictcmd.Result
	if err := json.Unmarshal([]byte(text), &predictions); err != nil || code != 0 || len(predictions) != 2 || predictions[1].Image != 3 {
		t.Errorf("predict: exit code %d, %v\n%s", code, err, text)
	}
}

// Pictures without labels go through the whole pipeline: certificates, but no accuracy of them.
func TestCertifyWithoutLabels(t *testing.T) {
	dir := pictures(t, true, ".", ".", ".")
	ledger := filepath.Join(t.TempDir(), "x.ledger")
	text, code := output(t, "certify", "--model", trainedModel, "--data", "folder:"+dir+"[resize=30,filter=lanczos,crop=28]",
		"--sigma", "0.25", "--n", "400", "--block", "50", "--out", ledger)
	for _, want := range []string{
		"folder:" + dir + "[resize=30,filter=lanczos,crop=28], 3 images", "radii are in the resized pixels (28×28×1)",
		"average certified radius  no labels", "3 of 3 images have no label",
	} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("exit code %d, no %q in\n%s", code, want, text)
		}
	}
	run, err := rs.Open(ledger)
	if err != nil || !run.Complete() || run.Rows[2].Label != -1 || run.Abstained() == 3 {
		t.Errorf("%v, %v", run, err)
	}
	if name := "folder:" + dir + "[resize=30,filter=lanczos,crop=28]"; run.Header.Data.Name != name {
		t.Errorf("the ledger's data is %s; expected %s", run.Header.Data.Name, name)
	}
	if text, code := output(t, "ledger", "metrics", ledger); code != 0 || !strings.Contains(text, "| – | – | – | – | – |") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
	if text, code := output(t, "predict", "--model", trainedModel, "--data", "folder:"+dir+"[resize=28x28]", "--sigma", "0.25", "--n", "100"); code != 0 || !strings.Contains(text, "unknown") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
}

// The shards of a run share one look at the model; one of another model or noise is not taken.
func TestSharedLook(t *testing.T) {
	dir := t.TempDir()
	look := filepath.Join(dir, "look.json")
	run := func(model, sigma string, i int) string {
		cmd, _, stderr := program(t, "certify", "--exec", childModel(model), "--data", "synthetic/test[count=8]",
			"--sigma", sigma, "--n", "100", "--shard", fmt.Sprint(i, "/8"), "--look", look, "--out", filepath.Join(dir, fmt.Sprint(model, sigma, i)))
		if err := cmd.Run(); err != nil {
			t.Fatal(err, stderr)
		}
		return stderr.String()
	}
	if text := run("means", "0.25", 0); strings.Contains(text, "before") {
		t.Errorf("the first: %s", text)
	}
	made := testkit.Read(t, look)
	if text := run("means", "0.25", 1); !strings.Contains(text, "compared before") {
		t.Errorf("the second: %s", text)
	}
	if text := run("means", "0.5", 2); !strings.Contains(text, "looking again") {
		t.Errorf("other noise: %s", text)
	}
	if now, err := os.ReadFile(look); err != nil || string(now) != string(made) {
		t.Errorf("%v: the file has become %s", err, now)
	}
	testkit.Write(t, []byte("{}"), look)
	cmd, _, stderr := program(t, "certify", "--exec", childModel("means"), "--data", "synthetic/test[count=8]", "--sigma", "1", "--n", "100",
		"--look", look, "--out", filepath.Join(dir, "other"))
	if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), "name another") {
		t.Errorf("another file: %v, %s", err, stderr)
	}
}

// A measurement chooses the engine of a new ledger alone. A run that goes on keeps the engine of its ledger, and all
// tasks of a plan get one.
func TestFastestEngine(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: measures all engines")
	}
	dir := t.TempDir()
	on := func(engine, ledger string) []string {
		return []string{trainedModel, "--data", "synthetic/test[count=2,channels=grey,crop=28]", "--sigma", "0.25", "--n", "200", "--engine",
			engine, "--out", filepath.Join(dir, ledger)}
	}
	run := func(args ...string) {
		t.Helper()
		if out, code := output(t, args...); code != 0 {
			t.Fatalf("%q: %s", args, out)
		}
	}
	const slowest = "go"
	run(append([]string{"certify"}, on(slowest, "kept.ledger")...)...)
	run(append([]string{"certify"}, on(cli.Fastest, "kept.ledger")...)...) // of other engines it would be refused
	shard := append([]string{"certify", "--shard", "0/2"}, on(cli.Fastest, "part.ledger")...)
	if out, code := output(t, shard...); code == 0 {
		t.Errorf("a shard measured for itself: %s", out)
	}
}
