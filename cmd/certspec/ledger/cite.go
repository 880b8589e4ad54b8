package ledger

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/rs/cite"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
)

// citeOptions are what the flags of "ledger cite" ask.
type citeOptions struct {
	model, out string
}

func citeCommand() *cobra.Command {
	var o citeOptions
	cmd := &cobra.Command{
		Use:     "cite LEDGER",
		Short:   "Print BibTeX for certspec, the papers of the rule, the model and the ledger",
		Example: "  certspec ledger cite out/fmnist-s025.ledger --model models/fmnist-cnn-s025 -o certificates.bib",
		Args:    cli.OneLedger,
	}
	cli.Group(cmd, cli.Model, func(f *cli.Flags) {
		f.Model(&o.model, "path of the model file, for how it was trained")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Out(&o.out, "file to write (default standard output)", ".bib", ".txt")
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	return cmd
}

func (o *citeOptions) run(cmd *cobra.Command, args []string) error {
	l, err := ledgerio.Read(args[0])
	if err != nil {
		return err
	}
	if l.Digest == "" {
		cli.Say("not closed: the entry of the ledger has no digest yet")
	}
	entries := append([]cite.Entry{cite.Software(l.Header.Program)}, cite.Papers(l.Header)...)
	if o.model != "" {
		card, err := modelfile.ReadCard(o.model)
		if err != nil {
			return err
		}
		if weights := l.Header.Model.Identity.Weights; !strings.Contains(weights, card.Weights) {
			return fmt.Errorf("--model %s has the weights %s, the ledger is of %s", o.model, card.Weights, weights)
		}
		entries = append(entries, trained(card, l.Header.Model.Name).Entry())
	}
	entries = append(entries, cite.Ledger(filepath.Base(args[0]), l.Digest, l.Header))
	var texts []string
	for _, e := range entries {
		texts = append(texts, e.String())
	}
	return cli.WriteOut(cmd, o.out, []byte(strings.Join(texts, "\n")))
}

// trained says in words how a model was made.
func trained(card *modelfile.Card, name string) cite.Model {
	m := cite.Model{Name: name, Weights: card.Weights, Command: card.Command}
	if s := card.Source; s != nil {
		m.Training = fmt.Sprintf("imported from %s, %s", s.File, s.Digest)
		return m
	}
	r := card.Recipe
	noise := "without noise"
	if r.Noise() > 0 {
		noise = fmt.Sprintf("with Gaussian noise of σ = %g (Cohen et al. 2019)", r.Noise())
	}
	how := ""
	if r.Method != method.Default {
		how = " by " + r.Method
	}
	if r.Views != "" {
		how += " on views by " + r.Views
	}
	m.Training = fmt.Sprintf("%s trained on %s%s, %d epochs %s, augmentation %s, seed %d", card.Architecture.Name,
		card.Train.Name, how, r.Epochs, noise, r.Augment, r.Seed)
	if a := card.Adaptation; a != nil {
		m.Training += fmt.Sprintf("; adapted to %d images of %s without labels by %s, %d steps", a.Images, a.Data.Name,
			strings.ToUpper(a.Method), a.Steps)
	}
	return m
}
