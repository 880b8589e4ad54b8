package layers

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What "go get" downloads leaves out the notebooks with their results and models, the benchmarks and the examples,
// modules of their own.
func TestModuleIsLight(t *testing.T) {
	const root, most = "../..", 10 << 20
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skip("no repository of git:", err)
	}
	inside := func(file string) bool {
		for dir := filepath.Dir(file); dir != "."; dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); err == nil {
				return false
			}
		}
		return true
	}
	total := int64(0)
	s := bufio.NewScanner(strings.NewReader(strings.ReplaceAll(string(out), "\x00", "\n")))
	for s.Scan() {
		info, err := os.Lstat(filepath.Join(root, s.Text()))
		if err != nil {
			continue
		}
		if inside(s.Text()) {
			total += info.Size()
		}
	}
	if total > most || total < 1<<20 {
		t.Errorf("the module has %d bytes, want at most %d", total, most)
	}
}
