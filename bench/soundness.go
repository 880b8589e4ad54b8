package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs"

	"github.com/spf13/cobra"
)

// soundness is the outcome of the bench of false certificates.
type soundness struct {
	Sigma   float64         `json:"sigma"`
	Alpha   float64         `json:"alpha"`
	N       int             `json:"n"`
	Trials  int             `json:"trials"`  // of each rule of ours on each classifier, with counts drawn by their law
	Through int             `json:"through"` // and through noise and network
	Others  int             `json:"others"`  // of each other procedure
	Names   []string        `json:"procedures"`
	Rows    []soundnessCase `json:"classifiers"`
}

// soundnessCase is a classifier, and what each procedure claims of it.
type soundnessCase struct {
	Name   string                   `json:"name"`
	OnGrid truth                    `json:"truth_on_levels"`
	Real   truth                    `json:"truth_under_real_noise"`
	Found  map[string]soundnessCell `json:"found"` // by procedure
}

// soundnessCell counts the certificates of a procedure for a classifier.
type soundnessCell struct {
	Through counts  `json:"through"`
	Drawn   counts  `json:"drawn"`   // of ours
	PValue  float64 `json:"p_value"` // P(X ≥ false ones), X ~ Bin(trials, α); 1 of a refusal
	Apart   float64 `json:"apart"`   // probability that the two parts differ so much in false ones by chance; 1 for Anytime, which Drawn judges more sharply
}

func (c soundnessCell) claims() int { return c.Through.Claims + c.Drawn.Claims }
func (c soundnessCell) wrong() int  { return c.Through.False + c.Drawn.False }

// Trials of a chunk.
const (
	drawnChunk   = 50_000
	throughChunk = 1000
	othersChunk  = 500
)

func soundnessCommand(s *settings) *cobra.Command {
	r := soundness{Sigma: solvedSigma}
	var state string
	cmd := &cobra.Command{
		Use:   "soundness",
		Short: "False certificates for classifiers whose nearest adversary is known exactly: every rule, ART, and the textbook procedure in float32",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().IntVar(&r.Trials, "trials", 1_000_000, "certificates of each rule for each classifier with counts drawn by their exact law")
	cmd.Flags().IntVar(&r.Through, "through", 10_000, "certificates of each rule for each classifier through noise and network")
	cmd.Flags().IntVar(&r.Others, "others", 10_000, "certificates of each other procedure for each classifier")
	cmd.Flags().IntVar(&r.N, "n", 1000, "noise samples behind a bound, a multiple of 100")
	cmd.Flags().Float64Var(&r.Alpha, "alpha", 0.01, "bound on the probability that a certificate is false")
	cmd.Flags().StringVar(&state, "state", "", "file that keeps what was counted: a run that was stopped goes on, one with more trials adds to it")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, f := range []struct {
			name        string
			value, unit int
		}{{"trials", r.Trials, drawnChunk}, {"through", r.Through, throughChunk}, {"others", r.Others, othersChunk}, {"n", r.N, stopping.DefaultBlock}} {
			if f.value < 1 || f.value%f.unit != 0 {
				return fmt.Errorf("soundness: --%s is %d; expected a multiple of %d", f.name, f.value, f.unit)
			}
		}
		kept, err := openTally(state, fmt.Sprintf("sigma %g, alpha %g, n %d", r.Sigma, r.Alpha, r.N))
		if err != nil {
			return fmt.Errorf("soundness: %w", err)
		}
		if err := r.measure(cmd.Context(), kept); err != nil {
			return err
		}
		return r.write(cmp.Or(s.out, "bench/results/soundness"))
	}
	return cmd
}

func (r *soundness) measure(ctx context.Context, kept *tally) error {
	rules := []rs.Rule{rs.Fixed, rs.Staged, rs.ISS, rs.Betting, rs.Anytime}
	for _, k := range thirty {
		row := soundnessCase{Name: k.Name, OnGrid: k.onGrid(), Real: k.underReal(), Found: map[string]soundnessCell{}}
		for _, name := range rules {
			cell, err := r.ours(ctx, kept, k, row.OnGrid, name)
			if err != nil {
				return fmt.Errorf("soundness: %s, %s: %w", k.Name, name, err)
			}
			row.Found[string(name)] = cell
		}
		r.Rows = append(r.Rows, row)
		say("%d of %d classifiers: %s", len(r.Rows), len(thirty), k.Name)
	}
	for _, name := range rules {
		r.Names = append(r.Names, string(name))
	}
	if err := r.others(ctx, kept); err != nil {
		return err
	}
	return kept.save()
}

func (r *soundness) write(out string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# False certificates

Made by `+"`go run ./bench soundness --trials %d --through %d --others %d --n %d --alpha %g`"+`: σ = %g. Of each rule of ours for each classifier, %d certificates went through noise and
network, and %d have counts that were drawn by their exact law; of each other procedure there are %d. Under anytime a drawn certificate counts as false if it was so after any block. A cell has the false
certificates, and behind the stroke the certificates that claim something. **Bold** are numbers beyond α: less probable than .001 in the whole table if each certificate were false with probability α (exact binomial test,
Bonferroni). "Nearest" is the exact distance of the nearest input to which the smoothed classifier gives another class, in σ; – means none within 4σ. See [the page](../../docs/soundness.md).

`, r.Trials, r.Through, r.Others, r.N, r.Alpha, r.Sigma, r.Through, r.Trials, r.Others)
	fmt.Fprint(&b, "| classifier | p of its class | nearest |")
	for _, name := range r.Names {
		fmt.Fprintf(&b, " %s |", name)
	}
	fmt.Fprintf(&b, "\n| --- | ---: | ---: |%s\n", string(bytes.Repeat([]byte(" ---: |"), len(r.Names))))
	beyond := map[string]int{}
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "| %s | %s |", row.Name, row.OnGrid)
		for _, name := range r.Names {
			c := row.Found[name]
			switch text := fmt.Sprintf("%d/%d", c.wrong(), c.claims()); {
			case c.Through.Refused != "":
				fmt.Fprint(&b, " refused |")
			case r.beyond(c):
				beyond[name]++
				fmt.Fprintf(&b, " **%s** |", text)
			default:
				fmt.Fprintf(&b, " %s |", text)
			}
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprint(&b, "| classifiers with false certificates beyond α | | |")
	for _, name := range r.Names {
		fmt.Fprintf(&b, " %d |", beyond[name])
	}
	least, parts := 1.0, 0
	for _, row := range r.Rows {
		for _, c := range row.Found {
			least = min(least, c.Apart)
			parts += index(c.wrong() > 0 && c.Drawn.Trials > 0)
		}
	}
	fmt.Fprintf(&b, "\n\nThe two parts of ours agree: of %d cells with false certificates, the least probability that the shares of false ones in the two parts differ so much by chance is %.2g.\n", parts, least)
	fmt.Print(b.String())
	return writeResults(out, r, " ", b.Bytes())
}

// String is the probability of the class and the nearest other, as two cells of a table.
func (t truth) String() string {
	p, nearest := math.NaN(), "–"
	if t.Class >= 0 {
		p = t.P[t.Class]
	}
	if t.Nearest != nil {
		nearest = fmt.Sprintf("%.4g", *t.Nearest/solvedSigma)
	}
	if math.IsNaN(p) {
		return "none | " + nearest
	}
	return fmt.Sprintf("%.4f | %s", p, nearest)
}
