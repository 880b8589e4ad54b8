package atomicfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// names lists what a folder holds.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func content(t *testing.T, path string) string {
	t.Helper()
	data := testkit.Read(t, path)
	return string(data)
}

func TestBuildReplacesWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "file")
	if err := Write(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("no more")
	err := Build(path, func(w io.Writer) error {
		w.Write([]byte("half of the n"))
		return failed
	})
	if err != failed || content(t, path) != "old" {
		t.Errorf("%v, the file holds %q", err, content(t, path))
	}
	if err := Write(path, []byte("new")); err != nil || content(t, path) != "new" {
		t.Errorf("%v, the file holds %q", err, content(t, path))
	}
	if list := names(t, filepath.Dir(path)); !slices.Equal(list, []string{"file"}) {
		t.Errorf("the folder holds %v", list)
	}
	if err := Write(dir, nil); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: %v", err)
	}
}

// After a power cut, a name that was not synced may be gone, and one whose file was not synced may lead to nothing: first the
// content, then the name, and names of folders in the folders above.
func TestBuildSyncs(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new", "file")
	var steps []string
	defer func(a func(*os.File) error, b func(string) error) { syncFile, syncFolder = a, b }(syncFile, syncFolder)
	syncFile = func(f *os.File) error {
		if _, err := os.Stat(path); err == nil {
			t.Error("the file has its name before its content is synced")
		}
		if content(t, f.Name()) != "text" {
			t.Error("synced before it is written")
		}
		steps = append(steps, "content")
		return nil
	}
	syncFolder = func(folder string) error {
		step, _ := filepath.Rel(dir, folder)
		if _, err := os.Stat(path); err == nil {
			step += " with the file"
		}
		steps = append(steps, step)
		return nil
	}
	if err := Write(path, []byte("text")); err != nil {
		t.Fatal(err)
	}
	if want := []string{".", "content", "new with the file"}; !slices.Equal(steps, want) {
		t.Errorf("%q, want %q", steps, want)
	}
	steps = nil
	path = filepath.Join(dir, "appended")
	f, err := Open(path, os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if want := []string{". with the file"}; !slices.Equal(steps, want) {
		t.Errorf("Open: %q, want %q", steps, want)
	}
}

// A disk that is found to be full when the file is flushed leaves the old file and nothing beside it.
func TestBuildOnFullDisk(t *testing.T) {
	defer func(a func(*os.File) error) { syncFile = a }(syncFile)
	path := filepath.Join(t.TempDir(), "file")
	if err := Write(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left")
	syncFile = func(*os.File) error { return full }
	if err := Write(path, []byte("new")); err != full || content(t, path) != "old" || len(names(t, filepath.Dir(path))) != 1 {
		t.Errorf("%v, the file holds %q, the folder %v", err, content(t, path), names(t, filepath.Dir(path)))
	}
}

func TestCreateKeepsWhatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	create := func(text string) error {
		return Create(path, func(f *os.File) error {
			_, err := f.WriteString(text)
			return err
		})
	}
	if err := errors.Join(create("text"), create("text")); err != nil {
		t.Error(err)
	}
	for _, other := range []string{"", "texts", "tex", "test", strings.Repeat("text", 1<<16)} {
		if err := create(other); !errors.Is(err, fs.ErrExist) || content(t, path) != "text" {
			t.Errorf("%.10q: %v; the file holds %q", other, err, content(t, path))
		}
	}
	if list := names(t, filepath.Dir(path)); len(list) != 1 {
		t.Errorf("the folder holds %v", list)
	}
}

func TestStandardOutput(t *testing.T) {
	for _, path := range []string{"", "-"} {
		var a, b, c bytes.Buffer
		err := errors.Join(
			To(path, &a, func(w io.Writer) error { _, err := w.Write([]byte("text")); return err }),
			ToAnyOrder(path, &b, func(f *os.File) error {
				_, err := f.WriteAt([]byte("xt"), 2)
				_, err2 := f.WriteAt([]byte("te"), 0)
				return errors.Join(err, err2)
			}),
			ToNamed(path, &c, func(path string) error { return Write(path, []byte("text")) }))
		if err != nil || a.String() != "text" || b.String() != "text" || c.String() != "text" {
			t.Errorf("%q: %v: %q, %q, %q", path, err, &a, &b, &c)
		}
	}
	var out bytes.Buffer
	err := ToNamed("-", &out, func(path string) error { return errors.Join(Write(path, nil), Write(path+".scores", nil)) })
	if err == nil || !strings.Contains(err.Error(), ".scores") {
		t.Errorf("two files in one stream: %v", err)
	}
}

// A temporary file goes when its writer is dead, not before; nothing else goes.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	alive, err := temporary(dir, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	left := filepath.Join(dir, prefix+"123")
	keep := []string{filepath.Base(alive.Name()), prefix + "notes", prefix + "12.txt", ".writing", "writing-1"}
	for _, name := range append(keep[1:], filepath.Base(left)) {
		testkit.Write(t, []byte("x"), dir, name)
	}
	if settled > 0 {
		t.Skipf("left-over files are removed after %v on this system", settled)
	}
	if err := Write(filepath.Join(dir, "file"), nil); err != nil { // the first of this process in this folder
		t.Fatal(err)
	}
	slices.Sort(keep)
	got := names(t, dir)
	if want := slices.Sorted(slices.Values(append(keep, "file"))); !slices.Equal(got, want) {
		t.Errorf("%q stay, want %q", got, want)
	}
	alive.Close()
	Sweep(dir)
	if _, err := os.Stat(alive.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the file of a writer that is gone stays")
	}
}
