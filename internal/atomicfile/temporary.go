package atomicfile

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// prefix begins the names of temporary files. A writer holds the lock of its own as long as it lives, which is
// how what a killed one left is told from what another one is writing.
const prefix = ".writing-"

// temporary makes a file for this process in dir, with what the umask leaves of the mode.
func temporary(dir string, mode fs.FileMode) (*os.File, error) {
	const tries = 100
	for try := 0; ; try++ {
		name := filepath.Join(dir, prefix+strconv.FormatUint(rand.Uint64(), 10))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if err == nil {
			// Between its creation and its lock, another process may have taken it for a left-over one.
			if _, locking := TryLock(f); locking != nil || Stands(f) {
				return f, nil
			}
			f.Close()
		} else if !os.IsExist(err) {
			return nil, err
		}
		if try == tries {
			return nil, &os.PathError{Op: "create a temporary file in", Path: dir, Err: fs.ErrExist}
		}
	}
}

// Stands reports whether the name of a file still leads to it.
func Stands(f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(mine, there)
}

// Sweep removes from a folder the temporary files of writers that no longer live. What cannot be removed, stays.
func Sweep(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		digits, found := strings.CutPrefix(e.Name(), prefix)
		if _, err := strconv.ParseUint(digits, 10, 64); !found || err != nil || !e.Type().IsRegular() {
			continue
		}
		sweep(filepath.Join(dir, e.Name()))
	}
}

func sweep(path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || time.Since(info.ModTime()) < settled {
		return
	}
	if locked, err := TryLock(f); err != nil || !locked || !Stands(f) {
		return
	}
	remove(f)
}

var swept sync.Map // folders

// sweepOnce sweeps a folder the first time that this process writes there.
func sweepOnce(dir string) {
	if whole, err := filepath.Abs(dir); err == nil {
		dir = whole
	}
	if _, before := swept.LoadOrStore(dir, true); !before {
		Sweep(dir)
	}
}
