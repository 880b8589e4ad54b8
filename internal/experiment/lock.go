package experiment

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

const lockFile = ".lock"

// lock takes a folder for this process; the function gives it back.
func lock(folder string) (release func(), err error) {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	l := flock.New(filepath.Join(folder, lockFile))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	if !ok {
		return nil, fmt.Errorf("experiment: another process works in folder %s", folder)
	}
	return func() { l.Unlock() }, nil
}
