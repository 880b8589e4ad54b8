package cli

import "testing"

func TestCommandLine(t *testing.T) {
	got := CommandLine([]string{"train", "--data", "cifar10[skip=2]", "", "it's"})
	if want := `certspec train --data 'cifar10[skip=2]' '' 'it'\''s'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
