package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A model that is no function of its input is refused by name before anything is recorded; the same command with a model
// that is one runs.
func TestCertifyRefusesAModelThatDoesNotRepeatItself(t *testing.T) {
	for kind, want := range map[string][]string{
		"random":     {"model means cannot be certified", "asked twice", "evaluation, without dropout"},
		"neighbours": {"model means cannot be certified", "beside others", "batch normalisation"},
		"steady":     nil,
	} {
		ledger := filepath.Join(t.TempDir(), "x.ledger")
		cmd, stdout, stderr := program(t, "certify", "--exec", childModel(kind), "--data", "synthetic/test[max_index=3]", "--sigma", "0.25",
			"--n", "200", "--ledger", ledger)
		cmd.Run()
		_, err := os.Stat(ledger)
		if want == nil {
			if code := cmd.ProcessState.ExitCode(); code != 0 || err != nil || !strings.Contains(stdout.String(), "means") {
				t.Errorf("%s: exit code %d, ledger %v: %s%s", kind, code, err, stdout, stderr)
			}
			continue
		}
		if code := cmd.ProcessState.ExitCode(); code != exitFailed || !os.IsNotExist(err) || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, ledger %v: %s", kind, code, err, stdout)
		}
		for _, words := range want {
			if !strings.Contains(stderr.String(), words) {
				t.Errorf("%s: no %q in %s", kind, words, stderr)
			}
		}
	}
}
