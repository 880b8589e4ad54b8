package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/calib"
)

func init() { verbs = append(verbs, calibCommand) }

func calibCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "calib",
		Short: "Calibration of confidences, and how wrong they can become",
		Long: `Calibration of confidences, and how wrong they can become inside certified intervals. The samples
come from a ledger that was made with certspec certify --keep-scores, at a list of radii, or from a CSV file with
a header and the columns correct, confidence or correct, lower, upper or all four; correct is 1 or 0, the
others are numbers in [0, 1], and further columns are ignored.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(calibMetricsCommand(), calibCertifyCommand(), calibCBSCommand(), calibExactCommand(), calibADMMCommand(), calibDECECommand(), calibTableCommand())
	return cmd
}

// sampleFile is a set of samples that a command reads, with the bins it asks for.
type sampleFile struct {
	name string
	*calib.Table
	bins   *calib.Bins
	images []int         // of a ledger
	at     *ledgerRadius // nil: from a CSV file
}

// binFlags adds the flags that choose bins.
func binFlags(cmd *cobra.Command) func() (*calib.Bins, error) {
	f := cmd.Flags()
	count := f.Int("bins", 15, "number of bins of equal width")
	edges := f.Float64Slice("edges", nil, "edges of the bins, from 0 to 1, instead of --bins")
	closed := f.String("closed", "left", "side on which a bin holds its edge: left, [a, b), or right, (a, b]")
	return func() (*calib.Bins, error) {
		conventions := map[string]calib.Convention{"left": calib.LeftClosed, "right": calib.RightClosed}
		convention, ok := conventions[*closed]
		if !ok {
			return nil, usagef("--closed %q: expected left or right", *closed)
		}
		if f.Changed("edges") {
			if f.Changed("bins") {
				return nil, usagef("--bins and --edges exclude each other")
			}
			bins, err := calib.NewBins(*edges, convention)
			if err != nil {
				return nil, usagef("--edges: %w", err)
			}
			return bins, nil
		}
		bins, err := calib.Uniform(*count, convention)
		if err != nil {
			return nil, usagef("--bins: %w", err)
		}
		return bins, nil
	}
}

// sampleFlags adds --in and --ledger, the flags that belong to a ledger, and those that choose bins. The function gives
// the samples of the file, or of the ledger at each radius, where there may be none.
func sampleFlags(cmd *cobra.Command) func() ([]*sampleFile, error) {
	f := cmd.Flags()
	path := f.String("in", "", "CSV file of samples; - is standard input")
	ledger := f.String("ledger", "", "ledger with scores, instead of --in")
	confidences := confidenceFlags(cmd)
	bins := binFlags(cmd)
	return func() ([]*sampleFile, error) {
		if f.Changed("in") == f.Changed("ledger") {
			return nil, usagef("expected --in FILE or --ledger FILE, one of them")
		}
		b, err := bins()
		if err != nil {
			return nil, err
		}
		if f.Changed("ledger") {
			sets, err := confidences(*ledger)
			for _, s := range sets {
				s.bins = b
			}
			return sets, err
		}
		for _, name := range []string{"radii", "certificate", "mode", "spending"} {
			if f.Changed(name) {
				return nil, usagef("--%s with --in: the intervals of a CSV file are certified already", name)
			}
		}
		table, err := readSamples(*path, cmd.InOrStdin())
		if err != nil {
			return nil, err
		}
		if len(table.Correct) == 0 {
			return nil, fmt.Errorf("%s: no certified samples", *path)
		}
		return []*sampleFile{{name: *path, Table: table, bins: b}}, nil
	}
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
	return calib.ReadCSV(path, f)
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
		say("warning: %s: the confidence of sample %d, %v, is outside its interval [%v, %v]; the bounds do not cover it",
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
		rows = append(rows, []string{strconv.Itoa(i + 1), strconv.Itoa(m + 1), number(edges[m]), number(edges[m+1]), number(confidence[i])})
	}
	return writeCSV(cmd, path, rows)
}

// number is the shortest text of a number.
func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func writeCSV(cmd *cobra.Command, path string, rows [][]string) error {
	var text bytes.Buffer
	if err := csv.NewWriter(&text).WriteAll(rows); err != nil {
		return err
	}
	return writeOut(cmd, path, text.Bytes())
}
