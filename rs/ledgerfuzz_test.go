package rs_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// Whatever the file: no reader panics, loops or allocates without bound, what is verified is its own canonical
// form and merges into itself, and what merges in part can be read.
func FuzzLedgerReaders(f *testing.F) {
	m, data := mixed(5)
	var bases [][]byte
	add := func(b []byte) {
		which := uint8(len(bases))
		f.Add(which, uint16(0), uint8(0), []byte{})
		f.Add(which, uint16(len(b)*2/3), uint8(255), []byte{})
		bases = append(bases, b)
	}
	for _, file := range oldLedgers[:2] {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		add(b)
	}
	for _, opt := range mergeOptions {
		for _, by := range []string{ledger.ShardImages, ledger.ShardBlocks} {
			if by == ledger.ShardBlocks && opt.Rule != rs.Fixed {
				continue
			}
			opt.Ledger = filepath.Join(f.TempDir(), "x")
			opt.Shard = rs.Shard{By: by, Index: 1, Count: 2}
			if _, err := rs.Certify(f.Context(), m, data, opt); err != nil {
				f.Fatal(err)
			}
			b, err := os.ReadFile(opt.Ledger)
			if err != nil {
				f.Fatal(err)
			}
			add(b)
		}
	}
	images := []byte(`"images":12`)
	f.Add(uint8(0), uint16(bytes.Index(bases[0], images)), uint8(len(images)), []byte(`"images":1125899906842624`))
	dir := f.TempDir() // of this process, for all inputs
	in := filepath.Join(dir, "in")
	f.Fuzz(func(t *testing.T, which uint8, at uint16, cut uint8, put []byte) {
		for _, b := range [][]byte{testkit.Edit(bases[int(which)%len(bases)], at, cut, put)} {
			testkit.Write(t, b, in)
			verified, err := rs.Verify(t.Context(), in)
			if verified.Scores == "missing" {
				err = fs.ErrNotExist // what is written anew takes its scores along
			}
			out := filepath.Join(dir, "out")
			if complete, failed := rs.Canonical(t.Context(), out, in); err == nil && (failed != nil || !complete) {
				t.Errorf("verified, %+v, but not canonical: %v", verified, failed)
			} else if written, _ := os.ReadFile(out); err == nil && !bytes.Equal(written, b) {
				t.Errorf("verified, but the canonical form is\n%s", written)
			}
			os.Remove(out)
			if _, failed := rs.Merge(t.Context(), out, []string{in, in}, true); failed == nil {
				if _, failed = ledgerio.Read(out); failed != nil {
					t.Errorf("merged into what cannot be read: %v", failed)
				}
			} else if err == nil {
				t.Errorf("verified, but does not merge: %v", failed)
			}
			rs.Open(in)
			os.Remove(out)
		}
	})
}
