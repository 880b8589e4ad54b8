package ledger

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/rs/attest"
	"github.com/certspec/certspec/internal/rs/query"
)

// attestOptions holds the values of the flags of "ledger attest".
type attestOptions struct {
	attest.Request
	least     []string
	date, out string
}

func attestCommand() *cobra.Command {
	var o attestOptions
	cmd := &cobra.Command{
		Use:   "attest LEDGER --at-least R=A",
		Short: "Write a verdict on certified accuracy as an in-toto statement, to be signed",
		Long: `Write an in-toto statement of version 1: is the certified accuracy at a radius at least a threshold?
Subjects are the digests of model, data and ledger. Claims that may be false at the level count as lost.
"certcheck --statement FILE LEDGER" derives it again; sign it with a tool for DSSE envelopes, such as cosign.`,
		Example: "  certspec ledger attest out/fmnist-s025.ledger --at-least 0=0.6 --at-least 0.25=0.5 -o fmnist.intoto.json",
		Args:    cli.OneLedger,
	}
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Texts(&o.least, "at-least", "threshold R=A: a certified accuracy of at least A at the radius R; may be given "+
			"several times")
		cli.Choice(f, &o.Kind, "predicate", attest.TestResult, "type of the predicate: test-result, or eval-result as "+
			"its draft stands", attest.TestResult, attest.EvalResult)
		f.Float64Var(&o.Level, "level", 0.001, "probability that some verdict is wrong")
		f.Named(&o.Assurance, "assurance", attest.Assurances()[0],
			"who stands behind it: "+strings.Join(attest.Assurances(), ", "), attest.Assurances)
		f.Text(&o.date, "date", "time of the evaluation, for eval-result, as in 2026-01-31T12:00:00Z "+
			"(default now)")
		f.Out(&o.out, "file for the statement (default standard output)", ".json", ".jsonl")
	})
	cli.First(cmd, "at-least", "level", "out")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) }
	return cmd
}

func (o *attestOptions) run(cmd *cobra.Command, file string) error {
	if len(o.least) == 0 {
		return cli.Usagef("--at-least is missing: a radius and a threshold, such as --at-least 0.25=0.5")
	}
	for _, text := range o.least {
		radius, accuracy, found := strings.Cut(text, "=")
		r, err := strconv.ParseFloat(radius, 64)
		if !found || err != nil {
			return cli.Usagef("--at-least %s: expected a radius and a threshold, such as 0.25=0.5", text)
		}
		o.Thresholds = append(o.Thresholds, attest.Threshold{Radius: r, Accuracy: accuracy})
	}
	o.Date = time.Now()
	if o.date != "" {
		var err error
		if o.Date, err = time.Parse(time.RFC3339, o.date); err != nil {
			return cli.Usagef("--date %s: expected a time such as 2026-01-31T12:00:00Z", o.date)
		}
	}
	answer, err := query.Ask(cmd.Context(), file, query.Question{TopK: 1})
	if err != nil {
		return err
	}
	data, err := attest.Ledger(answer, file, o.Request)
	if err != nil {
		return cli.Usage(err)
	}
	return cli.WriteOut(cmd, o.out, data)
}
