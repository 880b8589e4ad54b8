//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// corrupt make that finds no room leaves no folder, and one with files keeps them.
func TestCorruptMakeWithoutRoom(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "set")
	limited := func(blocks string) error { // of 512 or 1,024 bytes: an image has 3,072
		cmd := exec.Command("sh", "-c", "trap '' XFSZ; ulimit -f "+blocks+`; exec "$0" as-program corrupt make --data 'synthetic/test[max_index=8]' --name fog --seed 1 --out "$1"`,
			os.Args[0], folder)
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		return err
	}
	if err := limited("8"); err == nil {
		t.Fatal("it was not limited")
	}
	if entries, err := os.ReadDir(folder); !os.IsNotExist(err) {
		t.Errorf("left: %v, %v", entries, err)
	}
	testkit.Write(t, nil, folder, "mine.txt")
	if err := limited("8"); err == nil {
		t.Fatal("it was not limited")
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("of a folder with a file of another: %v, %v", entries, err)
	}
	if err := limited("unlimited"); err != nil {
		t.Error(err)
	}
}
