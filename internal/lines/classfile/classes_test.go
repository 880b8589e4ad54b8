package classfile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFormatIDs(t *testing.T) {
	for want, ids := range map[string][]int{"": nil, "7": {7}, "7,9": {7, 9}, "1,5,6,9:12:1": {1, 5, 6, 9, 10, 11}, "0:4:1": {0, 1, 2, 3}, "0:201:100": {0, 100, 200}, "0:3:1,10:31:10": {0, 1, 2, 10, 20, 30}} {
		if got := FormatIDs(ids); got != want {
			t.Errorf("%v: %s; expected %s", ids, got, want)
		}
	}
}

func FuzzReadClasses(f *testing.F) {
	path := filepath.Join(f.TempDir(), "c.npy")
	if err := Write(path, []int{1, -1}); err != nil {
		f.Fatal(err)
	}
	data, _ := os.ReadFile(path)
	f.Add(data)
	f.Add([]byte("[1, 2]"))
	f.Fuzz(func(t *testing.T, data []byte) { decodeClasses(data) })
}
