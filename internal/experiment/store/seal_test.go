package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A process that ends while it keeps a result leaves the one before or the new one, and no folder that cannot be read.
func TestKeptWhileKilled(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "results", "a.csv")
	m := &Manifest{Format: ManifestFormat}
	for k, text := range []string{"first\n", "second\n"} {
		// Before the text is written.
		err := changeSeals(filepath.Dir(path), func(s *seals) {
			one := s.Files["a.csv"]
			one.Next = digestOf([]byte(text))
			s.Files["a.csv"] = one
		})
		if err = errors.Join(err, m.checkSeals(folder)); err != nil {
			t.Fatalf("%d: %v", k, err)
		}
		// After it, before its seal is.
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := m.checkSeals(folder); err != nil {
			t.Fatalf("%d: %v", k, err)
		}
		if err := Keep(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte("first\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := m.checkSeals(folder); err == nil {
		t.Error("a result of before is taken for the last one")
	}
}
