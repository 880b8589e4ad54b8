// Package bound is "certspec bound".
package bound

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs/bound"
)

// Values of --bound.
const (
	clopperPearson = "clopper-pearson"
	randomized     = "randomized"
	hoeffding      = "hoeffding"
)

type question struct {
	k, n          int
	alpha         float64
	sigma, radius float64
	method        string
	u             float64
	twoSided      bool
	json          *bool
}

// Command makes the command.
func Command() *cobra.Command {
	var o question
	cmd := &cobra.Command{
		Use:   "bound --k K --n N [--sigma S] [flags]",
		Short: "Compute a confidence bound and a certified radius from class counts",
		Long: `Bound the probability p of a class from k hits of n independent noise samples.

The lower bound on p holds with probability at least 1−alpha. The radius that follows, under noise of standard
deviation sigma, is printed with it. Both are rounded down, so that all digits are sound.

--radius asks the other way round: how many hits of n certify that radius by the betting test, which may look
after every noise sample. With --k too, it says whether so many do.`,
		Example: `  certspec bound --k 99000 --n 100000 --alpha 0.001 --sigma 0.25
  certspec bound --k 90 --n 100 --alpha 0.05 --two-sided
  certspec bound --radius 0.25 --sigma 0.25 --n 1000`,
		Args: cli.NoArgs,
	}

	cli.Group(cmd, cli.Noise, func(f *cli.Flags) {
		f.IntVar(&o.k, "k", 0, "noise samples that got the class")
		f.IntVar(&o.n, "n", 0, "noise samples in all")
		f.SigmaFlag(&o.sigma)
		f.Float64Var(&o.alpha, "alpha", stopping.DefaultAlpha, "probability with which the bound may be false")
		cli.Choice(f, &o.method, "bound", clopperPearson, clopperPearson+", "+randomized+" or "+hoeffding,
			clopperPearson, randomized, hoeffding)
		f.Float64Var(&o.u, "u", 0, "for the randomized bound: a number in [0, 1], drawn once and before the counts "+
			"are known")
		f.BoolVar(&o.twoSided, "two-sided", false, "Clopper-Pearson bounds on both sides, at alpha/2 each")
		f.Float64Var(&o.radius, "radius", 0, "radius to test by betting")
	})
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *question) run(cmd *cobra.Command) error {
	answer, err := o.answer(cmd)
	if err != nil {
		return cli.Usage(err)
	}
	if *o.json {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(answer)
	}
	_, err = io.WriteString(cmd.OutOrStdout(), answer.text())
	return err
}

type boundAnswer interface{ text() string }

func (q question) answer(cmd *cobra.Command) (boundAnswer, error) {
	given := cmd.Flags().Changed
	if given("radius") {
		for _, other := range []string{"bound", "u", "two-sided"} {
			if given(other) {
				return nil, cli.Usagef("--radius asks the betting test; --%s goes with a bound", other)
			}
		}
		if err := cli.Needed(cmd, "sigma", "n"); err != nil {
			return nil, err
		}
		return q.bet(given("k"))
	}
	if err := cli.Needed(cmd, "k", "n"); err != nil {
		return nil, err
	}
	if q.twoSided && q.method != clopperPearson {
		return nil, cli.Usagef("--two-sided goes with --bound %s alone", clopperPearson)
	}
	if given("u") != (q.method == randomized) {
		return nil, cli.Usagef("--bound %s and --u go together", randomized)
	}
	return q.bound(given("sigma"))
}

// provenBound is the answer on a bound. A radius is there where sigma is given.
type provenBound struct {
	K       int      `json:"k"`
	N       int      `json:"n"`
	Alpha   float64  `json:"alpha"`
	Sigma   *float64 `json:"sigma,omitempty"`
	Lower   float64  `json:"lower"`
	Upper   *float64 `json:"upper,omitempty"`
	Radius  *float64 `json:"radius,omitempty"`
	Abstain bool     `json:"abstain"`
	Bound   string   `json:"bound,omitempty"` // of another kind than Clopper-Pearson

	method fmt.Stringer
}

