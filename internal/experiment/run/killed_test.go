package run

import (
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/testkit"
)

// A run in another process is told its folder, and all their tier.
const (
	killedRun = "CERTSPEC_TEST_KILLED_RUN"
	fewTier   = "CERTSPEC_TEST_FEW_TIER"
)

// Table 1 of pruned networks, a dense network and a round from it on few images, killed at random moments ends with the
// bytes of a run that was not.
func TestKilledGrid(t *testing.T) {
	options := func(folder string) plan.Options {
		return plan.Options{Folder: folder, Table: "C/table1", Tier: "few", Rows: []string{"C/conv8/clean/dense", "C/conv8/clean/lrr-0.5-global"},
			Add: []string{os.Getenv(fewTier)}, Engine: "go", Training: "go", Program: "test", Command: "test"}
	}
	if folder := os.Getenv(killedRun); folder != "" {
		if err := Table(t.Context(), options(folder)); err != nil {
			t.Fatal(err)
		}
		return
	}
	if testing.Short() {
		t.Skip("-short: trains two small networks several times")
	}
	file := filepath.Join(t.TempDir(), "few.yaml")
	text := `tiers:
  few:
    title: few images
    epochs: 2
    fine_tune: 1
    batch: 16
    seeds: 1
    data: {cifar10: {at: synthetic, network: small-cnn, train: count=48, test: count=40}}
    images: {record: count=30}
    pruning: {sparsities: [0.5], global: true}
    record: {pairs: 1, pixel_pairs: 1, jacobian_images: 1}
    certify: {rule: fixed, n: 100, n0: 20, block: 20}
    clean: count=2
    corrupted: {images: count=2, severities: [1]}
    fourier: {images: count=2, centres: [1], decays: [1], norms: [10]}
    calibration: {images: count=2, certify: {rule: fixed, n: 100, n0: 20, block: 20}, cells: 100, steps: 10}
    attack: {images: count=2, steps: 1}
`
	testkit.Write(t, []byte(text), file)
	t.Setenv(fewTier, file)
	t.Setenv(backend.Variable, "go") // gradients, too, and with the same one in all processes
	whole := filepath.Join(t.TempDir(), "whole")
	if err := Table(t.Context(), options(whole)); err != nil {
		t.Fatal(err)
	}
	files := len(everyFile(t, whole))
	if files < 5 {
		t.Fatalf("few files: %v", slices.Collect(maps.Keys(everyFile(t, whole))))
	}
	rng, kills := rand.New(rand.NewPCG(5, 5)), 0
	again := filepath.Join(t.TempDir(), "again")
	for range 40 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledGrid$")
		cmd.Env = append(os.Environ(), killedRun+"="+again)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		var moment <-chan time.Time // the last run is left alone
		if kills < 3 {
			moment = after(again, 1+(kills+rng.IntN(2))*files/5, time.Duration(rng.Int64N(int64(200*time.Millisecond))))
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("after %d kills: %v", kills, err)
			}
			if kills < 2 {
				t.Errorf("the run was killed %d times", kills)
			}
			sameFiles(t, everyFile(t, again), everyFile(t, whole))
			return
		case <-moment:
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-done
			kills++
		}
	}
	t.Fatal("no end")
}

// after is the moment some time behind the one at which a folder has so many files: however fast the machine is, the
// run is in the middle then.
func after(folder string, files int, more time.Duration) <-chan time.Time {
	moment := make(chan time.Time, 1)
	go func() {
		for found := 0; found < files; time.Sleep(time.Millisecond) {
			found = 0
			_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
				if err == nil && !entry.IsDir() {
					found++
				}
				return nil // files come and go meanwhile
			})
		}
		time.Sleep(more)
		moment <- time.Now()
	}()
	return moment
}

// everyFile is all of a folder but what says how long something took.
func everyFile(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		timed := strings.HasSuffix(path, ".csv") || strings.HasSuffix(path, ".json") && entry.Name() != "manifest.json" // with seconds in it
		if err != nil || entry.IsDir() || timed {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		files[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
