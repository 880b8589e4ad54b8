package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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
)

// soundness is the outcome of the bench of false certificates.
type soundness struct {
	Sigma  float64         `json:"sigma"`
	Alpha  float64         `json:"alpha"`
	N      int             `json:"n"`
	Trials int             `json:"trials"` // of each rule of ours on each classifier
	Others int             `json:"others"` // of each other procedure
	Names  []string        `json:"procedures"`
	Rows   []soundnessCase `json:"classifiers"`
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
	Trials  int     `json:"trials"`
	Claims  int     `json:"claims"` // trials without an abstention
	False   int     `json:"false"`
	PValue  float64 `json:"p_value"` // P(X ≥ False), X ~ Bin(Trials, α)
	Refused string  `json:"refused,omitempty"`
}

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

func soundnessCommand(s *settings) *cobra.Command {
	r := soundness{Sigma: solvedSigma}
	cmd := &cobra.Command{
		Use:   "soundness",
		Short: "False certificates for classifiers whose nearest adversary is known exactly: every rule, ART, and the textbook procedure in float32",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().IntVar(&r.Trials, "trials", 10_000, "certificates of each rule for each classifier")
	cmd.Flags().IntVar(&r.Others, "others", 2000, "certificates of each other procedure for each classifier")
	cmd.Flags().IntVar(&r.N, "n", 1000, "noise samples behind a bound, a multiple of 100")
	cmd.Flags().Float64Var(&r.Alpha, "alpha", 0.01, "bound on the probability that a certificate is false")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if r.Trials < 1 || r.Others < 1 {
			return fmt.Errorf("soundness: --trials is %d and --others %d; expected at least 1", r.Trials, r.Others)
		}
		if err := r.measure(cmd.Context()); err != nil {
			return err
		}
		return r.write(cmp.Or(s.out, "bench/results/soundness"))
	}
	return cmd
}

func (r *soundness) measure(ctx context.Context) error {
	rules := []rs.Rule{rs.Fixed, rs.Staged, rs.ISS, rs.Betting, rs.Anytime}
	for _, k := range thirty {
		row := soundnessCase{Name: k.Name, OnGrid: k.onGrid(), Real: k.underReal(), Found: map[string]soundnessCell{}}
		for _, name := range rules {
			claims, err := r.certify(ctx, k, name)
			var impure *purity.Error
			switch {
			case errors.As(err, &impure):
				row.Found[string(name)] = soundnessCell{Refused: impure.Found.String()}
			case err != nil:
				return fmt.Errorf("soundness: %s, %s: %w", k.Name, name, err)
			default:
				row.Found[string(name)] = r.count(claims, row.OnGrid)
			}
		}
		r.Rows = append(r.Rows, row)
		say("%d of %d classifiers: %s", len(r.Rows), len(thirty), k.Name)
	}
	for _, name := range rules {
		r.Names = append(r.Names, string(name))
	}
	others, err := r.others(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{"ART", "textbook"} {
		r.Names = append(r.Names, name)
		for i, claims := range others[name].Claims {
			r.Rows[i].Found[name] = r.count(claims, r.Rows[i].Real)
		}
	}
	return nil
}

// certify certifies as many images that are equal, but for their noise, as the command line does: after a look at the model.
func (r *soundness) certify(ctx context.Context, k solved, name rs.Rule) ([]claim, error) {
	k.state = new(atomic.Int64)
	images := &imageset.Images{Name: k.Name, Shape: k.shape(), Digest: k.Name, Labels: slices.Repeat([]int{-1}, r.Trials), Pixels: slices.Repeat(k.Image, r.Trials)}
	for i := range r.Trials {
		images.IDs = append(images.IDs, i)
	}
	opt := rs.Options{Sigma: r.Sigma, Alpha: r.Alpha, Rule: name, MaxSamples: r.N}
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
		opt.MaxSamples, opt.Until = 0, rs.Until{Samples: r.Trials * (rs.DefaultSelection + r.N)}
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

func (r *soundness) count(claims []claim, t truth) soundnessCell {
	cell := soundnessCell{Trials: len(claims)}
	for _, c := range claims {
		if c.Class == rs.Abstain {
			continue
		}
		cell.Claims++
		cell.False += index(t.refutes(c.Class, c.Radius))
	}
	cell.PValue = 1
	if k := cell.False; k > 0 {
		cell.PValue = mathext.RegIncBeta(float64(k), float64(cell.Trials-k+1), r.Alpha)
	}
	return cell
}

// othersClaims is what bench/python/soundness.py answers, by procedure.
type othersClaims map[string]struct {
	Version string    `json:"version"`
	Claims  [][]claim `json:"claims"`
}

func (r *soundness) others(ctx context.Context) (othersClaims, error) {
	python, scripts, err := pythonOf(ctx, pyenv.Soundness)
	if err != nil {
		return nil, err
	}
	asked, err := json.Marshal(map[string]any{
		"classifiers": thirty, "sigma": r.Sigma, "alpha": r.Alpha, "selection": rs.DefaultSelection, "n": r.N, "trials": r.Others,
	})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, python, filepath.Join(scripts, "soundness.py"))
	cmd.Stdin, cmd.Stderr = bytes.NewReader(asked), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("soundness.py: %w", err)
	}
	var answer othersClaims
	if err := json.Unmarshal(out, &answer); err != nil {
		return nil, fmt.Errorf("soundness.py: %w", err)
	}
	return answer, nil
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

Made by `+"`go run ./bench soundness --trials %d --others %d --n %d --alpha %g`"+`: σ = %g; %d certificates of each rule of ours for each classifier, %d of each other procedure.
A cell has the false certificates, and behind the stroke the certificates that claim something. **Bold** are numbers beyond α: less probable than .001 in the
whole table if each certificate were false with probability α (exact binomial test, Bonferroni). "Nearest" is the exact distance of the nearest input to which the smoothed classifier
gives another class, in σ; – means none within 4σ. See [the page](../../docs/soundness.md).

`, r.Trials, r.Others, r.N, r.Alpha, r.Sigma, r.Trials, r.Others)
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
			switch text := fmt.Sprintf("%d/%d", c.False, c.Claims); {
			case c.Refused != "":
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
	fmt.Fprintln(&b)
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
