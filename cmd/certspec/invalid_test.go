package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/rs"
)

// Outputs that are not finite: more than 1 % are a warning in text and JSON, all of them exit code 1, and what was computed stays.
func TestOutputsThatAreNotFinite(t *testing.T) {
	for _, c := range []struct {
		kind, says string
		code       int
		ledger     bool
	}{
		{"often nothing", "gives no finite output for", 0, true},
		{"nothing but extremes", "gives no finite output for any of", cli.ExitFailed, true},
		{"nothing", "gives no finite output for any of", cli.ExitFailed, false}, // before a run
	} {
		folder := t.TempDir()
		common := []string{"--exec", childModel(c.kind), "--data", "synthetic/test[max_index=3]", "--sigma", "0.25"}
		ledger := filepath.Join(folder, "x.ledger")
		for _, args := range [][]string{
			{"certify", "--rule", "fixed", "--n", "200", "--out", ledger, "--json"},
			{"certify", "--rule", "fixed", "--n", "200", "--out", ledger},
			{"predict", "--n", "300", "--json"},
			{"predict", "--n", "300"},
			{"sweep", "--rule", "fixed", "--n", "200", "--corrupt", "fog", "--severity", "1", "--out", folder, "--json"},
		} {
			cmd, stdout, stderr := program(t, append(args, common...)...)
			cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(stderr.String(), c.says) {
				t.Errorf("%s, %q: exit code %d: %s%s", c.kind, args, code, stdout, stderr)
			}
			if printed := strings.Contains(stdout.String(), "no finite output"); args[0] != "predict" && c.code == 0 && !printed {
				t.Errorf("%s, %q prints %s", c.kind, args, stdout)
			}
			if c.ledger && args[0] == "predict" && strings.Contains(strings.Join(args, " "), "json") && !strings.Contains(stdout.String(), `"warning"`) {
				t.Errorf("%s, %q prints %s", c.kind, args, stdout)
			}
		}
		run, err := rs.Open(ledger)
		if !c.ledger {
			if !os.IsNotExist(err) && err == nil {
				t.Errorf("%s: a ledger was made", c.kind)
			}
			continue
		}
		if err != nil || !run.Complete() {
			t.Errorf("%s: %v, %v", c.kind, run, err)
		}
		if _, err := rs.Open(filepath.Join(folder, "fog-1.ledger")); err != nil {
			t.Errorf("%s: %v", c.kind, err)
		}
	}
}
