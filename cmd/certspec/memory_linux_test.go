package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/cache"
)

// A set that is larger than the memory is read by parts, whatever is done with it.
func TestSetLargerThanMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 369 MB twice")
	}
	const (
		images = 120_000 // 369 MB of pixels, all black, of which the files hold nothing
		memory = 320_000 // KiB of data, with all that is not the set
	)
	dir := t.TempDir()
	array := func(name string, size int64, shape ...int) string {
		return sparse(t, filepath.Join(dir, name), "|u1", size, shape...)
	}
	data := "npy:" + array("images.npy", images*32*32*3, images, 32, 32, 3) + "," + array("labels.npy", images, images)
	model := childModel("means")
	for want, args := range map[string][]string{
		"100.00": {"evaluate", "--exec", model, "--data", data, "--batch", "1000"},
		"abstained": {"certify", "--exec", model, "--data", data, "--sigma", "0.25", "--rule", "fixed", "--n", "100",
			"--shard", "7/20000", "--out", filepath.Join(dir, "l")},
	} {
		line := "ulimit -d " + fmt.Sprint(memory) + `; exec "$0" "$@"`
		cmd := exec.Command("sh", append([]string{"-c", line, os.Args[0], "as-program"}, args...)...)
		cmd.Env = append(os.Environ(), cache.Variable+"="+filepath.Join(dir, "cache"))
		out, err := cmd.CombinedOutput()
		if text := string(out); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %v: %.2000s; want %q", args[0], err, text, want)
		}
	}
}

// sparse writes a NumPy array of zeros, of which the file holds nothing.
func sparse(t *testing.T, path, kind string, size int64, shape ...int) string {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := dataset.WriteArrayHeader(file, kind, shape...); err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	if err == nil {
		err = file.Truncate(info.Size() + size)
	}
	if err == nil {
		err = file.Close()
	}
	old := time.Now().Add(-time.Hour)
	if err == nil {
		err = os.Chtimes(path, old, old)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// What is larger than memory and needed whole is refused with its size.
func TestTooLargeIsSaid(t *testing.T) {
	dir := t.TempDir()
	array := func(name, kind string, size int64, shape ...int) string {
		return sparse(t, filepath.Join(dir, name), kind, size, shape...)
	}
	two := array("two.npy", "|u1", 2, 2)
	for _, args := range [][]string{
		{"dataset", "list", "npy:" + array("images.npy", "|u1", 2*40_000*40_000*3, 2, 40_000, 40_000, 3) + "," + two},
		{"dataset", "list", "npy:" + two + "," + array("labels.npy", "|u1", 9_000_000_000, 9_000_000_000)},
		{"spectral", "spectrum", "--in", array("reals.npy", "<f4", 1_000_000*32*32*3*4, 1_000_000, 32, 32, 3)},
		{"corrupt", "apply", "--name", "fog", "--severity", "1", "--in", array("bytes.npy", "|u1", 1_000_000*32*32*3, 1_000_000, 32, 32, 3), "--out", filepath.Join(dir, "out.npy")},
	} {
		cmd := exec.Command("sh", append([]string{"-c", `ulimit -d 1000000; exec "$0" "$@"`, os.Args[0], "as-program"}, args...)...)
		cmd.Env = append(os.Environ(), cache.Variable+"="+filepath.Join(dir, "cache"))
		out, err := cmd.CombinedOutput()
		if text := string(out); err == nil || !strings.Contains(text, " fit into ") || strings.Contains(text, "goroutine") {
			t.Errorf("%q: %v: %.600s", args, err, text)
		}
	}
}
