package beside

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/classifier/purity"
	"github.com/certspec/certspec/rs/ledger"
)

func TestChecks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	parts := []purity.Found{{Answers: 100, Comparisons: 30, Largest: .5}, {Answers: 200, Comparisons: 60, Changed: 1, Largest: .25, First: "class 1, then class 2"}}
	for _, part := range parts {
		if err := AppendChecks(path, part); err != nil {
			t.Fatal(err)
		}
	}
	want := purity.Found{Answers: 300, Comparisons: 90, Changed: 1, Largest: .5, First: "class 1, then class 2"}
	if got, err := ReadChecks(path); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	whole, _ := os.ReadFile(checksPath(path))
	os.WriteFile(checksPath(path), whole[:len(whole)-1], 0o666)
	if got, err := ReadChecks(path); err != nil || got != parts[0] {
		t.Errorf("torn: %+v, %v", got, err)
	}
	for _, bad := range []string{"x\n", "\n", "{} {}\n", strings.Repeat("1", 1<<16) + "\n"} {
		os.WriteFile(checksPath(path), []byte("{}\n"+bad), 0o666)
		var format *ledger.FormatError
		if _, err := ReadChecks(path); !errors.As(err, &format) || format.Line != 2 {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}
