package plan

import (
	"bytes"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/settings"
	"github.com/certspec/certspec/internal/testkit"
)

// tinyFile writes testdata/tiny.yaml with extra tables; there are no images.
func tinyFile(t *testing.T, extra string) string {
	t.Helper()
	text := testkit.Read(t, "../testdata/tiny.yaml")
	dir := t.TempDir()
	text = bytes.Replace(text, []byte("FOLDER"), strconv.AppendQuote(nil, dir), 1)
	return testkit.Write(t, append(text, extra...), dir, "tiny.yaml")
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

func atTier(t *testing.T, l *recipe.Library, name string) *settings.Setup {
	t.Helper()
	tier, err := l.Tier(name)
	if err != nil {
		t.Fatal(err)
	}
	return &settings.Setup{Library: l, Tier: tier}
}
