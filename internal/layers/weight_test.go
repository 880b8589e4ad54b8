package layers

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What "go get" downloads: everything but the results and models of notebooks, which are modules without Go code. Its largest part are the pictures
// in notebooks.
func TestModuleIsLight(t *testing.T) {
	const root, most = "../..", 20 << 20
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
	total, code := int64(0), 0
	s := bufio.NewScanner(strings.NewReader(strings.ReplaceAll(string(out), "\x00", "\n")))
	for s.Scan() {
		info, err := os.Lstat(filepath.Join(root, s.Text()))
		if err != nil {
			continue
		}
		switch {
		case inside(s.Text()):
			total += info.Size()
		case filepath.Ext(s.Text()) == ".go":
			code++
		}
	}
	if total > most || total < 1<<20 || code > 0 {
		t.Errorf("the module has %d bytes, want at most %d; %d files of Go are in other modules", total, most, code)
	}
}
