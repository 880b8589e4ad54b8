package calib

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/table"
)

// row is a file in a table. What it has no samples or no columns for is null.
type row struct {
	File     string   `json:"file"`
	Radius   *float64 `json:"radius,omitempty"` // of a ledger
	N        int      `json:"n"`
	Accuracy *float64 `json:"accuracy"`
	known
	CCE     *float64 `json:"cce"`
	CBS     *float64 `json:"cbs"`
	MeanGap *float64 `json:"mean_gap"`
	Width   *float64 `json:"mean_width"`
	ACCE    *float64 `json:"acce,omitempty"`
	DECE    *float64 `json:"dece,omitempty"`

	// Of a ledger: how far the accuracies of the bins are apart, and whether this is the row of a
	// constant confidence, the accuracy.
	Resolution *float64 `json:"resolution,omitempty"`
	Constant   bool     `json:"constant,omitempty"`
}

// tableOptions holds the values of the flags of "calib table".
type tableOptions struct {
	binOptions
	confidences    confidenceOptions
	search, common bool
	figure         string // drawn in the place of the table
	steps, trials  int
	seed           uint64
	table          cli.TableOptions
	json           *bool
}

func tableCommand() *cobra.Command {
	var o tableOptions
	cmd := &cobra.Command{
		Use:   "table FILE… [--figure NAME --out FILE]",
		Short: "Print a table of calibration and its bounds, or draw them over the radius",
		Long: `Make a table with a row for each CSV file of samples, or for each radius of a ledger with scores.

The columns are accuracy, ECE and Brier score of the confidences, exact certified calibration error,
certified Brier score, largest mean gap, and mean width of the intervals. A ledger's table also has the
resolution, and a row of a constant confidence to compare with; a CSV file's table has both in its notes.
--search adds what ADMM and dECE find. A – stands where a file has no column for a number, or no samples.

--figure draws a curve for each ledger instead, over the radii at which at least 20 images are certified, and
prints its numbers. The figures are those of Emde et al. 2025:

cbs       the certified Brier score (figures 2 and 16a); with --common, of the images that are certified at
          all radii shown (16b)
cce       the largest calibration error, exactly (figures 3 and 15 show what ADMM finds of it)
width     the mean width of the certified intervals (figure 8)
searches  of one ledger: the exact error beside the best of 16 runs of ADMM, ADMM with the one setting that
          is said to do for all, the best trial of dECE, and the Brier confidences (figures 3, 13 to 15)
starts    of one ledger: every run of ADMM and every trial of dECE by where it starts (figure 12)

Searches take about half a minute for each radius and 2,000 images.`,
		Example: "  certspec calib table r0.05.csv r0.25.csv r0.5.csv -o table.tex\n" +
			"  certspec calib table out/fmnist.ledger --radii 0.05,0.25,0.5 --format csv\n" +
			"  certspec calib table a.ledger b.ledger --figure cbs --common --radii 0,0.1,0.2,0.3 --out cbs.svg",
	}

	cli.Group(cmd, cli.Data, o.confidences.flags)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		o.binOptions.flags(f)
		f.BoolVar(&o.search, "search", false, "also run ADMM (16 runs) and dECE, which takes seconds")
		cli.Choice(f, &o.figure, "figure", "", "draw instead: cbs, cce, width, searches or starts", drawCBS, drawCCE,
			drawWidth, drawSearches, drawStarts)
		f.BoolVar(&o.common, "common", false, "of --figure: only the images that are certified at every radius shown")
		f.IntVar(&o.steps, "steps", 3000, "maximum number of steps of a run of ADMM")
		f.IntVar(&o.trials, "trials", 12,
			"runs of dECE, 12 with fixed settings, others at random (24 with --figure)")
		f.Uint64Var(&o.seed, "seed", 0, "seed of the trials drawn at random")
	})
	o.table.Drawn = cli.FigureForms
	o.table.Flags(cmd)
	o.json = cli.JSON(cmd)
	cli.First(cmd, "radii", "search", "figure", "out", "format")
	cmd.RunE = func(cmd *cobra.Command, files []string) error { return o.run(cmd, files) }
	return cmd
}

func (o *tableOptions) run(cmd *cobra.Command, files []string) error {
	if len(files) == 0 {
		return cli.Usagef("%s wants at least one file", cmd.CommandPath())
	}
	if o.steps < 1 || o.trials < 1 {
		return cli.Usagef("--steps %d, --trials %d: expected more than 0", o.steps, o.trials)
	}
	unused, why := []string{"common", "steps", "trials", "seed"}, "expected --search or --figure beside it"
	switch {
	case o.figure != "":
		unused, why = []string{"search", "format"}, "it is of tables"
	case o.search:
		unused, why = unused[:1], "it is of figures"
	}
	for _, name := range unused {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--%s: %s", name, why)
		}
	}
	b, err := o.bins(cmd.Flags())
	if err != nil {
		return err
	}
	if o.figure == "" && cli.IsDrawing(o.table.Out) {
		return cli.Usagef("--out %s: a picture needs --figure cbs, cce, width, searches or starts", o.table.Out)
	}
	if o.figure != "" {
		return o.draw(cmd, files, b)
	}
	var rows []row
	var failed error
	var notes []string
	for _, file := range files {
		sets, err := tableSets(cmd, file, &o.confidences)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		for _, s := range sets {
			s.bins = b
			row, err := s.row()
			row.File = file
			if s.at != nil {
				row.Radius = &s.at.radius
			}
			if err == nil && o.search && row.CCE != nil {
				err = s.search(cmd, &row, o)
			}
			if err != nil {
				return errors.Join(failed, err)
			}
			rows = append(rows, row)
			if row.N > 0 {
				flat, err := s.constant(&row)
				if err != nil {
					return errors.Join(failed, err)
				}
				if s.at != nil {
					rows[len(rows)-1] = row
					rows = append(rows, flat)
				}
				notes = append(notes, s.compare(&row, &flat)...)
			}
		}
		if len(sets) > 0 && sets[0].at != nil {
			notes = append(notes, file+": "+sets[0].at.note+".")
		}
	}
	if *o.json {
		return errors.Join(cli.PrintLines(cmd.OutOrStdout(), rows...), failed)
	}
	if failed != nil {
		return failed
	}
	t := calibrationTable(rows, o.search)
	t.Notes = notes
	return o.table.Write(cmd, t)
}

