// Package atomicfile writes files whole: a reader finds the old content or the new one, also after a power cut.
//
// A regular file is written under another name in the same folder, synced, renamed, and its name
// synced; it gets the mode that the umask gives. A symlink is followed. What is no regular file (a
// FIFO, a socket, a device) is written to, never replaced.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Write makes the missing folders and writes data to path.
func Write(path string, data []byte) error {
	return Build(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteProgram is Write for a file that can be run.
func WriteProgram(path string, data []byte) error {
	return replace(path, 0o777, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Build is Write for what fill writes; after an error of fill a regular file stays as it was.
func Build(path string, fill func(w io.Writer) error) error { return replace(path, 0o666, fill) }

func replace(path string, mode fs.FileMode, fill func(w io.Writer) error) error {
	path, info, err := target(path)
	if err != nil {
		return err
	}
	if info != nil && !info.Mode().IsRegular() {
		return into(path, info, fill)
	}
	return build(path, mode, func(f *os.File) error { return fill(f) }, func(string) error { return nil })
}

// Create makes a file that is not there, in whatever order fill writes it. A file that is there stays as it is, and is
// an error that wraps fs.ErrExist unless it has the same content.
func Create(path string, fill func(f *os.File) error) error {
	path, info, err := target(path)
	if err != nil {
		return err
	}
	if info != nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: %w and is no regular file", path, fs.ErrExist)
	}
	err = build(path, 0o666, fill, func(made string) error {
		switch same, err := sameContent(made, path); {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case same:
			return errUnneeded
		}
		return fmt.Errorf("%s: %w with another content", path, fs.ErrExist)
	})
	if err == errUnneeded {
		return nil
	}
	return err
}

// errUnneeded keeps build from replacing a file by its equal.
var errUnneeded = errors.New("the file is there")

// To writes what fill writes to path as Build does, or to stdout where path is empty or "-".
func To(path string, stdout io.Writer, fill func(w io.Writer) error) error {
	if path == "" || path == "-" {
		return fill(stdout)
	}
	return Build(path, fill)
}

// ToAnyOrder is To for a fill that writes here and there. What only takes bytes in order gets them
// at the end, from a file in the system's temporary folder.
func ToAnyOrder(path string, stdout io.Writer, fill func(f *os.File) error) error {
	ordered := path == "" || path == "-"
	if !ordered {
		whole, info, err := target(path)
		if err != nil {
			return err
		}
		if info == nil || info.Mode().IsRegular() {
			return build(whole, 0o666, fill, func(string) error { return nil })
		}
	}
	f, err := os.CreateTemp("", "certspec-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := fill(f); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return To(path, stdout, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}

// ToNamed is To for a fill that makes a file by its name. What is no regular file gets the bytes of
// one that is made in the system's temporary folder.
func ToNamed(path string, stdout io.Writer, fill func(path string) error) error {
	if path != "" && path != "-" {
		_, info, err := target(path)
		if err != nil {
			return err
		}
		if info == nil || info.Mode().IsRegular() {
			return fill(path)
		}
	}
	dir, err := os.MkdirTemp("", "certspec-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, "file")
	if err := fill(made); err != nil {
		return err
	}
	if all, err := os.ReadDir(dir); err == nil && len(all) > 1 {
		return fmt.Errorf("%q takes one file, and there is a second one that belongs to it (*%s); expected the name "+
			"of a file", path, strings.TrimPrefix(all[1].Name(), "file"))
	}
	f, err := os.Open(made)
	if err != nil {
		return err
	}
	defer f.Close()
	return To(path, stdout, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}

// Try makes a file in a folder and removes it: permissions alone do not tell whether that works.
func Try(folder string) error {
	f, err := temporary(folder, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// target follows symlinks to the file that they name, which need not be there: info is then nil.
func target(path string) (string, fs.FileInfo, error) {
	const most = 40 // links in a row, as Linux has it
	for range most {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil, nil
		}
		if err != nil {
			return "", nil, err
		}
		if info.IsDir() {
			return "", nil, fmt.Errorf("%s is a folder; expected the name of a file", path)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return path, info, nil
		}
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return path, info, nil // a link below /proc may name what has no path
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", nil, err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", nil, fmt.Errorf("%s: too many symlinks", path)
}

// into writes to a FIFO, a socket or a device.
func into(path string, info fs.FileInfo, fill func(w io.Writer) error) error {
	var f *os.File
	var err error
	if info.Mode()&fs.ModeSocket != 0 {
		f, err = dial(path)
	} else {
		f, err = os.OpenFile(path, os.O_WRONLY, 0)
	}
	if err != nil {
		return err
	}
	err = fill(f)
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}

// build fills a temporary file and gives it its name, unless ready, which gets the temporary name, has an error.
func build(path string, mode fs.FileMode, fill func(f *os.File) error, ready func(made string) error) error {
	dir := filepath.Dir(path)
	if err := makeFolder(dir); err != nil {
		return err
	}
	sweepOnce(dir)
	f, err := temporary(dir, mode)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // no longer there after the rename
	defer f.Close()
	if err := fill(f); err != nil {
		return err
	}
	if err := syncFile(f); err != nil {
		return err
	}
	if err := ready(f.Name()); err != nil {
		return err
	}
	if err := rename(f, path); err != nil {
		return err
	}
	return syncFolder(dir)
}

// makeFolder makes a folder and what is missing above it, and syncs the name of each.
func makeFolder(dir string) error {
	err := os.Mkdir(dir, 0o777)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		if err := makeFolder(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o777)
	}
	if err == nil {
		return syncFolder(filepath.Dir(dir))
	}
	if info, other := os.Stat(dir); other == nil && info.IsDir() {
		return nil
	}
	return err
}

// sameContent compares two files.
func sameContent(a, b string) (bool, error) {
	in, err := os.Open(b)
	if err != nil {
		return false, err
	}
	defer in.Close()
	other, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer other.Close()
	x, y := make([]byte, 1<<16), make([]byte, 1<<16)
	for {
		n, err1 := io.ReadFull(in, x)
		m, err2 := io.ReadFull(other, y)
		end1, end2 := err1 == io.EOF || err1 == io.ErrUnexpectedEOF, err2 == io.EOF || err2 == io.ErrUnexpectedEOF
		switch {
		case err1 != nil && !end1:
			return false, err1
		case err2 != nil && !end2:
			return false, err2
		case string(x[:n]) != string(y[:m]) || end1 != end2:
			return false, nil
		case end1:
			return true, nil
		}
	}
}
