package textfile

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/certspec/certspec/internal/testkit"
)

func TestMark(t *testing.T) {
	for text, want := range map[string]string{
		"\ufeff{}": "{}", "{}": "{}", "\ufeff": "", "": "", "\xef\xbb": "\xef\xbb", "\ufeff\ufeffa": "\ufeffa", "a\ufeff": "a\ufeff",
	} {
		path := testkit.Write(t, []byte(text), t.TempDir(), "file")
		if got, err := Read(path); string(got) != want || err != nil {
			t.Errorf("file %q is %q, %v", text, got, err)
		}
		if got, err := io.ReadAll(NewReader(iotest.OneByteReader(strings.NewReader(text)))); string(got) != want || err != nil {
			t.Errorf("%q reads as %q, %v", text, got, err)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("no file: %v", err)
	}
}
