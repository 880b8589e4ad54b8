package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/certlog"
)

func init() { verbs = append(verbs, logCommand) }

func logCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Metrics of certification logs: ledgers of certspec and published tables",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(logMetricsCommand(), logCompareCommand(), logTableCommand())
	return cmd
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

// limitFlags adds the flags of a radiusLimit. The function gives it, or nil where none of them was given.
func limitFlags(cmd *cobra.Command) func() (*radiusLimit, error) {
	var l radiusLimit
	f := cmd.Flags()
	f.IntVar(&l.n, "n", 0, "copies per image behind a published log: with --alpha and --sigma, radii are checked against the largest that they can prove")
	f.Float64Var(&l.alpha, "alpha", 0, "failure probability of a published log")
	f.Float64Var(&l.sigma, "sigma", 0, "standard deviation of the noise of a published log")
	return func() (*radiusLimit, error) {
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
			return nil, usagef("--n, --alpha and --sigma: expected all three or none")
		}
		if err := (&certlog.Log{}).CheckRadii(l.n, l.alpha, l.sigma); err != nil {
			return nil, usageError{err}
		}
		return &l, nil
	}
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
		say("warning: %s: %s", l.file, warning)
	}
}

// radiiFlag adds --radii. The function gives them, checked.
func radiiFlag(cmd *cobra.Command) func() ([]float64, error) {
	radii := cmd.Flags().Float64Slice("radii", []float64{0, .25, .5, .75}, "radii of the certified accuracies")
	return func() ([]float64, error) {
		return *radii, checkRadii(*radii)
	}
}

func checkRadii(radii []float64) error {
	for _, r := range radii {
		if !(r >= 0) || math.IsInf(r, 0) {
			return usagef("--radii: %v: expected radii of at least 0", r)
		}
	}
	return nil
}

// tableFlags adds --format and --output. The function writes a table as they ask.
func tableFlags(cmd *cobra.Command) func(*table.Table) error {
	var format, output string
	cmd.Flags().StringVar(&format, "format", "", "form of the table: "+strings.Join(table.Forms, ", ")+"; default: the one that --output's extension names, or markdown")
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write; default: standard output")
	return func(t *table.Table) error {
		form := format
		if form == "" {
			form = table.FormOf(output)
		}
		if form == "" && (output == "" || output == "-") {
			form = "markdown"
		}
		text, ok := t.Render(form)
		if !ok {
			return usagef("--format %q, --output %q: expected one of %s", format, output, strings.Join(table.Forms, ", "))
		}
		return writeOut(cmd, output, []byte(text))
	}
}
