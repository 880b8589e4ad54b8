package main

import (
	"slices"
	"testing"
)

func TestSplitWords(t *testing.T) {
	for command, want := range map[string][]string{
		`python my_model.py`:            {"python", "my_model.py"},
		`"a program" 'one "word"' x\ y`: {"a program", `one "word"`, "x y"},
		`  python   -c  'a; b' ''`:      {"python", "-c", "a; b", ""},
		`p $HOME ~/x *.py`:              {"p", "$HOME", "~/x", "*.py"},
	} {
		if got, err := splitWords(command); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; expected %q", command, got, err, want)
		}
	}
	for _, command := range []string{``, `  `, `a | b`, `a > b`, `a; b`, `a "b`, `a & `} {
		if got, err := splitWords(command); err == nil {
			t.Errorf("%s: %q; expected an error", command, got)
		}
	}
}

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
		if text, code := output(t, append(slices.Clone(common), args...)...); code != exitUsage || text != "" {
			t.Errorf("%q: exit code %d, output %q; want %d and nothing", args, code, text, exitUsage)
		}
	}
}
