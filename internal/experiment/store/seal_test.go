package store

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
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
		testkit.Write(t, []byte(text), path)
		if err := m.checkSeals(folder); err != nil {
			t.Fatalf("%d: %v", k, err)
		}
		if err := Keep(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Write(t, []byte("first\n"), path)
	if err := m.checkSeals(folder); err == nil {
		t.Error("a result of before is taken for the last one")
	}
}
