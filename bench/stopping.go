package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// everyLook is the finding of somebody who looks at an image under the rule anytime after every noise sample,
// and stops at the first false claim: summed over all ways exactly, and in simulated runs.
type everyLook struct {
	Alpha   float64       `json:"alpha"`
	Horizon int           `json:"horizon"` // noise samples
	Runs    int           `json:"runs"`    // simulated, of each probability
	Rows    []stoppingRow `json:"probabilities"`
}

// stoppingRow is one probability of a hit. The shares are of runs in which the interval leaves it at some time: first by a radius
// that is claimed and false, or first by an upper bound below the true radius.
type stoppingRow struct {
	P         float64    `json:"p"`
	Summed    [2]float64 `json:"summed"`    // claims, upper bounds
	Simulated [2]int     `json:"simulated"` // runs
	Apart     float64    `json:"apart"`     // probability that both differ so much by chance
}

const stoppingChunk = 10_000

func stoppingCommand(s *settings) *cobra.Command {
	var r everyLook
	var state string
	var grid []float64
	cmd := &cobra.Command{
		Use:   "stopping",
		Short: "False claims of the rule anytime found by whoever stops at the worst moment: summed exactly, and simulated",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().IntVar(&r.Runs, "runs", 1_000_000, "simulated runs of each probability")
	cmd.Flags().IntVar(&r.Horizon, "horizon", 100_000, "noise samples of a run")
	cmd.Flags().Float64Var(&r.Alpha, "alpha", stopping.DefaultAlpha, "bound on the probability that a claim is ever false")
	cmd.Flags().Float64SliceVar(&grid, "p", []float64{.5, .6, .75, .9, .97, .99, .999, .9999}, "probabilities of a hit, at least ½")
	cmd.Flags().StringVar(&state, "state", "", "file that keeps the simulated runs: one that was stopped goes on, one with more runs adds to them")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if r.Runs < 1 || r.Runs%stoppingChunk != 0 || r.Horizon < 1 {
			return fmt.Errorf("stopping: --runs is %d and --horizon %d; expected a multiple of %d, and at least 1", r.Runs, r.Horizon, stoppingChunk)
		}
		kept, err := openTally(state, fmt.Sprintf("alpha %g, horizon %d", r.Alpha, r.Horizon))
		if err != nil {
			return fmt.Errorf("stopping: %w", err)
		}
		for _, p := range grid {
			if err := r.measure(cmd.Context(), kept, p); err != nil {
				return fmt.Errorf("stopping: %w", err)
			}
		}
		if err := kept.save(); err != nil {
			return err
		}
		return r.write(cmp.Or(s.out, "bench/results/stopping"))
	}
	return cmd
}

func (r *everyLook) measure(ctx context.Context, kept *tally, p float64) error {
	b, err := newBoundary(p, r.Alpha, r.Horizon)
	if err != nil {
		return err
	}
	row := stoppingRow{P: p, Summed: b.sum()}
	draw := newDoublings(1-p, r.Horizon)
	c, err := kept.upTo(ctx, fmt.Sprint(p), r.Runs/stoppingChunk, func(random *rand.Rand) (counts, error) {
		c := counts{Trials: stoppingChunk}
		for i := range stoppingChunk {
			if i%100 == 0 && ctx.Err() != nil {
				return c, ctx.Err()
			}
			claim, upper := b.run(draw, random)
			c.Claims += index(claim || upper)
			c.False += index(claim)
		}
		return c, nil
	})
	if err != nil {
		return err
	}
	row.Simulated, row.Apart = [2]int{c.False, c.Claims - c.False}, 1
	for i, k := range row.Simulated {
		row.Apart = min(row.Apart, 2*atLeast(k, c.Trials, row.Summed[i]), 2*(1-atLeast(k+1, c.Trials, row.Summed[i])))
	}
	r.Rows = append(r.Rows, row)
	say("p = %v: summed %.3g and %.3g, in %d runs %d and %d", p, row.Summed[0], row.Summed[1], c.Trials, row.Simulated[0], row.Simulated[1])
	return nil
}

// boundary says at which counts the interval of an image is false, after every number of noise samples up to a horizon. Of n samples a
// claim is false with at most claims[n] misses, and an upper bound with at most uppers[n] hits; −1 is never. Both grow with n, by one at a time.
type boundary struct {
	p                    float64
	claims, uppers       []int
	claimFrom, upperFrom first
}

