package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

// A model that is no function of one image is refused by name before anything is recorded, whatever the number of images, the block and
// the verb; the same command with a model that is one runs.
func TestRefusesAModelThatIsNoFunctionOfOneImage(t *testing.T) {
	data := func(n string) string { return "synthetic/test[max_index=" + n + "]" }
	certify := []string{"certify", "--sigma", "0.25", "--n", "1000"}
	predict := []string{"predict", "--sigma", "0.25"}
	sweep := []string{"sweep", "run", "--sigma", "0.25", "--n", "1000", "--corrupt", "fog", "--severity", "1"}
	for _, c := range []struct {
		name, kind, images string
		verb               []string
		more               []string
	}{
		{"random", "random", "3", certify, nil},
		{"neighbours", "neighbours", "3", certify, nil},
		{"majority of one image", "majority", "1", certify, nil},
		{"majority of three images", "majority", "3", certify, nil},
		{"majority of ten images", "majority", "10", certify, nil},
		{"random, block of one", "random30", "1", certify, []string{"--block", "1"}},
		{"random, predict", "random30", "3", predict, nil},
		{"random, predict, block of one", "random30", "3", predict, []string{"--block", "1"}},
		{"majority, predict", "majority", "1", predict, nil},
		{"majority, sweep", "majority", "1", sweep, nil},
		{"steady", "steady", "3", certify, nil},
		{"steady, predict", "steady", "3", predict, []string{"--block", "1"}},
	} {
		ledger := filepath.Join(t.TempDir(), "x.ledger")
		args := append([]string{}, c.verb...)
		args = append(args, "--exec", childModel(c.kind), "--data", data(c.images))
		switch c.verb[0] {
		case "certify":
			args = append(args, "--ledger", ledger)
		case "sweep":
			args = append(args, "--out", filepath.Dir(ledger))
			ledger = filepath.Join(filepath.Dir(ledger), "fog-1.ledger")
		}
		cmd, stdout, stderr := program(t, append(args, c.more...)...)
		cmd.Run()
		_, err := os.Stat(ledger)
		code := cmd.ProcessState.ExitCode()
		if c.kind == "steady" {
			if code != 0 || c.verb[0] == "certify" && err != nil || !strings.Contains(stderr.String(), "preprocessing: none: the program gets multiples of 1/255") {
				t.Errorf("%s: exit code %d, ledger %v: %s%s", c.name, code, err, stdout, stderr)
			}
			continue
		}
		if code != cli.ExitFailed || !os.IsNotExist(err) || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, ledger %v: %s", c.name, code, err, stdout)
		}
		for _, words := range []string{"nothing can be certified: model means is no deterministic function of one image", "in its batch normalisation"} {
			if !strings.Contains(stderr.String(), words) {
				t.Errorf("%s: no %q in %s", c.name, words, stderr)
			}
		}
	}
}
