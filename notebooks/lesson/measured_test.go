package lesson

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/internal/atomicfile"
)

// A file is read once for each content.
func TestMeasured(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ood")
	write := func(from string) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join("../../notebooks/results/ood", from))
		if err == nil {
			err = atomicfile.Write(path, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("fmnist-good80-mnist.ood")
	first := Measured(path)
	if Measured(path) != first {
		t.Error("the file was read twice")
	}
	write("fmnist-good80-in.ood")
	if second := Measured(path); second.Header.Data.Digest == first.Header.Data.Digest {
		t.Error("the file has changed, what was read has not")
	}
}
