package rs_test

import (
	"context"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

// scattered answers a class by the checksum of a noise sample.
type scattered struct {
	classifier.Constant
	calls *int
}

func (m scattered) Info() (classifier.Info, error) {
	info, err := m.Constant.Info()
	info.Logits = false
	return info, err
}

func (m scattered) Classify(_ context.Context, batch classifier.Batch, result *classifier.Result) error {
	*m.calls++
	size := m.Shape.Len()
	bytes := make([]byte, size)
	for i := range batch.N {
		for k, v := range batch.Grid[i*size:][:size] {
			bytes[k] = byte(v)
		}
		result.Classes[i] = int32(crc32.ChecksumIEEE(bytes) % uint32(m.Classes))
	}
	return nil
}

// What certify writes is read, verified and gone on with, however many classes a line counts; where it would not
// be, nothing is asked of the model.
func TestManyClasses(t *testing.T) {
	shape := pixel.Shape{Height: 4, Width: 4, Channels: 1}
	data := greys(shape, always(0), 7, 200)
	for _, classes := range []int{10, 1000, 100_000, 1_000_001} {
		calls := 0
		m := scattered{classifier.Constant{Shape: shape, Classes: classes}, &calls}
		path := filepath.Join(t.TempDir(), "l")
		o := rs.Options{Sigma: .25, Rule: rs.Fixed, MaxSamples: 60_000, Block: 1000, Selection: 1000,
			Ledger: path, Workers: 1}
		_, err := rs.Certify(t.Context(), m, data, o)
		if classes > 1_000_000 {
			if err == nil || !strings.Contains(err.Error(), "1000001 classes, want at most 1000000") || calls > 0 {
				t.Errorf("%v after %d calls", err, calls)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || classes == 100_000 && info.Size() < 2*(1<<18) {
			t.Errorf("%d classes: %v, %v", classes, info, err)
		}
		if _, err := rs.Verify(t.Context(), path); err != nil {
			t.Errorf("%d classes: %v", classes, err)
		}
		before := calls
		if _, err := rs.Certify(t.Context(), m, data, o); err != nil || calls > before {
			t.Errorf("%d classes again: %v, %d calls", classes, err, calls-before)
		}
	}
}
