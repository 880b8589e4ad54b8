package setfolder

import (
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/testkit"
)

// A set that is larger than memory is corrupted in pieces.
func TestMakeOfMoreThanMemory(t *testing.T) {
	const n = 9_800 // 276 MB of pixels, all black, of which the file holds nothing
	if testing.Short() {
		t.Skip("-short: writes 276 MB")
	}
	if testkit.Given() == "" {
		testkit.Limited(t, "ulimit -d 270000", "1", cache.Variable+"="+t.TempDir(), "GOMAXPROCS=2", "GOMEMLIMIT=120MiB")
		return
	}
	dir := t.TempDir()
	d := open(t, "npy:"+testkit.Sparse(t, filepath.Join(dir, "images.npy"), "|u1", n, 97, 97, 3)+","+
		testkit.Sparse(t, filepath.Join(dir, "labels.npy"), "|u1", n))
	m, err := Make(t.Context(), d, filepath.Join(dir, "out"),
		[]corrupt.File{{Name: "brightness.npy", Settings: []corrupt.Setting{{Name: "brightness", Severity: 1}}}}, MakeOptions{})
	if err != nil || m.Files[0].Shape[0] != n {
		t.Errorf("%+v: %v", m, err)
	}
}
