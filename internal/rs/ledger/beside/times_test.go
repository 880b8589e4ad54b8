package beside

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/certspec/certspec/rs/ledger"
)

func TestTimes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	if _, err := ReadTimes(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no times: %v", err)
	}
	want := []Time{{20, 1100, 1.5}, {0, 100, 0}, {20, 400, 1234567.125}}
	for _, part := range [][]Time{want[:2], nil, want[2:]} {
		if err := AppendTimes(path, part); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := ReadTimes(path); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %v, %v", got, err)
	}
	whole, _ := os.ReadFile(TimesPath(path))
	os.WriteFile(TimesPath(path), whole[:len(whole)-1], 0o666)
	if got, err := ReadTimes(path); err != nil || !reflect.DeepEqual(got, want[:2]) {
		t.Errorf("torn: %v, %v", got, err)
	}
	for _, bad := range []string{"\n", "1\t2\n", "1 2 3\n", "1\t2\t-1\n", "1\t2\tNaN\n", "1\t2\tInf\n", "1\t2\t1e300\n", "-1\t2\t3\n", "1\t2\t3\t4\n", "x\n", strings.Repeat("1", 1<<16) + "\n"} {
		var format *ledger.FormatError
		if _, err := decodeTimes("x", strings.NewReader("1\t2\t3\n"+bad)); !errors.As(err, &format) || format.Line != 2 {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

func FuzzTimes(f *testing.F) {
	f.Add([]byte("20\t1100\t1.500\n0\t100\t0.000\n"))
	f.Add([]byte("20\t1100\t1.5"))
	f.Add([]byte("\x00\xff\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		times, err := decodeTimes("x", bytes.NewReader(b))
		if err != nil {
			return
		}
		sum := 0.0
		for _, at := range times {
			if at.Image < 0 || at.Samples < 0 {
				t.Errorf("%+v", at)
			}
			sum += at.Seconds
		}
		if !(sum >= 0) || math.IsInf(sum, 0) || len(times) != bytes.Count(b, []byte{'\n'}) {
			t.Errorf("%d times of %v seconds from %q", len(times), sum, b)
		}
	})
}