func (q question) bound(withRadius bool) (*provenBound, error) {
	b := &provenBound{K: q.k, N: q.n, Alpha: q.alpha}
	var lower, upper bound.Probability
	var err error
	switch q.method {
	case clopperPearson:
		method := bound.ClopperPearson{Alpha: q.alpha}
		b.method = method
		if q.twoSided {
			lower, upper, err = method.Interval(q.k, q.n)
			up := upper.Up()
			b.Upper = &up
		} else {
			lower, err = method.Lower(q.k, q.n)
		}
	case randomized:
		method := bound.Randomized{Alpha: q.alpha, U: q.u}
		b.method, b.Bound = method, method.Name()
		lower, err = method.Lower(q.k, q.n)
	case hoeffding:
		method := bound.Hoeffding{Alpha: q.alpha}
		b.method, b.Bound = method, method.Name()
		if _, err := bound.Lower(q.k, q.n, q.alpha); err != nil {
			return nil, err // a count that is none would be an average that is none, with a message that says less
		}
		lower, err = method.Lower(float64(q.k)/float64(q.n), q.n)
	}
	if err != nil {
		return nil, err
	}
	b.Lower = lower.Down()
	b.Abstain = b.Lower < 0.5
	if withRadius {
		_, radius, err := bound.Certificate(q.sigma, lower)
		if err != nil {
			return nil, err
		}
		b.Sigma, b.Radius = &q.sigma, &radius
	}
	return b, nil
}

func (b *provenBound) text() string {
	s := fmt.Sprintf("%v\n%s of %s noise samples: ", b.method, printable.Count(b.K), printable.Count(b.N))
	if b.Upper != nil {
		s += fmt.Sprintf("p between %.15f and %.15f\n", b.Lower, *b.Upper)
	} else {
		s += fmt.Sprintf("p is at least %.15f\n", b.Lower)
	}
	switch {
	case b.Abstain:
		s += "abstain: the lower bound is below one half\n"
	case b.Radius != nil:
		s += fmt.Sprintf("radius %v at sigma %v\n", *b.Radius, *b.Sigma)
	}
	return s
}

// bettingAnswer is the answer on a radius.
type bettingAnswer struct {
	Radius    float64  `json:"radius"`
	Sigma     float64  `json:"sigma"`
	Alpha     float64  `json:"alpha"`
	P0        float64  `json:"p0"` // probability that the radius needs
	N         int      `json:"n"`
	LeastHits *int     `json:"least_hits"` // null where not even n hits certify
	K         *int     `json:"k,omitempty"`
	LogWealth *float64 `json:"log_wealth,omitempty"` // of k hits; certified from −ln alpha on
	Certified *bool    `json:"certified,omitempty"`

	test *bound.Betting
}

func (q question) bet(withCount bool) (*bettingAnswer, error) {
	p0, err := bound.Threshold(q.radius, q.sigma)
	if err != nil {
		return nil, err
	}
	test, err := bound.NewBetting(p0, q.alpha)
	if err != nil {
		return nil, err
	}
	wealth, err := test.LogWealth(q.k, q.n)
	if err != nil {
		return nil, err
	}
	b := &bettingAnswer{Radius: q.radius, Sigma: q.sigma, Alpha: q.alpha, P0: p0.P, N: q.n, test: test}
	least := test.LeastHits(q.n)
	if least <= q.n {
		b.LeastHits = &least
	}
	if withCount {
		certified := q.k >= least
		b.K, b.LogWealth, b.Certified = &q.k, &wealth, &certified
	}
	return b, nil
}

func (b *bettingAnswer) text() string {
	s := fmt.Sprintf("%v\nradius %v at sigma %v needs p above %.15f\n", b.test, b.Radius, b.Sigma, b.P0)
	if b.LeastHits == nil {
		s += fmt.Sprintf("after %s noise samples: not certified, even if all hit\n", printable.Count(b.N))
	} else {
		s += fmt.Sprintf("after %s noise samples: certified from %s hits on\n", printable.Count(b.N),
			printable.Count(*b.LeastHits))
	}
	if b.K != nil {
		verdict := "not certified"
		if *b.Certified {
			verdict = "certified"
		}
		s += fmt.Sprintf("%d hits: %s, ln W = %.4f\n", *b.K, verdict, *b.LogWealth)
	}
	return s
}
