package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/testkit"
)

// A set that is larger than the memory is read by parts, whatever is done with it.
func TestSetLargerThanMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: reads 369 MB twice")
	}
	const (
		images = 120_000 // 369 MB of pixels, all black, of which the files hold nothing
		memory = 320_000 // KiB of data, with all that is not the set
	)
	dir := t.TempDir()
	data := "npy:" + testkit.Sparse(t, filepath.Join(dir, "images.npy"), "|u1", images, 32, 32, 3) + "," +
		testkit.Sparse(t, filepath.Join(dir, "labels.npy"), "|u1", images)
	model := childModel("means")
	for want, args := range map[string][]string{
		"100.00": {"evaluate", "--exec", model, "--data", data, "--batch", "1000"},
		"abstained": {"certify", "--exec", model, "--data", data, "--sigma", "0.25", "--rule", "fixed", "--n", "100",
			"--shard", "7/20000", "--out", filepath.Join(dir, "l")},
	} {
		line := "ulimit -d " + fmt.Sprint(memory) + `; exec "$0" "$@"`
		cmd := exec.Command("sh", append([]string{"-c", line, os.Args[0], "as-program"}, args...)...)
		cmd.Env = append(os.Environ(), cache.Variable+"="+filepath.Join(dir, "cache"), "GOGC=100")
		out, err := cmd.CombinedOutput()
		if text := string(out); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %v: %.2000s; want %q", args[0], err, text, want)
		}
	}
}

// What is larger than memory and needed whole is refused with its size.
func TestTooLargeIsSaid(t *testing.T) {
	dir := t.TempDir()
	array := func(name, kind string, shape ...int) string {
		return testkit.Sparse(t, filepath.Join(dir, name), kind, shape...)
	}
	two := array("two.npy", "|u1", 2)
	for _, args := range [][]string{
		{"dataset", "list", "npy:" + array("images.npy", "|u1", 2, 40_000, 40_000, 3) + "," + two},
		{"dataset", "list", "npy:" + two + "," + array("labels.npy", "|u1", 9_000_000_000)},
		{"spectral", "spectrum", "--in", array("reals.npy", "<f4", 1_000_000, 32, 32, 3)},
		{"corrupt", "apply", "--name", "fog", "--severity", "1", "--in", array("bytes.npy", "|u1", 1_000_000, 32, 32, 3), "--out", filepath.Join(dir, "out.npy")},
	} {
		cmd := exec.Command("sh", append([]string{"-c", `ulimit -d 1000000; exec "$0" "$@"`, os.Args[0], "as-program"}, args...)...)
		cmd.Env = append(os.Environ(), cache.Variable+"="+filepath.Join(dir, "cache"), "GOGC=100")
		out, err := cmd.CombinedOutput()
		if text := string(out); err == nil || !strings.Contains(text, " fit into ") || strings.Contains(text, "goroutine") {
			t.Errorf("%q: %v: %.600s", args, err, text)
		}
	}
}
