//go:build unix

package atomicfile

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestModeIsTheUmasks(t *testing.T) {
	dir := t.TempDir()
	for _, umask := range []int{0o022, 0o027, 0o077, 0} {
		before := syscall.Umask(umask)
		path, program := filepath.Join(dir, "file"), filepath.Join(dir, "program")
		err := errors.Join(Write(path, nil), WriteProgram(program, nil))
		syscall.Umask(before)
		a, err1 := os.Stat(path)
		b, err2 := os.Stat(program)
		if err := errors.Join(err, err1, err2); err != nil {
			t.Fatal(err)
		}
		if a.Mode() != os.FileMode(0o666&^umask) || b.Mode() != os.FileMode(0o777&^umask) {
			t.Errorf("umask %03o gives %v and %v", umask, a.Mode(), b.Mode())
		}
	}
}

func TestSymlinksAreFollowed(t *testing.T) {
	dir := t.TempDir()
	far := filepath.Join(dir, "far", "file")
	if err := Write(far, []byte("old")); err != nil {
		t.Fatal(err)
	}
	link, second, dangling := filepath.Join(dir, "link"), filepath.Join(dir, "second"), filepath.Join(dir, "dangling")
	for name, to := range map[string]string{link: "far/file", second: "link", dangling: filepath.Join(dir, "far", "other"), filepath.Join(dir, "loop"): "loop"} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{link, second, dangling} {
		if err := Write(name, []byte(name)); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(name); err != nil || info.Mode()&os.ModeSymlink == 0 || content(t, name) != name {
			t.Errorf("%s: %v, %v, holds %q", name, err, info.Mode(), content(t, name))
		}
	}
	if content(t, far) != second || content(t, filepath.Join(dir, "far", "other")) != dangling {
		t.Error("the files behind the links have not changed")
	}
	if err := Write(filepath.Join(dir, "loop"), nil); err == nil {
		t.Error("a link to itself was written to")
	}
}

// What is no regular file is written to and stays what it is.
func TestOthersAreWrittenTo(t *testing.T) {
	dir := t.TempDir()
	fifo, socket := filepath.Join(dir, "fifo"), filepath.Join(dir, "socket")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	read := map[string]func() ([]byte, error){
		fifo: func() ([]byte, error) { return os.ReadFile(fifo) },
		socket: func() ([]byte, error) {
			c, err := listener.Accept()
			if err != nil {
				return nil, err
			}
			return io.ReadAll(c)
		},
	}
	for path, read := range read {
		before, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan string)
		go func() {
			data, err := read()
			got <- string(data) + errorText(err)
		}()
		if err := Write(path, []byte("text")); err != nil {
			t.Fatal(err)
		}
		if text := <-got; text != "text" {
			t.Errorf("%s: %q came", path, text)
		}
		if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) || after.Mode() != before.Mode() {
			t.Errorf("%s is no longer what it was: %v", path, err)
		}
	}
	if err := Create(fifo, func(*os.File) error { return nil }); !errors.Is(err, os.ErrExist) {
		t.Errorf("Create over a FIFO: %v", err)
	}
}

func errorText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestFullDevice(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/dev/full", link); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, []byte("text")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	}
	if to, err := os.Readlink(link); err != nil || to != "/dev/full" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}
