package main

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/internal/table"
)

// calibRow is a file in a table. What it has no samples or no columns for is null.
type calibRow struct {
	File     string   `json:"file"`
	N        int      `json:"n"`
	Accuracy *float64 `json:"accuracy"`
	known
	CCE     *float64 `json:"cce"`
	CBS     *float64 `json:"cbs"`
	MeanGap *float64 `json:"mean_gap"`
	Width   *float64 `json:"mean_width"`
	ACCE    *float64 `json:"acce,omitempty"`
	DECE    *float64 `json:"dece,omitempty"`
}

func calibTableCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "table FILE…",
		Short: "A table of calibration and its bounds, a row per file",
		Long: `A table with a row per CSV file of samples, as Markdown, LaTeX (booktabs), CSV, HTML or text: accuracy, ECE and
Brier score of the confidences, exact certified calibration error, certified Brier score, largest mean gap, mean width of
the intervals; with --search also what ADMM and dECE find. What a file has no columns for, and all of one without
samples, is –.`,
		Example: "  certspec calib table r0.05.csv r0.25.csv r0.5.csv -o table.tex",
	}
	bins := binFlags(cmd)
	search := cmd.Flags().Bool("search", false, "also run ADMM (16 runs) and dECE (12 runs), which takes seconds")
	write := tableFlags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if len(files) == 0 {
			return usagef("%s wants at least one file", cmd.CommandPath())
		}
		b, err := bins()
		if err != nil {
			return err
		}
		var rows []calibRow
		var failed error
		for _, file := range files {
			t, err := readSamples(file, cmd.InOrStdin())
			if err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			s := &sampleFile{file, t, b}
			row, err := s.row()
			if err == nil && *search && row.CCE != nil {
				err = s.search(cmd, &row)
			}
			if err != nil {
				return errors.Join(failed, err)
			}
			rows = append(rows, row)
		}
		if *asJSON {
			enc := json.NewEncoder(cmd.OutOrStdout())
			for _, row := range rows {
				if err := enc.Encode(row); err != nil {
					return err
				}
			}
			return failed
		}
		if failed != nil {
			return failed
		}
		return write(calibrationTable(rows, *search))
	}
	return cmd
}

func (s *sampleFile) row() (calibRow, error) {
	row := calibRow{File: s.name, N: len(s.Correct)}
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
	row.known, row.CCE, row.CBS, row.MeanGap, row.Width = b.known, &b.CCE, &b.CBS, &b.MeanGap, &b.MeanWidth
	return row, err
}

func (s *sampleFile) search(cmd *cobra.Command, row *calibRow) error {
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

func calibrationTable(rows []calibRow, search bool) *table.Table {
	t := &table.Table{Columns: []string{"file", "samples", "accuracy", "ECE", "Brier", "CCE", "CBS", "mean gap", "mean width"}}
	if search {
		t.Columns = append(t.Columns, "ACCE", "dECE")
	}
	for _, r := range rows {
		row := []any{r.File, r.N}
		values := []*float64{r.Accuracy, r.ECE, r.Brier, r.CCE, r.CBS, r.MeanGap, r.Width}
		if search {
			values = append(values, r.ACCE, r.DECE)
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
