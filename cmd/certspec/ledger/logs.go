package ledger

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/rs/certlog"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/rs/ledger"
)

// radiusLimit describes a published log by what is printed of it, so that its radii can be checked.
type radiusLimit struct {
	n            int
	alpha, sigma float64
}

// logOptions say what is read of logs.
type logOptions struct {
	radii []float64
	limit radiusLimit
}

func (o *logOptions) flags(f *cli.Flags) {
	l := &o.limit
	f.Floats(&o.radii, "radii", []float64{0, .25, .5, .75}, "radii of the certified accuracies")
	f.IntVar(&l.n, "n", 0, "noise samples per image behind a published log: with --alpha and --sigma, radii are "+
		"checked against the largest that they can prove")
	f.Float64Var(&l.alpha, "alpha", 0, "failure probability of a published log")
	f.Float64Var(&l.sigma, "sigma", 0, "standard deviation of the noise of a published log")
}

// limitOf checks the flags, and gives the limit, or nil where none of its flags was given.
func (o *logOptions) limitOf(f *pflag.FlagSet) (*radiusLimit, error) {
	if err := cli.CheckRadii(o.radii); err != nil {
		return nil, err
	}
	given := 0
	for _, name := range []string{"n", "alpha", "sigma"} {
		if f.Changed(name) {
			given++
		}
	}
	switch {
	case given == 0:
		return nil, nil
	case given < 3:
		return nil, cli.Usagef("--n, --alpha and --sigma: expected all three or none")
	}
	if err := (&certlog.Log{}).CheckRadii(o.limit.n, o.limit.alpha, o.limit.sigma); err != nil {
		return nil, cli.Wrong(err)
	}
	return &o.limit, nil
}

// radiiOf gives the radii of a ledger or published log, with its settings, or those of the flags for logs.
func radiiOf(l *certlog.Results, limit *radiusLimit) (compare.Radii, error) {
	if l.Run != nil {
		return compare.OfRun(l.Run), nil
	}
	r := compare.Of(l.Rows.Vectors())
	if limit == nil {
		return r, nil
	}
	r.Header = &ledger.Header{Sigma: limit.sigma, Alpha: limit.alpha,
		Rule: ledger.Rule{Name: rs.Fixed, Looks: []ledger.Level{{Samples: limit.n, Alpha: limit.alpha}}}}
	lower, err := bound.Lower(limit.n, limit.n, limit.alpha)
	if err != nil {
		return r, err
	}
	r.Cap, err = bound.Radius(limit.sigma, lower)
	return r, err
}

// readLogs reads as many of the files as it can, ledgers or published logs; the error is of all others.
func readLogs(files []string, limit *radiusLimit) (logs []*certlog.Results, failed error) {
	for _, file := range files {
		l, err := certlog.ReadResults(file)
		if err == nil && l.Log != nil && limit != nil {
			err = l.Log.CheckRadii(limit.n, limit.alpha, limit.sigma)
			l.Warnings = l.Log.Warnings
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		logs = append(logs, l)
	}
	return logs, failed
}

// warn says the warnings of a log on standard error.
func warn(file string, warnings []string) {
	for _, warning := range warnings {
		cli.Say("warning: %s: %s", file, warning)
	}
}
