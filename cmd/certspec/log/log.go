// Package log is "certspec log".
package log

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/certlog"
)

// Command makes the command.
func Command() *cobra.Command {
	return cli.Noun("log", "Metrics of certification logs: ledgers of certspec and published tables", "", metricsCommand(), compareCommand(), tableCommand())
}

// logFile is a ledger or a published log.
type logFile struct {
	file     string
	rows     rs.Rows
	warnings []string
	run      *rs.Run // nil: a published log
}

// radiusLimit is what a published log says of itself elsewhere, so that its radii can be checked.
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
	f.IntVar(&l.n, "n", 0, "noise samples per image behind a published log: with --alpha and --sigma, radii are checked against the largest that they can prove")
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

// readLog reads a ledger, which begins with a brace, or a published log.
func readLog(file string, limit *radiusLimit) (*logFile, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	l := &logFile{file: file}
	in := bufio.NewReader(f)
	if first, err := in.Peek(1); err != nil || first[0] != '{' {
		log, err := certlog.Read(file, in)
		if err != nil {
			return nil, err
		}
		if limit != nil {
			if err := log.CheckRadii(limit.n, limit.alpha, limit.sigma); err != nil {
				return nil, err
			}
		}
		l.rows, l.warnings = log.Rows, log.Warnings
		return l, nil
	}
	if l.run, err = rs.Open(file); err != nil {
		return nil, err
	}
	l.rows = l.run.Rows
	if !l.run.Complete() {
		l.warnings = append(l.warnings, fmt.Sprintf("not complete: %d of %d images", len(l.rows), l.run.Images()))
	}
	return l, nil
}

// readLogs reads as many of the files as it can; the error is of all others.
func readLogs(files []string, limit *radiusLimit) (logs []*logFile, failed error) {
	for _, file := range files {
		l, err := readLog(file, limit)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		logs = append(logs, l)
	}
	return logs, failed
}

// warn says the warnings of a log on standard error.
func (l *logFile) warn() {
	for _, warning := range l.warnings {
		cli.Say("warning: %s: %s", l.file, warning)
	}
}
