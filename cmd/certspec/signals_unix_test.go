//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs"
)

// On SIGTERM and on SIGUSR1 the program ends with 75 and a ledger that it goes on with, which then has the bytes of one that was
// never stopped.
func TestStopSignals(t *testing.T) {
	args := func(kind, ledger string) []string {
		return []string{"certify", "--exec", childModel(kind), "--data", "synthetic/test[max_index=12]", "--sigma", "0.25",
			"--n", "800", "--block", "50", "--out", ledger}
	}
	undisturbed := filepath.Join(t.TempDir(), "undisturbed.ledger")
	if _, code := output(t, args("steady", undisturbed)...); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	want := testkit.Read(t, undisturbed)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGUSR1} {
		t.Run(signal.String(), func(t *testing.T) {
			ledger := filepath.Join(t.TempDir(), "stopped.ledger")
			cmd, stdout, stderr := program(t, args("slow", ledger)...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			recorded := 0
			for recorded < 3 { // the header and two looks
				select {
				case err := <-ended:
					t.Fatalf("it ended by itself: %v: %s", err, stderr)
				case <-time.After(5 * time.Millisecond):
				}
				text, _ := os.ReadFile(ledger)
				recorded = bytes.Count(text, []byte("\n"))
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			<-ended
			if code := cmd.ProcessState.ExitCode(); code != cli.ExitStopped || stdout.Len() > 0 || !strings.Contains(stderr.String(), "run the same command again") {
				t.Errorf("exit code %d: %s%s", code, stdout, stderr)
			}
			left, err := os.ReadFile(ledger)
			final, _, _ := bytes.Cut(left, []byte("\n~")) // then come looks that are begun
			if err != nil || !bytes.HasPrefix(want, final) || bytes.Count(left, []byte("\n")) < recorded {
				t.Errorf("%v: it left, of %d lines before the signal:\n%s", err, recorded, left)
			}
			if run, err := rs.Open(ledger); err != nil || run.Complete() {
				t.Errorf("the ledger that was left: %v", err)
			}
			if _, code := output(t, args("steady", ledger)...); code != 0 {
				t.Errorf("again: exit code %d", code)
			}
			if got, err := os.ReadFile(ledger); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%v: after the stop and the second run:\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}

// A model that answers no more is ended by the first interrupt, when the time for calls under way is over: the program
// ends with 75, and nothing that was recorded is lost.
func TestInterruptReachesASilentModel(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "silent.ledger")
	cmd, _, stderr := program(t, "certify", "--exec", childModel("silent"), "--data", "synthetic/test[max_index=12]", "--sigma", "0.25",
		"--n", "8000", "--block", "50", "--out", ledger)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for recorded := 0; recorded < 2; { // the header and what was answered
		select {
		case err := <-ended:
			t.Fatalf("it ended by itself: %v: %s", err, stderr)
		case <-time.After(5 * time.Millisecond):
		}
		text, _ := os.ReadFile(ledger)
		recorded = bytes.Count(text, []byte("\n"))
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-ended
	if code := cmd.ProcessState.ExitCode(); code != cli.ExitStopped || !strings.Contains(stderr.String(), "stopped on request") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if run, err := rs.Open(ledger); err != nil || run.Complete() {
		t.Errorf("the ledger that was left: %v", err)
	}
}
