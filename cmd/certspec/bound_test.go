package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

// Scripts read these lines. The bounds equal SciPy's beta.ppf rounded down: 0.98898934036…, 0.5000089487…,
// and for the interval 0.0490046…, 0.1762226…; the radii σ·norm.ppf of them.
func TestBound(t *testing.T) {
	for args, want := range map[string]string{
		"--k 99000 --n 100000 --alpha 0.001 --sigma 0.25 --json":            `{"k":99000,"n":100000,"alpha":0.001,"sigma":0.25,"lower":0.98898934`,
		"--k 50489 --n 100000 --sigma 0.25 --json":                          `"radius":0,"abstain":true}`,
		"--k 99000 --n 100000 --json":                                       `,"abstain":false}`,
		"--k 10 --n 100 --alpha 0.05 --two-sided":                           "p between 0.04900",
		"--k 10 --n 100 --alpha 0.05 --two-sided --json":                    `"upper":0.176222`,
		"--k 99000 --n 100000 --sigma 0.25":                                 "radius 0.5724",
		"--k 50 --n 100 --sigma 0.25":                                       "abstain: the lower bound is below one half",
		"--k 100000 --n 100000 --sigma 0.25 --bound randomized --u 0.5":     "radius 0.95937",
		"--k 95 --n 100 --alpha 0.05 --sigma 0.25 --bound hoeffding":        "p is at least 0.8276",
		"--k 95 --n 100 --alpha 0.05 --sigma 0.25 --bound hoeffding --json": `"bound":"Hoeffding"}`,
		"--radius 0.25 --sigma 0.25 --n 1000":                               "after 1,000 noise samples: certified from 889 hits on",
		"--radius 0.25 --sigma 0.25 --n 1000 --k 888":                       "888 hits: not certified, ln W = 6.",
		"--radius 0.25 --sigma 0.25 --n 1000 --k 889 --json":                `"p0":0.841344746068543,"n":1000,"least_hits":889,"k":889,"log_wealth":`,
		"--radius 0.25 --sigma 0.25 --n 46 --json":                          `"n":46,"least_hits":null}`,
		"--radius 0.25 --sigma 0.25 --n 46":                                 "not certified, even if all hit",
	} {
		if got, err := outputOf(t, "bound", strings.Fields(args)...); err != nil || !strings.Contains(got, want) {
			t.Errorf("bound %s: %q, %v, want %s in it", args, got, err, want)
		}
	}
}

func TestBoundWrongUse(t *testing.T) {
	for args, want := range map[string]string{
		"--n 10":                                     "--k is missing",
		"--k 5":                                      "--n is missing",
		"--k 11 --n 10":                              "k is 11, expected a count in [0, n = 10]",
		"--k 11 --n 10 --bound hoeffding":            "k is 11, expected a count in [0, n = 10]",
		"--k -1 --n 10":                              "k is -1",
		"--k 0 --n 0":                                "n is 0",
		"--k 5 --n 99999999999":                      "n is 99999999999",
		"--k 5.5 --n 10":                             "--k 5.5: expected a whole number",
		"--k 5 --n 10 --alpha 0":                     "alpha is 0",
		"--k 5 --n 10 --alpha NaN":                   "alpha is NaN",
		"--k 5 --n 10 --sigma 0":                     "sigma is 0",
		"--k 5 --n 10 --sigma Inf":                   "sigma is +Inf",
		"--k 5 --n 10 --bound wilson":                `--bound wilson: expected clopper-pearson, randomized or hoeffding`,
		"--k 5 --n 10 --bound randomized":            "go together",
		"--k 5 --n 10 --u 0.5":                       "go together",
		"--k 5 --n 10 --bound randomized --u 2":      "U is 2",
		"--k 5 --n 10 --bound hoeffding --two-sided": "--two-sided goes with",
		"--radius 0.5 --n 10":                        "--sigma is missing",
		"--radius 0.5 --sigma 0.25":                  "--n is missing",
		"--radius -1 --sigma 0.25 --n 10":            "radius is -1",
		"--radius 0.5 --sigma 0.25 --n 0":            "n is 0",
		"--radius 0.5 --sigma 0.25 --n 10 --k 11":    "k is 11",
		"--radius 0.5 --sigma 0.25 --n 10 --u 0.5":   "--u goes with a bound",
		"--radius 3 --sigma 0.25 --n 10":             "radius is 3",
	} {
		out, err := outputOf(t, "bound", strings.Fields(args)...)
		var usage cli.UsageError
		if err == nil || !errors.As(err, &usage) || !strings.Contains(err.Error(), want) || out != "" {
			t.Errorf("bound %s: %q and the error %v, want the wrong use %q", args, out, err, want)
		}
	}
	if text, code := output(t, "bound", "--k", "11", "--n", "10"); code != cli.ExitUsage || text != "" {
		t.Errorf("exit code %d, output %q", code, text)
	}
}
