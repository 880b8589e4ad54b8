// Package calib is "certspec calib".
package calib

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
)

// Command makes the command.
func Command() *cobra.Command {
	return cli.Noun("calib", "Measure and certify how well confidences are calibrated",
		`Calibration of confidences, and how wrong they can become inside certified intervals. The samples
come from a ledger that was made with certspec certify --keep-scores, at a list of radii, or from a CSV file with
a header and the columns correct, confidence or correct, lower, upper or all four; correct is 1 or 0, the
others are numbers in [0, 1], and further columns are ignored.`,
		metricsCommand(), certifyCommand(), worstCommand(), tableCommand(), recalibrateCommand(), setsCommand())
}

// sampleFile is a set of samples that a command reads, with the bins it asks for.
type sampleFile struct {
	name string
	*calib.Table
	bins   *calib.Bins
	images []int         // of a ledger
	at     *ledgerRadius // nil: from a CSV file
}

// binOptions choose bins.
type binOptions struct {
	count  int
	edges  []float64
	closed string
}

func (o *binOptions) flags(f *cli.Flags) {
	f.IntVar(&o.count, "bins", 15, "number of bins of equal width")
	f.Floats(&o.edges, "edges", nil, "edges of the bins, from 0 to 1, instead of --bins")
	cli.Choice(f, &o.closed, "closed", "left", "side on which a bin holds its edge: left, [a, b), or right, (a, b]",
		"left", "right")
}

func (o *binOptions) bins(f *pflag.FlagSet) (*calib.Bins, error) {
	convention := calib.LeftClosed
	if o.closed == "right" {
		convention = calib.RightClosed
	}
	if f.Changed("edges") {
		if f.Changed("bins") {
			return nil, cli.Usagef("--bins and --edges exclude each other")
		}
		bins, err := calib.NewBins(o.edges, convention)
		if err != nil {
			return nil, cli.Usagef("--edges: %w", err)
		}
		return bins, nil
	}
	bins, err := calib.Uniform(o.count, convention)
	if err != nil {
		return nil, cli.Usagef("--bins: %w", err)
	}
	return bins, nil
}

// sampleOptions name samples, in a file or in a ledger, and choose bins.
type sampleOptions struct {
	in, ledger  string
	confidences confidenceOptions
	binOptions
}

func (o *sampleOptions) flags(cmd *cobra.Command) {
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.File(&o.in, "in", "CSV file of samples, with the columns correct (or label and prediction) and confidence, "+
			"or lower and upper; - is standard input", "csv")
		f.File(&o.ledger, "ledger", "ledger with scores, instead of --in", "ledger")
		o.confidences.flags(f)
	})
	cli.Group(cmd, cli.Settings, o.binOptions.flags)
}

// open gives the samples of the file, or of the ledger at each radius, where there may be none.
func (o *sampleOptions) open(cmd *cobra.Command) ([]*sampleFile, error) {
	f := cmd.Flags()
	if f.Changed("in") == f.Changed("ledger") {
		return nil, cli.Usagef("expected --in FILE or --ledger FILE, one of them")
	}
	b, err := o.bins(f)
	if err != nil {
		return nil, err
	}
	if f.Changed("ledger") {
		sets, err := o.confidences.sets(cmd.Context(), f, o.ledger)
		for _, s := range sets {
			s.bins = b
		}
		return sets, err
	}
	for _, name := range []string{"radii", "certificate", "mode", "spending"} {
		if f.Changed(name) {
			return nil, cli.Usagef("--%s with --in: the intervals of a CSV file are certified already; a ledger is "+
				"given by --ledger", name)
		}
	}
	table, err := readSamples(o.in, cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	if len(table.Correct) == 0 {
		return nil, fmt.Errorf("%s: no certified samples", o.in)
	}
	return []*sampleFile{{name: o.in, Table: table, bins: b}}, nil
}

func readSamples(path string, stdin io.Reader) (*calib.Table, error) {
	if path == "-" {
		return calib.ReadCSV("standard input", stdin)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := calib.ReadCSV(path, f)
	if err != nil {
		if scan, notLedger := ledgerio.Scan(path); notLedger == nil {
			scan.Close()
			return nil, cli.Usagef("%s is a ledger; give it by --ledger", path)
		}
	}
	return t, err
}

// needIntervals refuses a file without intervals.
func (s *sampleFile) needIntervals() error {
	if s.Lower == nil {
		return fmt.Errorf("%s: no columns lower and upper", s.name)
	}
	return nil
}

// firstOutside is the first sample whose confidence is not in its interval, else −1.
func (s *sampleFile) firstOutside() int {
	for i, z := range s.Confidence {
		if z < s.Lower[i] || z > s.Upper[i] {
			return i
		}
	}
	return -1
}

// warnOutside tells that the error of the confidences need not be below the bounds.
func (s *sampleFile) warnOutside() {
	if i := s.firstOutside(); i >= 0 {
		cli.Say("warning: %s: the confidence of sample %d, %v, is outside its interval [%v, %v]; the bounds do not "+
			"cover it",
			s.name, i+1, s.Confidence[i], s.Lower[i], s.Upper[i])
	}
}

// known are the metrics of the confidences, where a file has some.
type known struct {
	ECE   *float64 `json:"ece,omitempty"`
	Brier *float64 `json:"brier,omitempty"`
}

func (s *sampleFile) known() (k known, err error) {
	if s.Confidence == nil {
		return k, nil
	}
	ece, err := calib.ECE(s.Correct, s.Confidence, s.bins)
	if err != nil {
		return k, err
	}
	brier, err := calib.Brier(s.Correct, s.Confidence)
	return known{&ece, &brier}, err
}

// writeAssignment writes bin and confidence of every sample.
func writeAssignment(cmd *cobra.Command, path string, bin []int, confidence []float64, bins *calib.Bins) error {
	edges := bins.Edges()
	rows := [][]string{{"row", "bin", "bin_lower", "bin_upper", "confidence"}}
	for i, m := range bin {
		rows = append(rows, []string{strconv.Itoa(i + 1), strconv.Itoa(m + 1), cli.Number(edges[m]),
			cli.Number(edges[m+1]), cli.Number(confidence[i])})
	}
	return cli.WriteCSV(cmd, path, rows)
}