func newBoundary(p, alpha float64, horizon int) (*boundary, error) {
	plan, err := stopping.New(rule.Settings{Rule: rule.Anytime, Sigma: 1, Alpha: alpha, MaxSamples: horizon, Selection: 1, Block: 1})
	if err != nil {
		return nil, err
	}
	if !(p >= .5 && p < 1) {
		return nil, fmt.Errorf("--p is %v; expected at least ½ and less than 1", p)
	}
	radius := math.Sqrt2 * math.Erfinv(2*p-1)
	b := &boundary{p: p, claims: []int{-1}, uppers: []int{-1}}
	chosen := ledger.Look{To: 1, Counts: []ledger.Count{{N: 1}}}
	for n := 1; n <= horizon; n++ {
		claims, uppers := b.claims[n-1], b.uppers[n-1]
		o, err := plan.Judge([]ledger.Look{chosen, look(1, n+1, 0, n-claims-1)})
		if err != nil {
			return nil, err
		}
		if o.Class != stopping.Abstain && o.Radius > radius {
			claims++
		}
		up, err := plan.Upper(uppers+1, n)
		if err != nil {
			return nil, err
		}
		if up < radius*(1-1e-8) { // bounds are rounded by 1e-9
			uppers++
		}
		b.claims, b.uppers = append(b.claims, claims), append(b.uppers, uppers)
	}
	b.claimFrom, b.upperFrom = newFirst(b.claims), newFirst(b.uppers)
	return b, nil
}

// sum gives the probabilities that the interval is false at some time, first at the one end and first at the other, over all ways.
func (b *boundary) sum() (wrong [2]float64) {
	chance := make([]float64, len(b.claims)+1) // of so many misses so far, never wrong
	chance[0] = 1
	low, high := 0, 0 // of the misses
	for n := 1; n < len(b.claims); n++ {
		high++
		for m := high; m > low; m-- {
			chance[m] = chance[m]*b.p + chance[m-1]*(1-b.p)
		}
		chance[low] *= b.p
		for ; low <= min(high, b.claims[n]); low++ {
			wrong[0] += chance[low]
			chance[low] = 0
		}
		for ; high >= low && n-high <= b.uppers[n]; high-- {
			wrong[1] += chance[high]
			chance[high] = 0
		}
	}
	return wrong
}

// run simulates one image as if sample by sample: before one of the boundaries has come to the counts of now nothing can be wrong, and
// what happens until then is drawn at once.
func (b *boundary) run(draw doublings, random *rand.Rand) (claim, upper bool) {
	n, misses := 0, 0
	for {
		claims, uppers := b.claimFrom.at(misses), b.upperFrom.at(n-misses)
		switch next := min(claims, uppers); {
		case claims <= n:
			return true, false
		case uppers <= n:
			return false, true
		case next == never:
			return false, false
		default:
			j := bits.Len(uint(next-n)) - 1
			misses += draw[j].draw(random)
			n += 1 << j
		}
	}
}

// first is the number of samples from which on a boundary lies at or above so many counts.
type first []int

const never = math.MaxInt

func newFirst(boundary []int) (f first) {
	for n, most := range boundary {
		for len(f) <= most {
			f = append(f, n)
		}
	}
	return f
}

func (f first) at(count int) int {
	if count < len(f) {
		return f[count]
	}
	return never
}

// doublings are the laws of the misses of 1, 2, 4, … samples.
type doublings []binomial

func newDoublings(miss float64, horizon int) (d doublings) {
	for j := range bits.Len(uint(horizon)) {
		d = append(d, newBinomial(1<<j, miss))
	}
	return d
}

func (r *everyLook) write(out string) error {
	var grid []string
	for _, row := range r.Rows {
		grid = append(grid, fmt.Sprint(row.P))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Whoever stops at the worst moment

Made by `+"`go run ./bench stopping --runs %d --horizon %d --alpha %g --p %s`"+`. An image under the rule anytime is looked at after every single noise sample, up to the horizon, and the run ends at the first moment at which
its interval is false: below is what it then says too much (a radius that is too large, or an upper bound that is too small). "Summed" is the probability of that, over all ways there are; "simulated" are
the runs in which it happened. Both together are to be at most α. The last column is the probability that sum and simulation differ so much by chance (the smaller of two-sided binomial tests at both ends).

| p of a hit | radius too large: summed | simulated | upper bound too small: summed | simulated | together, in units of α | by chance |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`, r.Runs, r.Horizon, r.Alpha, strings.Join(grid, ","))
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "| %g | %.3e | %d | %.3e | %d | %.2f | %.2g |\n", row.P, row.Summed[0], row.Simulated[0], row.Summed[1], row.Simulated[1], (row.Summed[0]+row.Summed[1])/r.Alpha, row.Apart)
	}
	fmt.Print(b.String())
	return writeResults(out, r, " ", b.Bytes())
}
