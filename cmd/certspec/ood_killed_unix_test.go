//go:build unix

package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/testkit"
)

// Bounds and attacks that are killed at random moments, and interrupted once, end with the bytes of runs that were not, the points of the
// attack included.
func TestOODKilled(t *testing.T) {
	model := oodModel(t, nil)
	for name, verb := range map[string][]string{
		"bound":  {"ood", "bound", "--model", model, "--data", "synthetic/test[count=500]", "--eps", "0.01"},
		"attack": {"ood", "attack", "--model", model, "--data", "synthetic/test[count=30]", "--eps", "0.01", "--attacks", "apgd,monotone", "--steps", "60", "--restarts", "1", "--monotone-steps", "20"},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(dir string) (args, files []string) {
				files = []string{filepath.Join(dir, "run.ood")}
				args = append(append([]string{}, verb...), "--out", files[0])
				if name == "attack" {
					files = append(files, filepath.Join(dir, "points.npy"))
					args = append(args, "--points", files[1])
				}
				return args, files
			}
			args, whole := run(t.TempDir())
			if text, code := output(t, args...); code != 0 {
				t.Fatalf("exit code %d: %s", code, text)
			}
			args, files := run(t.TempDir())
			random := rand.New(rand.NewPCG(7, 8))
			for life := range 4 {
				cmd, _, stderr := program(t, args...)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				before := int64(-1) // an interrupt is for a program that has begun: it wrote more than was there
				if there, err := os.Stat(files[0]); err == nil && life == 2 {
					before = there.Size()
				}
				for begun := time.Now(); time.Since(begun) < 10*time.Second; time.Sleep(time.Millisecond) {
					if now, err := os.Stat(files[0]); err == nil && now.Size() != before {
						break
					}
				}
				// Lines are written once a second, so that some lives end behind the first of them.
				time.Sleep(time.Duration(random.IntN([]int{100, 2000, 300, 1500}[life])) * time.Millisecond)
				signal := syscall.SIGKILL
				if life == 2 {
					signal = syscall.SIGINT
				}
				cmd.Process.Signal(signal)
				cmd.Wait()
				if code := cmd.ProcessState.ExitCode(); code == 0 {
					break // it was faster than the signal
				} else if signal == syscall.SIGINT && code != cli.ExitStopped {
					t.Errorf("after an interrupt exit code %d: %s", code, stderr)
				}
			}
			if text, code := output(t, args...); code != 0 {
				t.Fatalf("exit code %d: %s", code, text)
			}
			for i := range files {
				want := testkit.Read(t, whole[i])
				if got, err := os.ReadFile(files[i]); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s: %d bytes after kills, %d without, or others (%v)", filepath.Base(files[i]), len(got), len(want), err)
				}
			}
		})
	}
}
