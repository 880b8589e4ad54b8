package cli

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
