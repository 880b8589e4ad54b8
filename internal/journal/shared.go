package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"time"

	"github.com/certspec/certspec/internal/atomicfile"
)

// patience is how long Append and Update wait for other processes, which hold a file for as long as a write takes.
const patience = time.Minute

// Append adds lines to a file that several processes append to, and waits until they are safe from a power cut.
// The file and its folder are made; a last line that is torn is cut off. After an error the file is as it was.
func Append(path string, lines []byte) (err error) {
	f, err := atomicfile.Open(path, os.O_RDWR)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	err = retry(patience, func() error { return lockRegular(f) })
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	whole, err := wholeLines(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	w := On(f, path)
	w.end, w.beyond = whole, true
	w.Append(lines)
	return w.Sync()
}

// wholeLines is the length of a file up to its last newline.
func wholeLines(f *os.File) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	block := make([]byte, 1<<12)
	for end > 0 {
		from := max(0, end-int64(len(block)))
		part := block[:end-from]
		if _, err := f.ReadAt(part, from); err != nil {
			return 0, err
		}
		if at := bytes.LastIndexByte(part, '\n'); at >= 0 {
			return from + int64(at) + 1, nil
		}
		end = from
	}
	return 0, nil
}

// Update replaces a file by what change makes of it, nil where it is not there, so that updates of several
// processes come one after the other and readers find the file whole. What is no regular file is written to.
func Update(path string, change func(old []byte) ([]byte, error)) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		text, err := change(nil)
		if err != nil {
			return err
		}
		return atomicfile.Write(path, text)
	}
	release, err := Lock(path, patience)
	if err != nil {
		return err
	}
	defer release()
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := change(old)
	if err != nil || old != nil && bytes.Equal(old, text) {
		return err
	}
	return atomicfile.Write(path, text)
}

// Lock takes a file that is replaced whole for this process, by an empty file beside it, and waits at most so long
// for another one; then the error wraps ErrLocked.
func Lock(path string, wait time.Duration) (release func(), err error) {
	name := path + ".lock"
	err = retry(wait, func() error {
		f, err := atomicfile.Open(name, os.O_RDWR)
		if err != nil {
			return err
		}
		err = lockRegular(f)
		if err == nil && !atomicfile.Stands(f) { // who had it before took it away
			err = ErrLocked
		}
		if err != nil {
			f.Close()
			return err
		}
		release = func() {
			os.Remove(name)
			f.Close()
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return release, nil
}

// retry calls take as long as something is locked.
func retry(wait time.Duration, take func() error) error {
	for end := time.Now().Add(wait); ; {
		err := take()
		if !errors.Is(err, ErrLocked) || time.Now().After(end) {
			return err
		}
		time.Sleep(time.Duration(1+rand.IntN(10)) * time.Millisecond)
	}
}
