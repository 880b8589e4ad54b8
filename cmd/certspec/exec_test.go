package main

import (
	"slices"
	"testing"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

func TestExecWrongUse(t *testing.T) {
	common := []string{"certify", "--data", "synthetic/test", "--sigma", "0.25"}
	for _, args := range [][]string{
		{},
		{"--exec", "a", "--model", "m"},
		{"--exec", "a", "--engine", "go"},
		{"--exec", ""},
		{"--exec", "a | b"},
		{"--exec", "a", "--exec-processes", "0"},
		{"--exec", "a", "--exec-timeout", "0s"},
	} {
		if text, code := output(t, append(slices.Clone(common), args...)...); code != cli.ExitUsage || text != "" {
			t.Errorf("%q: exit code %d, output %q; want %d and nothing", args, code, text, cli.ExitUsage)
		}
	}
}
