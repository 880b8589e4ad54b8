package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mathext"

	"github.com/certspec/certspec/classifier/purity"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/preflight"
	"github.com/certspec/certspec/rs/rule"
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

// claim is what a procedure says of an image: a class, rs.Abstain for none, and a radius.
type claim struct {
	Class  int
	Radius float64
}

func (c *claim) UnmarshalJSON(data []byte) error {
	var pair [2]float64
	err := json.Unmarshal(data, &pair)
	c.Class, c.Radius = int(pair[0]), pair[1]
	return err
}

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
		}{{"trials", r.Trials, drawnChunk}, {"through", r.Through, throughChunk}, {"others", r.Others, othersChunk}, {"n", r.N, rs.DefaultBlock}} {
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

// ours counts the certificates of a rule: some through noise and network, many with counts drawn by their law.
func (r *soundness) ours(ctx context.Context, kept *tally, k solved, t truth, name rs.Rule) (cell soundnessCell, err error) {
	cell = soundnessCell{PValue: 1, Apart: 1}
	opt, plan, err := r.options(name)
	if err != nil {
		return cell, err
	}
	at := k.Name + " | " + string(name) + " | "
	cell.Through, err = kept.upTo(ctx, at+"through", r.Through/throughChunk, func(random *rand.Rand) (counts, error) {
		opt.Seed = max(1, random.Uint64())
		claims, err := certifySolved(ctx, k, opt, throughChunk)
		var impure *purity.Error
		if errors.As(err, &impure) {
			return counts{Refused: impure.Found.String()}, nil
		}
		return count(claims, t), err
	})
	if err != nil || cell.Through.Refused != "" {
		return cell, err
	}
	draw := newDrawer(plan, t, r.N)
	cell.Drawn, err = kept.upTo(ctx, at+"drawn", r.Trials/drawnChunk, func(random *rand.Rand) (counts, error) {
		return draw.chunk(random, drawnChunk)
	})
	cell.PValue = r.pValue(cell)
	if name != rs.Anytime {
		cell.Apart = apart(cell.Through, cell.Drawn)
	}
	return cell, err
}

// options are those of a rule, and its plan.
func (r *soundness) options(name rs.Rule) (rs.Options, *rule.Plan, error) {
	opt := rs.Options{Settings: rs.Settings{Sigma: r.Sigma, Alpha: r.Alpha, Rule: name, MaxSamples: r.N}}
	switch name {
	case rs.Betting:
		for i := range 15 {
			opt.Radii = append(opt.Radii, float64(i)*r.Sigma/4)
		}
		for len(opt.Radii) > 1 { // those that n can reach
			if _, err := opt.Plan(); err == nil {
				break
			}
			opt.Radii = opt.Radii[:len(opt.Radii)-1]
		}
	case rs.Anytime:
		opt.MaxSamples, opt.Until = 0, rs.Until{Samples: throughChunk * (rs.DefaultSelection + r.N)}
	}
	plan, err := opt.Plan()
	return opt, plan, err
}

// certifySolved certifies as many images that are equal, but for their noise, as the command line does: after a look at the model.
func certifySolved(ctx context.Context, k solved, opt rs.Options, trials int) ([]claim, error) {
	k.state = new(atomic.Int64)
	images := &imageset.Images{Name: k.Name, Shape: k.shape(), Digest: k.Name, Labels: slices.Repeat([]int{-1}, trials), Pixels: slices.Repeat(k.Image, trials)}
	for i := range trials {
		images.IDs = append(images.IDs, i)
	}
	if _, err := preflight.Look(ctx, k, images, preflight.UseOf(opt)); err != nil {
		return nil, err
	}
	run, err := rs.Certify(ctx, k, loaded{images}, opt)
	if err != nil {
		return nil, err
	}
	var claims []claim
	for _, row := range run.Rows {
		claims = append(claims, claim{row.Class, row.Radius})
	}
	return claims, nil
}

// loaded is images as a source.
type loaded struct{ images *imageset.Images }

func (l loaded) Load(context.Context) (*imageset.Images, error) { return l.images, nil }

func count(claims []claim, t truth) counts {
	c := counts{Trials: len(claims)}
	for _, at := range claims {
		if at.Class == rs.Abstain {
			continue
		}
		c.Claims++
		c.False += index(t.refutes(at.Class, at.Radius))
	}
	return c
}

func (r *soundness) pValue(c soundnessCell) float64 {
	return atLeast(c.wrong(), c.Through.Trials+c.Drawn.Trials, r.Alpha)
}

// atLeast is P(X ≥ k), X ~ Bin(n, p).
func atLeast(k, n int, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}

// apart is how probable it is that two parts of one law share their false ones so unevenly: twice the smaller tail of the binomial law, which is
// wider than the hypergeometric one.
func apart(a, b counts) float64 {
	n, share := a.False+b.False, float64(a.Trials)/float64(a.Trials+b.Trials)
	return min(1, 2*min(atLeast(a.False, n, share), 1-atLeast(a.False+1, n, share)))
}

// others counts the certificates of other software. A chunk has all classifiers.
func (r *soundness) others(ctx context.Context, kept *tally) error {
	python, scripts, err := pythonOf(ctx, pyenv.Soundness)
	if err != nil {
		return err
	}
	for _, name := range []string{"textbook", "ART"} {
		r.Names = append(r.Names, name)
		at := func(k string) string { return k + " | " + name }
		for chunk := kept.Counts[at(thirty[0].Name)].Chunks; chunk < r.Others/othersChunk; chunk++ {
			claims, err := r.ask(ctx, python, scripts, name, chunk)
			if err != nil {
				return errors.Join(err, kept.save())
			}
			for i, k := range thirty {
				if _, err := kept.upTo(ctx, at(k.Name), chunk+1, func(*rand.Rand) (counts, error) { return count(claims[i], r.Rows[i].Real), nil }); err != nil {
					return err
				}
			}
			if err := kept.save(); err != nil {
				return err
			}
			say("%s: %d of %d certificates of each classifier", name, (chunk+1)*othersChunk, r.Others)
		}
		for i, k := range thirty {
			cell := soundnessCell{Through: kept.Counts[at(k.Name)], Apart: 1}
			cell.PValue = r.pValue(cell)
			r.Rows[i].Found[name] = cell
		}
	}
	return nil
}

// ask lets bench/python/soundness.py certify every classifier so many times.
func (r *soundness) ask(ctx context.Context, python, scripts, procedure string, chunk int) ([][]claim, error) {
	asked, err := json.Marshal(map[string]any{
		"procedure": procedure, "seed": chunk + 1, "classifiers": thirty, "sigma": r.Sigma, "alpha": r.Alpha, "selection": rs.DefaultSelection, "n": r.N, "trials": othersChunk,
	})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, python, filepath.Join(scripts, "soundness.py"))
	cmd.Stdin, cmd.Stderr = bytes.NewReader(asked), os.Stderr
	out, err := cmd.Output()
	if err := errors.Join(ctx.Err(), err); err != nil {
		return nil, fmt.Errorf("soundness.py: %w", err)
	}
	var claims [][]claim
	if err := json.Unmarshal(out, &claims); err != nil {
		return nil, fmt.Errorf("soundness.py: %w", err)
	}
	return claims, nil
}

// beyond reports whether a number of false certificates lies above α: a probability of at most .001 in the whole table, by Bonferroni.
func (r *soundness) beyond(c soundnessCell) bool {
	return c.PValue < .001/float64(len(r.Rows)*len(r.Names))
}

func (r *soundness) write(out string) error {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(out+".json", append(data, '\n')); err != nil {
		return err
	}
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
	return atomicfile.Write(out+".md", b.Bytes())
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
