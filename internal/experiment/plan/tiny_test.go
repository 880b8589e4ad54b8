package plan

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/certspec/certspec/internal/experiment/recipe"
)

// tinyFile writes testdata/tiny.yaml with extra tables; there are no images.
func tinyFile(t *testing.T, extra string) string {
	t.Helper()
	text, err := os.ReadFile("../testdata/tiny.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text = bytes.Replace(text, []byte("FOLDER"), strconv.AppendQuote(nil, dir), 1)
	file := filepath.Join(dir, "tiny.yaml")
	if err := os.WriteFile(file, append(text, extra...), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// tiny are the options of the table of a file.
func tiny(t *testing.T, file string) Options {
	return Options{Folder: filepath.Join(t.TempDir(), "out"), Table: "tiny", Tier: "T0", Add: []string{file}}
}

func opened(t *testing.T) *recipe.Library {
	t.Helper()
	l, err := recipe.Open()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func atTier(t *testing.T, l *recipe.Library, name string) *recipe.Setup {
	t.Helper()
	tier, err := l.Tier(name)
	if err != nil {
		t.Fatal(err)
	}
	return &recipe.Setup{Library: l, Tier: tier}
}
