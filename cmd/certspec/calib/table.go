package calib

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/table"
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

// tableOptions are what the flags of "calib table" ask.
type tableOptions struct {
	binOptions
	confidences confidenceOptions
	search      bool
	table       cli.TableOptions
	json        *bool
}

func tableCommand() *cobra.Command {
	var o tableOptions
	cmd := &cobra.Command{
		Use:   "table FILE…",
		Short: "Print a table of calibration and its bounds, a row per file or radius",
		Long: `Make a table with a row for each CSV file of samples, or for each radius of a ledger with scores.
It is Markdown, LaTeX (booktabs), CSV, HTML or text.

The columns are accuracy, ECE and Brier score of the confidences, exact certified calibration error,
certified Brier score, largest mean gap, and mean width of the intervals. A ledger's table also has the
resolution, and a row of a constant confidence to compare with; a CSV file's table has both in its notes.
--search adds what ADMM and dECE find. A – stands where a file has no column for a number, or no samples.`,
		Example: "  certspec calib table r0.05.csv r0.25.csv r0.5.csv -o table.tex\n  certspec calib table " +
			"out/fmnist.ledger --radii 0.05,0.25,0.5 --format csv",
	}

	cli.Group(cmd, cli.Data, o.confidences.flags)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		o.binOptions.flags(f)
		f.BoolVar(&o.search, "search", false, "also run ADMM (16 runs) and dECE (12 runs), which takes seconds")
	})
	o.table.Flags(cmd)
	o.json = cli.JSON(cmd)
	cli.First(cmd, "radii", "bins", "search", "out", "format")
	cmd.RunE = func(cmd *cobra.Command, files []string) error { return o.run(cmd, files) }
	return cmd
}

func (o *tableOptions) run(cmd *cobra.Command, files []string) error {
	if len(files) == 0 {
		return cli.Usagef("%s wants at least one file", cmd.CommandPath())
	}
	b, err := o.bins(cmd.Flags())
	if err != nil {
		return err
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
				err = s.search(cmd, &row)
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

// constant is the row of a confidence that is the accuracy for every sample; that of the samples
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

func (s *sampleFile) search(cmd *cobra.Command, row *row) error {
	admm, err := s.admm(cmd.Context(), 3000)
	if err != nil {
		return err
	}
	dece, err := s.dece(cmd.Context(), 12, 0)
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
