//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/npy"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs"
)

// outputs are verbs that write a file, with the flag that names it last.
func outputs(t *testing.T) [][]string {
	t.Helper()
	ledger := shadesOfGrey(t, rs.Shard{})
	images := filepath.Join(t.TempDir(), "in.npy")
	var file bytes.Buffer
	if err := npy.WriteHeader(&file, "|u1", 1, 32, 32, 3); err != nil {
		t.Fatal(err)
	}
	file.Write(bytes.Repeat([]byte{0, 9, 200, 40}, 32*32*3/4))
	testkit.Write(t, file.Bytes(), images)
	return [][]string{
		{"ledger", "export", ledger, "-o"},
		{"merge", ledger, "-o"},
		{"ledger", "export", "--format", "canonical", ledger, "-o"},
		{"ledger", "metrics", ledger, "--format", "csv", "-o"},
		{"report", ledger, "--format", "md", "-o"},
		{"corrupt", "apply", "--name", "fog", "--severity", "1", "--seed", "1", "--in", images, "--out"},
		{"augment", "--name", "fouriermix", "--in", images, "--out"},
		{"spectral", "spectrum", "--profile", "--in", images, "--out"},
		{"spectral", "spectrum", "--in", images, "--out"},
	}
}

// A regular file is replaced with the mode that the umask gives; anything else stays what it is and gets the bytes.
func TestOutputKeepsWhatIsNoRegularFile(t *testing.T) {
	for _, args := range outputs(t) {
		t.Run(strings.Join(args[:2], " "), func(t *testing.T) {
			dir := t.TempDir()
			at := func(name string) string { return filepath.Join(dir, name) }
			start := func(path string) (string, error) {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", `umask 027; exec "$0" "$@"`, os.Args[0], "as-program"}, append(args, path)...)...)
				var stdout, stderr strings.Builder
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				err := cmd.Run()
				if err != nil {
					t.Log(&stderr)
				}
				return stdout.String(), err
			}

			if _, err := start(at("file")); err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(at("file"))
			if err != nil || len(want) == 0 {
				t.Fatalf("%v, %d bytes", err, len(want))
			}
			if info, err := os.Stat(at("file")); err != nil || info.Mode() != 0o640 {
				t.Errorf("under umask 027, the mode is %v", info.Mode())
			}
			if stdout, err := start("-"); err != nil || stdout != string(want) {
				t.Errorf("-: %v, standard output has %d bytes; want the %d of the file", err, len(stdout), len(want))
			}

			if err := os.Symlink("behind", at("link")); err != nil {
				t.Fatal(err)
			}
			if _, err := start(at("link")); err != nil {
				t.Error(err)
			}
			if to, err := os.Readlink(at("link")); err != nil || to != "behind" {
				t.Errorf("the link is gone: %v", err)
			}
			if got, err := os.ReadFile(at("behind")); err != nil || !bytes.Equal(got, want) {
				t.Errorf("behind the link: %v, %d bytes, want %d", err, len(got), len(want))
			}

			if err := syscall.Mkfifo(at("fifo"), 0o600); err != nil {
				t.Fatal(err)
			}
			fifo, err := os.OpenFile(at("fifo"), os.O_RDWR|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer fifo.Close()
			got := make(chan []byte)
			go func() {
				buffer, n := make([]byte, len(want)+1), 0
				for n < len(want) {
					fifo.SetReadDeadline(time.Now().Add(20 * time.Second))
					m, err := fifo.Read(buffer[n:])
					if err != nil {
						break
					}
					n += m
				}
				got <- buffer[:n]
			}()
			if _, err := start(at("fifo")); err != nil {
				t.Error(err)
			}
			if info, err := os.Lstat(at("fifo")); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
				t.Errorf("the FIFO is now %v", info.Mode())
				fifo.Close()
			}
			if got := <-got; !bytes.Equal(got, want) {
				t.Errorf("%d bytes came through the FIFO, want %d", len(got), len(want))
			}

			// A device node of our own, with the numbers of /dev/full, where we may make one; else a link to that.
			full := at("full")
			if err := syscall.Mknod(full, syscall.S_IFCHR|0o666, 1<<8|7); err != nil {
				if err := os.Symlink("/dev/full", full); err != nil {
					t.Fatal(err)
				}
			}
			if info, err := os.Stat(full); err != nil || info.Mode()&os.ModeDevice == 0 {
				t.Skip("no device like /dev/full on this system")
			}
			if _, err := start(full); err == nil {
				t.Error("a full device: exit code 0")
			}
			if info, err := os.Stat(full); err != nil || info.Mode()&os.ModeDevice == 0 {
				t.Error("the device is gone")
			}
		})
	}
}

// A verb whose answer nobody could read has failed.
func TestFullStandardOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	defer full.Close()
	for _, args := range [][]string{
		{"ledger", "verify", oldLedger}, {"ledger", "verify", "--json", oldLedger}, {"ledger", "info", oldLedger}, {"ledger", "metrics", oldLedger},
		{"corrupt", "list"}, {"dataset", "list"}, {"help"}, {"--version"}, {"bound", "--k", "990", "--n", "1000"},
	} {
		cmd, _, stderr := program(t, args...)
		cmd.Stdout = full
		err := cmd.Run()
		if cmd.ProcessState.ExitCode() != cli.ExitFailed || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%v: %v, %s", args, err, stderr)
		}
	}
}

// The next run removes what a killed one was writing.
func TestKilledMakeLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	temporary := func() (list []string) {
		list, err := filepath.Glob(filepath.Join(dir, ".*"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	args := []string{"corrupt", "make", "--data", "synthetic/test[max_index=300]", "--name", "glass_blur,elastic_transform", "--seed", "1", "--out", dir}
	cmd, _, stderr := program(t, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); len(temporary()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			cmd.Process.Kill()
			t.Fatalf("no temporary file: %s", stderr)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	if len(temporary()) == 0 {
		t.Skip("the file was finished before the kill")
	}
	cmd, _, stderr = program(t, args...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	if list := temporary(); len(list) > 0 {
		t.Errorf("%v is left", list)
	}
}
