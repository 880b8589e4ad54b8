// Package experiment is "certspec experiment".
package experiment

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

// Command makes the command.
func Command() *cobra.Command {
	return cli.Noun("experiment", "Make the tables of a paper: train, adapt, certify and attack",
		`Make the tables of a paper. A recipe says how a network is trained, a tier how much of it is done, a table which
recipes stand side by side and what is measured. Those of four papers are built in; --add reads a file of further
ones, in the form that certspec experiment list NAME prints.`,
		listCommand(), planCommand(), runCommand(), tableCommand())
}

// places say where data lie.
type places []string

func (p *places) flag(f *cli.Flags) {
	f.StringArrayVar((*[]string)(p), "data", nil,
		"place of a kind of data, as in cifar10=cifar10-jpeg or imagenet=folder:/data/imagenet (with train and val "+
			"below); cifar10-c=FOLDER and imagenet-c=FOLDER take the published corrupted images, "+
			"cifar10-start=MODEL what training begins with, cifar10-soft=LEDGER soft labels; may be given several times")
	f.Complete("data", func() []string {
		return []string{"cifar10=", "imagenet=folder:", "cifar10-c=", "imagenet-c=", "cifar10-start=", "cifar10-soft="}
	})
}

// read gives the place of each kind.
func (p places) read() (map[string]string, error) {
	at := map[string]string{}
	for _, text := range p {
		kind, place, found := strings.Cut(text, "=")
		if !found || kind == "" || place == "" {
			return nil, cli.Usagef("--data %s: expected KIND=PLACE, as in cifar10=cifar10-jpeg", text)
		}
		if _, twice := at[kind]; twice {
			return nil, cli.Usagef("--data %s: %s is there twice", text, kind)
		}
		at[kind] = place
	}
	return at, nil
}
