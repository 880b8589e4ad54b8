package jupyter

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/internal/atomicfile"
)

// Every change has its place in the source of GoNB that the kernel is built from, and leaves Go.
func TestChangesOfGonb(t *testing.T) {
	g, err := findGo(t.Context())
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"go.mod": toolsMod, "go.sum": toolsSum} {
		if err := atomicfile.Write(filepath.Join(dir, name), text); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := output(t.Context(), dir, g.program, "mod", "download", gonbModule); err != nil {
		t.Skipf("GoNB's source is not here: %v", err)
	}
	to := filepath.Join(dir, "gonb")
	if err := writeGonb(t.Context(), g, dir, to); err != nil {
		t.Fatal(err)
	}
	changed := map[string]bool{}
	for _, change := range gonbChanges {
		changed[change.file] = true
	}
	for _, name := range gonbAdded {
		changed[name] = true
	}
	for name := range changed {
		path := filepath.Join(to, name)
		if _, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution); err != nil {
			t.Error(err)
		}
	}
}
