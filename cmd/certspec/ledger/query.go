package ledger

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/rs/query"
	"github.com/certspec/certspec/rs"
)

// queryOptions holds the values of the flags of "ledger query".
type queryOptions struct {
	query.Question
	twoSided, byClass bool
	budget, level     float64
	radii             []float64
	out               string
	json              *bool
}

func queryCommand() *cobra.Command {
	var o queryOptions
	cmd := &cobra.Command{
		Use:   "query LEDGER",
		Short: "Derive top-k, two-sided, ℓ∞ and whole-set claims from a ledger",
		Long: `Derive claims that the counts of a closed ledger prove and its own lines do not state. No model is called.
The looks of the rule, and what each spends of alpha, are those of the header.
Choose --share, --top-k and the level before you see counts: trying several and keeping the best voids the claim.
--out writes the claims as text; "certcheck --claims FILE LEDGER" derives them again.`,
		Example: "  certspec ledger query out/fmnist-s025.ledger --top-k 3\n" +
			"  certspec ledger query out/fmnist-s025.ledger --two-sided --by-class --radii 0,0.25",
		Args: cli.OneLedger,
	}
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.IntVar(&o.TopK, "top-k", 1, "certify that the label is among the K most probable classes")
		f.BoolVar(&o.twoSided, "two-sided", false, "bound the competing classes too, at a share of alpha")
		f.Float64Var(&o.Share, "share", 0.1, "of alpha for the competing classes, with --two-sided")
		f.BoolVar(&o.LInf, "linf", false, "radii in the ℓ∞ norm: r/√d for images of d values")
		f.Floats(&o.radii, "radii", nil,
			"radii of the accuracies (default 0,0.25,0.5,0.75,1; with --linf 0, 1/255, 2/255)")
		f.Float64Var(&o.budget, "budget", 0, "accuracy if an adversary moves images by this much on average")
		f.BoolVar(&o.byClass, "by-class", false, "accuracy of each class; all classes hold at once")
		f.Float64Var(&o.level, "level", 0, "failure probability of --budget and --by-class (default alpha)")
		f.Out(&o.out, "file for the claims (default none)", ".claims", ".txt")
	})
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) }
	return cmd
}

// Queried is the output of "ledger query".
type Queried struct {
	*query.Answer
	ACR      rs.AverageRadius `json:"acr"`
	Accuracy rs.Accuracies    `json:"accuracy"`
	Sets     []query.Set      `json:"sets,omitempty"`
	Classes  []query.Class    `json:"classes,omitempty"`
}

func (o *queryOptions) run(cmd *cobra.Command, file string) error {
	switch given := cmd.Flags().Changed; {
	case !o.twoSided && given("share"):
		return cli.Usagef("--share without --two-sided")
	case !(o.Share > 0 && o.Share < 1):
		return cli.Usagef("--share %v: expected a number between 0 and 1", o.Share)
	case given("level") && !given("budget") && !o.byClass:
		return cli.Usagef("--level without --budget or --by-class")
	}
	if !o.twoSided {
		o.Share = 0
	}
	if o.radii == nil {
		o.radii = []float64{0, 0.25, 0.5, 0.75, 1}
		if o.LInf {
			o.radii = []float64{0, 1. / 255, 2. / 255}
		}
	}
	answer, err := query.Ask(cmd.Context(), file, o.Question)
	if err != nil {
		return err
	}
	o.level = cmp.Or(o.level, answer.Header.Alpha)
	q := Queried{Answer: answer, ACR: answer.Rows().ACR(), Accuracy: answer.Rows().CertifiedAccuracy(o.radii...)}
	if cmd.Flags().Changed("budget") {
		set, err := answer.Under(o.budget, o.level)
		if err != nil {
			return err
		}
		q.Sets = append(q.Sets, set)
	}
	if o.byClass {
		if q.Classes, err = answer.ByClass(o.radii, o.level); err != nil {
			return err
		}
	}
	if o.out != "" {
		err := atomicfile.To(o.out, cli.SummaryAside(cmd, o.out), func(w io.Writer) error {
			return answer.Write(w, o.radii, q.Sets, q.Classes)
		})
		if err != nil {
			return err
		}
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), q)
	}
	return q.print(cmd.OutOrStdout(), file)
}

func (q *Queried) print(out io.Writer, file string) (err error) {
	line := func(format string, args ...any) {
		if err == nil {
			_, err = cli.Fprintf(out, format+"\n", args...)
		}
	}
	h := &q.Header
	norm := "ℓ2"
	if q.LInf {
		norm = "ℓ∞"
	}
	line("%s: %s, %d images, σ = %g, rule %s", file, h.Model.Name, len(q.Claims), h.Sigma, h.Rule.Name)
	says := "the class is the most probable one"
	if q.TopK > 1 {
		says = fmt.Sprintf("the label is among the %d most probable classes", q.TopK)
	}
	line("claim     within its %s radius %s; each claim is false with probability at most α = %g", norm, says, h.Alpha)
	if q.Share > 0 {
		line("split     %g of α bounds the competing classes, chosen before the counts were seen", q.Share)
	}
	line("average   %v", q.ACR)
	for _, a := range q.Accuracy {
		line("accuracy  %v", a)
	}
	for _, s := range q.Sets {
		line("budget    %g on average: at least %.4f (%d of %d) stay correct, with probability 1 − %g",
			s.Budget, float64(s.Correct)/float64(s.Images), s.Correct, s.Images, s.Level)
		line("          (%d images are in reach, %d claims may be false)", s.Broken, s.False)
	}
	if len(q.Classes) > 0 {
		line("classes   all lines hold at once with probability 1 − %g", q.Classes[0].Level)
	}
	for _, c := range q.Classes {
		line("class     %d at %g: at least %.4f (%d of %d)",
			c.Class, c.Radius, float64(c.Correct)/float64(c.Images), c.Correct, c.Images)
	}
	return err
}
