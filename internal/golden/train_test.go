package golden

// Digests of training and of all that is made of a trained network.
//
// The reference is GoMLX's backend in Go with its vector code off, on amd64: what XLA's compiler makes, and how vector code sums,
// depends on the processor. A change that is meant to change a digest writes them anew: GOLDEN_WRITE=1 go test ./internal/golden.

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/testkit"
)

const (
	trainGolden = "testdata/train.json"
	trainChild  = "GOLDEN_TRAIN_CHILD" // what the child process makes, and where it puts the digests: PART:FILE
	engine      = "go"
)

func TestTrainDigests(t *testing.T) {
	if child := os.Getenv(trainChild); child != "" {
		part, file, _ := strings.Cut(child, ":")
		text, err := json.MarshalIndent(trainDigests(t, part), "", "  ")
		if err == nil {
			err = os.WriteFile(file, append(text, '\n'), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	if runtime.GOARCH != "amd64" || fuses(1./3, 3, -1) {
		t.Skip("the digests are those of amd64 without fused multiply-add")
	}
	if testing.Short() {
		compare(t, inChild(t, 1, "some"), readTrain(t), 0)
		return
	}
	got := inChild(t, 2, "all")
	if os.Getenv("GOLDEN_WRITE") != "" {
		text, err := json.MarshalIndent(got, "", "  ")
		if err == nil {
			err = os.WriteFile(trainGolden, append(text, '\n'), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	want := readTrain(t)
	compare(t, got, want, len(want))
	// The reference is deterministic: another process with one thread comes to the same.
	compare(t, inChild(t, 1, "some"), want, 0)
}

func readTrain(t *testing.T) map[string]string {
	text := testkit.Read(t, trainGolden)
	want := map[string]string{}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	return want
}

// fuses reports whether the compiler joins a product and a sum into one rounding.
//
//go:noinline
func fuses(x, y, z float64) bool { return x*y+z != float64(x*y)+z }

func compare(t *testing.T, got, want map[string]string, least int) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if got[name] != want[name] {
			t.Errorf("%s: %s; expected %s", name, got[name], want[name])
		}
	}
	if len(got) < max(least, 1) {
		t.Errorf("%d digests; expected %d", len(got), least)
	}
}

func inChild(t *testing.T, threads int, part string) map[string]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "digests.json")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTrainDigests$", "-test.v")
	cmd.Env = append(os.Environ(), trainChild+"="+part+":"+file, fmt.Sprintf("GOMAXPROCS=%d", threads),
		"GOMLX_SIMD_AVX512=0", "GOMLX_SIMD_AVX2=0", backend.Variable+"=", backend.GoMLXVariable+"=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := testkit.Read(t, file)
	got := map[string]string{}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func trainDigests(t *testing.T, part string) map[string]string {
	g := &golden{t: t, dir: t.TempDir(), found: map[string]string{}}
	if part == "some" {
		g.methods([]string{"gaussian", "hcr", "acce-act"})
		g.networks([]string{"resnet8"})
		return g.found
	}
	g.networks(nets.Names())
	g.methods(method.Names())
	g.settings()
	g.resumed()
	g.trained()
	g.recipes()
	g.tables()
	return g.found
}
