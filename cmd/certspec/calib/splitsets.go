package calib

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/calib/predictionset"
)

// ofModel are the flags of "calib sets" that need a model.
var ofModel = []string{"model", "exec", "data", "count", "skip", "max-index", "sigma", "noise", "radii", "attacked"}

// split makes the sets of --probabilities.
func (o *setsOptions) split(cmd *cobra.Command) error {
	for _, name := range ofModel {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--%s with --probabilities: rows of probabilities give sets for images as they are, at "+
				"radius 0; sets that hold within a radius need the model, for a noise sample of each image: certspec "+
				"calib sets MODEL --data NAME --sigma S --radii R", name)
		}
	}
	if err := cli.NotZero(cmd, "calibrate", "miscoverage"); err != nil {
		return err
	}
	var scores []predictionset.Score
	for _, name := range o.scores {
		if !slices.Contains(predictionset.Scores, predictionset.Score(name)) {
			return cli.Usagef("--score %s: expected lac, aps or raps", name)
		}
		scores = append(scores, predictionset.Score(name))
	}
	name, in, closer, err := openRows(cmd, o.rows)
	if err != nil {
		return err
	}
	defer closer.Close()
	rows, err := calib.ReadProbabilitiesCSV(name, in)
	if err != nil {
		return err
	}
	if o.calibrate == 0 {
		o.calibrate = len(rows.Labels) / 2
	}
	s, err := predictionset.SplitSets(rows, o.calibrate, o.miscoverage, o.seed, scores...)
	var wrong *calib.InputError
	if errors.As(err, &wrong) && (wrong.Argument == "calibrate" || wrong.Argument == "miscoverage") {
		return cli.Usagef("--%s %s: expected %s", wrong.Argument, wrong.Value, wrong.Expected)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), s)
	}
	return printSplit(cmd.OutOrStdout(), name, s)
}

func printSplit(out io.Writer, name string, s *predictionset.Split) error {
	w := cli.Columns(out)
	cli.Fprintf(w, "%s: %d rows calibrate, %d are tested, by seed %d; %d classes\n\n", name, s.Calibration, s.Test, s.Seed,
		s.Classes)
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "score\tthreshold\tmean size\tlargest\tempty\tcoverage\t95 % range")
	for _, of := range s.Sets {
		threshold := "–"
		if of.Threshold != nil {
			threshold = fmt.Sprintf("%.4f", *of.Threshold)
		}
		cli.Fprintf(w, "%s\t%s\t%.3f\t%d\t%.4f\t%.4f\t%.4f–%.4f\n", of.Score, threshold, of.Size, of.Largest, of.Empty,
			of.Coverage, of.Range[0], of.Range[1])
	}
	cli.Fprintf(w, "\nA set holds the label with probability at least %g, over calibration rows and test row. This is "+
		"about images as they are, at radius 0:\nsets that hold within a radius need the model, and certified "+
		"confidences a ledger (certspec certify --keep-scores).\n", 1-s.Miscoverage)
	if s.Calibration < s.Needed {
		cli.Fprintf(w, "Every set has all %d classes: %d calibration rows are needed, there are %d.\n", s.Classes, s.Needed,
			s.Calibration)
	}
	return w.Flush()
}
