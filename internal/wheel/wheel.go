// Package wheel fetches single files out of pinned wheels of the Python package index,
// through pip, into folders of certspec's cache. Several shared libraries are published
// in no other place for every platform.
package wheel

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/progress"
)

// Wheel names one wheel file. Platform and Python are chosen by what is to be unpacked,
// not by the user's own Python, which only runs pip.
type Wheel struct {
	Package  string
	Version  string
	Platform string // tag, e.g. "manylinux_2_28_x86_64"
	Python   string // e.g. "3.11"; any version will do for a wheel tagged py3
	SHA256   string // of the wheel file, hexadecimal
}

// Install unpacks files of w into the new folder dir. The function keep maps a name in the
// wheel to a name in dir, or to "" for a file that is not needed. A folder that is already
// there is left alone: it appears whole, in one step, and two programs may ask for it at once.
func Install(ctx context.Context, w Wheel, dir string, keep func(name string) string, show progress.Reporter) error {
	if exists(dir) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("install %s: %w", w, err)
	}
	lock := flock.New(dir + ".lock")
	if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
		return fmt.Errorf("install %s: another program holds %s: %w", w, lock.Path(), err)
	}
	defer lock.Unlock()
	if exists(dir) {
		return nil
	}

	pattern := "." + filepath.Base(dir) + "-*"
	// of installations that were killed: this one has the lock
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), pattern))
	for _, folder := range left {
		os.RemoveAll(folder)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), pattern)
	if err != nil {
		return fmt.Errorf("install %s: %w", w, err)
	}
	defer os.RemoveAll(work)
	show.Say("downloading %s through pip", w)
	file, err := download(ctx, w, work)
	if err != nil {
		return err
	}
	unpacked := filepath.Join(work, "unpacked")
	if err := unpack(file, w, unpacked, keep); err != nil {
		return fmt.Errorf("install %s: %w", w, err)
	}
	if err := atomicfile.Rename(unpacked, dir); err != nil {
		return fmt.Errorf("install %s: %w", w, err)
	}
	return nil
}

func (w Wheel) String() string { return fmt.Sprintf("%s %s (%s)", w.Package, w.Version, w.Platform) }

// download lets pip put the wheel into dir and returns its path.
func download(ctx context.Context, w Wheel, dir string) (string, error) {
	python, err := pyenv.Ensure(ctx, pyenv.Pip, nil)
	if err != nil {
		return "", fmt.Errorf("install %s: pip is needed: %w", w, err)
	}
	requirements := filepath.Join(dir, "requirements.txt")
	line := fmt.Sprintf("%s==%s --hash=sha256:%s\n", w.Package, w.Version, w.SHA256)
	if err := atomicfile.Write(requirements, []byte(line)); err != nil {
		return "", fmt.Errorf("install %s: %w", w, err)
	}
	cmd := exec.CommandContext(ctx, python, "-m", "pip", "download", "--quiet", "--no-input",
		"--disable-pip-version-check",
		"--no-deps", "--require-hashes", "--only-binary=:all:", "--platform", w.Platform, "--python-version", w.Python,
		"--dest", dir, "--requirement", requirements)
	cmd.Env = append(os.Environ(), "PYTHONPATH=", "PYTHONHOME=")
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	switch {
	case err != nil && strings.Contains(string(output), "DO NOT MATCH THE HASHES"):
		return "", fmt.Errorf("install %s: pip found a file with another SHA-256 than %s", w, w.SHA256)
	case err != nil:
		return "", fmt.Errorf("install %s: pip could not download it (is there a network?): %s", w,
			lastError(string(output), err))
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("install %s: %w", w, err)
	}
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) == ".whl" {
			return filepath.Join(dir, entry.Name()), nil
		}
	}
	return "", fmt.Errorf("install %s: pip reported success and left no wheel", w)
}

// lastError is the last line of pip's that calls itself an error.
func lastError(output string, err error) string {
	text := err.Error()
	for line := range strings.Lines(output) {
		if message, found := strings.CutPrefix(strings.TrimSpace(line), "ERROR: "); found {
			text = message
		}
	}
	return text
}

// unpack writes the wanted files of a wheel into the new folder dir, after a check of the
// wheel that does not depend on the version of pip.
func unpack(file string, w Wheel, dir string, keep func(name string) string) error {
	if err := checkDigest(file, w.SHA256); err != nil {
		return err
	}
	archive, err := zip.OpenReader(file)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	defer archive.Close()
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	kept := 0
	for _, member := range archive.File {
		name := keep(member.Name)
		if name == "" {
			continue
		}
		if !filepath.IsLocal(name) || path.Base(name) != name {
			panic("wheel: keep must give plain file names, not " + name)
		}
		if err := unpackFile(member, filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("%s in %s: %w", member.Name, filepath.Base(file), err)
		}
		kept++
	}
	if kept == 0 {
		return fmt.Errorf("%s holds none of the files that are needed", filepath.Base(file))
	}
	return nil
}

func unpackFile(member *zip.File, path string) error {
	in, err := member.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

func checkDigest(path, want string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, in); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("%s has SHA-256 %s; expected %s", filepath.Base(path), got, want)
	}
	return nil
}

const lockRetry = 200 * time.Millisecond

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
