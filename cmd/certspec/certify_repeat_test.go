package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/rs/ledger/beside"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
)

// A model that is no function of one image is refused by name before anything is recorded, whatever the number of images, the block and
// the verb; the same command with a model that is one runs.
func TestRefusesAModelThatIsNoFunctionOfOneImage(t *testing.T) {
	data := func(n string) string { return "synthetic/test[max_index=" + n + "]" }
	certify := []string{"certify", "--sigma", "0.25", "--n", "1000"}
	predict := []string{"predict", "--sigma", "0.25"}
	sweep := []string{"sweep", "--sigma", "0.25", "--n", "1000", "--corrupt", "fog", "--severity", "1"}
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
		path := filepath.Join(t.TempDir(), "x.ledger")
		args := append([]string{}, c.verb...)
		args = append(args, "--exec", childModel(c.kind), "--data", data(c.images))
		switch c.verb[0] {
		case "certify":
			args = append(args, "--out", path)
		case "sweep":
			args = append(args, "--out", filepath.Dir(path))
			path = filepath.Join(filepath.Dir(path), "fog-1.ledger")
		}
		cmd, stdout, stderr := program(t, append(args, c.more...)...)
		cmd.Run()
		_, err := os.Stat(path)
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

// Probabilities that a model calls logits are refused with the word to say; preflight lists them as a failure.
func TestRefusesSoftmaxAsLogits(t *testing.T) {
	for _, verb := range []string{"certify", "predict", "preflight"} {
		path := filepath.Join(t.TempDir(), "x.ledger")
		args := []string{verb, "--exec", childModel("softmax"), "--data", "synthetic/test[max_index=3]", "--sigma", "0.25", "--n", "1000"}
		if verb == "certify" {
			args = append(args, "--out", path)
		}
		cmd, stdout, stderr := program(t, args...)
		cmd.Run()
		if said := stdout.String() + stderr.String(); cmd.ProcessState.ExitCode() != cli.ExitFailed || !strings.Contains(said, `et it say output="probabilities"`) {
			t.Errorf("%s: exit code %d: %s", verb, cmd.ProcessState.ExitCode(), said)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s: ledger %v", verb, err)
		}
	}
}

// A model that changes once in the middle of a run ends it with 1: no claims, and the file beside the ledger says why.
func TestRefusesAModelThatChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.ledger")
	args := []string{"certify", "--exec", childModel("changes"), "--data", "synthetic/test[max_index=3]", "--sigma", "0.25", "--n", "2000", "--rule", "fixed", "--out", path}
	cmd, stdout, stderr := program(t, args...)
	cmd.Run()
	found, err := beside.ReadChecks(path)
	l, open := ledgerio.Read(path)
	if cmd.ProcessState.ExitCode() != cli.ExitFailed || stdout.Len() > 0 || !strings.Contains(stderr.String(), "at the end of the run") ||
		err != nil || !found.Contradicted() || open != nil || l.Claims != nil {
		t.Errorf("exit code %d, checks %+v %v, ledger %v: %s%s", cmd.ProcessState.ExitCode(), found, err, open, stdout, stderr)
	}
}