// tableSets gives the samples of a CSV file, or of a ledger at each radius.
func tableSets(cmd *cobra.Command, file string, o *confidenceOptions) ([]*sampleFile, error) {
	first := make([]byte, 1)
	if f, err := os.Open(file); err == nil {
		f.Read(first)
		f.Close()
	}
	if isLedger(first) {
		return o.sets(cmd.Context(), cmd.Flags(), file)
	}
	t, err := readSamples(file, cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	return []*sampleFile{{name: file, Table: t}}, nil
}

func (s *sampleFile) row() (row, error) {
	row := row{File: s.name, N: len(s.Correct)}
	if row.N == 0 {
		return row, nil
	}
	accuracy, err := calib.Accuracy(s.Correct)
	if err != nil {
		return row, err
	}
	row.Accuracy = &accuracy
	if s.Lower == nil {
		row.known, err = s.known()
		return row, err
	}
	s.warnOutside()
	b, _, err := s.bounds()
	row.known, row.CCE, row.CBS, row.MeanGap, row.Width = known{b.ECE, b.Brier}, &b.CCE, &b.CBS, &b.MeanGap,
		&b.MeanWidth
	return row, err
}

// constant is the row of a confidence that is the accuracy for every sample; the confidence of the samples
// gets its resolution, which a constant does not have.
func (s *sampleFile) constant(of *row) (row, error) {
	accuracy := *of.Accuracy
	brier, zero := accuracy*(1-accuracy), 0.0
	flat := row{File: of.File, Radius: of.Radius, N: of.N, Accuracy: of.Accuracy, known: known{&zero, &brier},
		CCE: &zero, CBS: &brier, Width: &zero, Resolution: &zero, Constant: true}
	if s.Confidence == nil {
		return flat, nil
	}
	resolution, err := calib.Resolution(s.Correct, s.Confidence, s.bins)
	of.Resolution = &resolution
	return flat, err
}

// compare says in words how samples stand beside a constant confidence: those of a ledger where
// they are no better, those of a CSV file, whose table has no row for it, always.
func (s *sampleFile) compare(own, flat *row) (notes []string) {
	name, at := own.File, "the confidences"
	if s.at != nil {
		name = s.name
	}
	score, value := "Brier score", own.Brier
	if own.CBS != nil {
		score, value, at = "CBS", own.CBS, "inside the intervals the confidences"
	}
	no := ""
	if *value >= *flat.Brier {
		no = "no "
	}
	if s.at == nil || no != "" {
		notes = append(notes, fmt.Sprintf("%s: %s are %sbetter than a constant (%s %.4f against %.4f).", name, at, no,
			score, *value, *flat.Brier))
	}
	if s.at == nil && own.Resolution != nil {
		notes = append(notes, fmt.Sprintf("%s: the resolution is %.4f, a constant's 0.", name, *own.Resolution))
	}
	return notes
}

func (s *sampleFile) search(cmd *cobra.Command, row *row, o *tableOptions) error {
	admm, err := s.admm(cmd.Context(), o.steps)
	if err != nil {
		return err
	}
	dece, err := s.dece(cmd.Context(), o.trials, o.seed)
	if err != nil {
		return err
	}
	row.ACCE, row.DECE = &admm.ACCE, &dece.DECE
	return nil
}

func calibrationTable(rows []row, search bool) *table.Table {
	t := &table.Table{Columns: []string{"file", "radius", "samples", "accuracy", "ECE", "Brier", "CCE", "CBS",
		"mean gap", "mean width"}}
	if search {
		t.Columns = append(t.Columns, "ACCE", "dECE")
	}
	ofLedger := slices.ContainsFunc(rows, func(r row) bool { return r.Resolution != nil })
	if ofLedger {
		t.Columns = append(t.Columns, "resolution")
	}
	for _, r := range rows {
		row := []any{r.File}
		if r.Constant {
			row[0] = "constant confidence"
		}
		if r.Radius != nil {
			row = append(row, *r.Radius)
		} else {
			row = append(row, table.None)
		}
		row = append(row, r.N)
		values := []*float64{r.Accuracy, r.ECE, r.Brier, r.CCE, r.CBS, r.MeanGap, r.Width}
		if search {
			values = append(values, r.ACCE, r.DECE)
		}
		if ofLedger {
			values = append(values, r.Resolution)
		}
		for _, v := range values {
			if v == nil {
				row = append(row, table.None)
			} else {
				row = append(row, table.Rounded{Value: *v, Decimals: 4})
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
