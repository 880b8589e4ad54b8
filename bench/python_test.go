package main

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/certspec/certspec/internal/cache"
)

// Programs of two versions stand side by side, and those that are there are used again.
func TestWritten(t *testing.T) {
	root := t.TempDir()
	t.Setenv(cache.Variable, root)
	folders := map[string]bool{}
	for _, text := range []string{"1", "2", "1"} {
		folder, err := written(fstest.MapFS{"python/a.py": {Data: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(folder, "a.py")); err != nil || string(got) != text {
			t.Errorf("%q, %v; want %q", got, err, text)
		}
		folders[folder] = true
	}
	if left, err := os.ReadDir(filepath.Join(root, "bench")); err != nil || len(folders) != 2 || len(left) != 2 {
		t.Errorf("%v, %v, %v; want two folders and nothing else", folders, left, err)
	}
}
