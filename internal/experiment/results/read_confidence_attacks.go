package results

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/gomlxmodels/ace"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/table"
)

func (a confidenceAttackReader) fill(f *TableBuilder, out *Filled) ([]string, error) {
	for i := range out.Lines {
		of, err := readAll[measure.Attacked](f, out.Lines[i], measure.AttacksFile)
		if err != nil {
			return nil, err
		}
		out.Lines[i].ACE = meanACE(of)
		if err := f.spreadAttacks(&out.Lines[i], a.BinCount()); err != nil {
			return nil, err
		}
	}
	b := f.bootstrap
	return append([]string{
		fmt.Sprintf("Attacks (η,ω) within ε = %.4f in the L∞ norm, which leave the predictions as they are; "+
			"calibration error over bins of equal count, images %s.", a.Epsilon, f.Manifest.Tier.Attack.Images),
		printable.Sprintf("Low and high of what an attack adds: %g %% intervals of the bootstrap over images (%d "+
			"resamples, seed %d), with Student's t over seeds where there are two or more, paired by image, of the "+
			"gaps of the bins: percentiles of a calibration error, which resampling raises, would exclude the "+
			"estimate itself. They err on the wide side.", 100*b.Confidence, b.Resamples, b.Seed),
	}, trainedAgainst(f, out)...), nil
}

// trainedAgainst says against which attacks the networks of rows were trained, where they were.
func trainedAgainst(f *TableBuilder, out *Filled) (notes []string) {
	for _, l := range out.Lines {
		if len(l.Models) == 0 || l.ACE == nil {
			continue
		}
		m := f.Manifest.Model(l.Models[0])
		step, err := recipe.StepOf(f.Manifest.Tier, m)
		if err != nil {
			continue // a method of another program
		}
		if step.Epsilon != nil {
			norm := map[attack.Norm]string{"": "Euclidean", attack.L2: "Euclidean", attack.LInf: "L∞"}[step.Norm]
			notes = append(notes, fmt.Sprintf("%s: trained against attacks in the %s norm, ε = %.4g.", l.Title, norm,
				*step.Epsilon))
		}
	}
	return notes
}

func (confidenceAttackReader) tables(f *Filled, columns []string, head func(FilledLine) []any,
	add func(*table.Table, string)) {
	if len(f.Lines) > 0 && f.Lines[0].ACE != nil {
		add(f.attacks(columns, head), "adaptive calibration error")
		add(f.raised(columns, head), "what each attack adds to the adaptive calibration error")
	}
}

func (f *Filled) raised(columns []string, head func(FilledLine) []any) *table.Table {
	t := &table.Table{Columns: append(slices.Clone(columns), "attack", "difference", "its low", "its high", "p")}
	var shown []*compare.Difference
	for _, l := range f.Lines {
		for _, a := range ace.Attacks(0) {
			shown = append(shown, l.Raised[a.String()])
		}
	}
	corrected, notes := holmCorrection(f.confidence, shown)
	t.Notes = notes
	for _, l := range f.Lines {
		for _, a := range ace.Attacks(0) {
			t.Rows = append(t.Rows, append(append(head(l), a.String()), differenceCells(l.Raised[a.String()],
				corrected)...))
		}
	}
	return t
}

func (f *Filled) attacks(columns []string, head func(FilledLine) []any) *table.Table {
	names := []string{"accuracy", "clean"}
	for _, a := range ace.Attacks(0) {
		names = append(names, a.String())
	}
	t := &table.Table{Columns: append(slices.Clone(columns), names...)}
	for _, l := range f.Lines {
		row := head(l)
		for _, name := range names {
			if v := l.ACE[name]; v != nil {
				row = append(row, Rounded(v.Mean, 4))
			} else {
				row = append(row, table.None)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
