package rs_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// Whatever reads a ledger refuses one whose header two readers may understand otherwise, though its digest is right.
func TestEveryReaderRefusesASecondHeader(t *testing.T) {
	good := testkit.Read(t, "testdata/v1-staged.ledger")
	altered := bytes.Replace(good, []byte(`"alpha":0.001,`), []byte(`"alpha":0.000001,"ALPHA":0.001,`), 1)
	altered = altered[:bytes.LastIndex(altered, []byte("sha256 "))]
	altered = fmt.Appendf(altered, "sha256 %x\n", sha256.Sum256(altered))
	path := filepath.Join(t.TempDir(), "x")
	os.WriteFile(path, altered, 0o666)
	out := filepath.Join(t.TempDir(), "out")
	model := classifier.Step{Shape: oneGrey, Thresholds: []float64{.5}}
	data := memory{&dataset.Images{Name: "greys", Digest: "sha256:greys", Shape: oneGrey, IDs: []int{0}, Labels: []int{0}, Pixels: []uint8{9}}}
	for name, read := range map[string]func() error{
		"Open":      func() error { _, err := rs.Open(path); return err },
		"OpenAt":    func() error { _, err := rs.OpenAt(path, 1e-5); return err },
		"Verify":    func() error { _, err := rs.Verify(t.Context(), path); return err },
		"Canonical": func() error { _, err := rs.Canonical(t.Context(), out, path); return err },
		"Merge":     func() error { _, err := rs.Merge(t.Context(), out, []string{path}, true); return err },
		"Replay":    func() error { _, err := rs.Replay(t.Context(), path, model, data, rs.ReplayOptions{}); return err },
		"Certify": func() error {
			_, err := rs.Certify(t.Context(), model, data, rs.Options{Sigma: .25, Ledger: path})
			return err
		},
	} {
		var format *ledger.FormatError
		if err := read(); !errors.As(err, &format) || format.Line != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
