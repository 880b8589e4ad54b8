package calib

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/plotter"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/calib/calibplot"
	"github.com/certspec/certspec/internal/calib/mip"
	"github.com/certspec/certspec/internal/figure"
)

// Figures that "calib table" draws.
const (
	drawCBS      = "cbs"
	drawCCE      = "cce"
	drawWidth    = "width"
	drawSearches = "searches"
	drawStarts   = "starts"
)

// leastCertified images must be certified at a radius for a point of a curve.
const leastCertified = 20

const usualRadii = "0,0.05,0.1,0.15,0.2,0.25,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1,1.2,1.4,1.6,1.8,2,2.5,3"

// plotted is a point of a figure.
type plotted struct {
	File   string  `json:"file"`
	Sigma  float64 `json:"sigma"`
	Curve  string  `json:"curve"`
	Radius float64 `json:"radius"`
	Images int     `json:"images"`
	Value  float64 `json:"value"`
	Note   string  `json:"note"` // what holds with which probability
}

func (o *tableOptions) draw(cmd *cobra.Command, files []string, b *calib.Bins) error {
	if err := cli.Needed(cmd, "out"); err != nil {
		return err
	}
	if searching := o.figure == drawSearches || o.figure == drawStarts; searching && len(files) > 1 {
		return cli.Usagef("--figure %s of %d ledgers: expected one", o.figure, len(files))
	}
	if !cmd.Flags().Changed("trials") {
		o.trials = 24
	}
	if !cmd.Flags().Changed("radii") {
		if err := cmd.Flags().Set("radii", usualRadii); err != nil {
			return err
		}
	}
	var points []plotted
	var found []calibplot.AtRadius
	for _, file := range files {
		of, at, err := o.points(cmd, file, b)
		if err != nil {
			return err
		}
		points, found = append(points, of...), append(found, at...)
	}
	lines := o.lines(points)
	w, h, paint := figure.Width, figure.Height, lines.Paint
	if o.figure == drawStarts {
		grid := calibplot.Starts(filepath.Base(files[0]), found)
		w, h = grid.Size()
		paint = grid.Paint
	}
	var notes []string
	for _, p := range points {
		if !slices.Contains(notes, p.Note) {
			notes = append(notes, p.Note)
		}
	}
	says := strings.Join(notes, "; ")
	title := fmt.Sprintf("Certified calibration over the radius: %s of %s; %s", o.figure,
		strings.Join(files, ", "), says)
	data, err := cli.Drawing("out", o.table.Out, title, w, h, paint)
	if err != nil {
		return err
	}
	if err := cli.WriteOut(cmd, o.table.Out, data); err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), points)
	}
	t := cli.Columns(cmd.OutOrStdout())
	fmt.Fprintln(t, "curve\tradius\timages\tvalue")
	for _, p := range points {
		cli.Fprintf(t, "%s\t%g\t%d\t%.4f\n", p.Curve, p.Radius, p.Images, p.Value)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), "\n"+says)
	return err
}

func (o *tableOptions) points(cmd *cobra.Command, file string, b *calib.Bins) (points []plotted,
	found []calibplot.AtRadius, err error) {
	sets, err := o.confidences.sets(cmd.Context(), cmd.Flags(), file)
	if err != nil {
		return nil, nil, err
	}
	sets = slices.DeleteFunc(sets, func(s *sampleFile) bool { return len(s.Correct) < leastCertified })
	if len(sets) == 0 {
		return nil, nil, fmt.Errorf("%s: fewer than %d images are certified at each radius", file, leastCertified)
	}
	last := slices.MaxFunc(sets, func(a, b *sampleFile) int { return cmp.Compare(a.at.radius, b.at.radius) })
	for _, s := range sets {
		s.bins = b
		if o.common {
			s.keep(last.images)
		}
		add := func(curve string, value float64) {
			points = append(points, plotted{file, s.at.sigma, curve, s.at.radius, len(s.Correct), value, s.at.note})
		}
		if o.figure == drawSearches || o.figure == drawStarts {
			at, err := o.allSearches(cmd, s)
			if err != nil {
				return nil, nil, err
			}
			found = append(found, at)
			if err := o.tell(s, at, add); err != nil {
				return nil, nil, err
			}
			continue
		}
		value, err := o.value(s)
		if err != nil {
			return nil, nil, err
		}
		add(fmt.Sprintf("σ = %g, %s", s.at.sigma, strings.TrimSuffix(filepath.Base(file), ".ledger")), value)
	}
	return points, found, nil
}

// keep leaves only some images, which are all there.
func (s *sampleFile) keep(images []int) {
	kept := &calib.Table{}
	for i, image := range s.images {
		if slices.Contains(images, image) {
			kept.Correct, kept.Confidence = append(kept.Correct, s.Correct[i]), append(kept.Confidence, s.Confidence[i])
			kept.Lower, kept.Upper = append(kept.Lower, s.Lower[i]), append(kept.Upper, s.Upper[i])
		}
	}
	s.Table, s.images = kept, images
}

func (o *tableOptions) value(s *sampleFile) (float64, error) {
	switch o.figure {
	case drawCBS:
		cbs, _, err := calib.CertifiedBrier(s.Correct, s.Lower, s.Upper)
		return cbs, err
	case drawWidth:
		return s.certified().Width, nil
	}
	worst, err := calib.ExactCCE(s.Correct, s.Lower, s.Upper, s.bins.Edges())
	return worst.CCE, err
}

// allSearches runs all searches of a set.
func (o *tableOptions) allSearches(cmd *cobra.Command, s *sampleFile) (at calibplot.AtRadius, err error) {
	p, err := s.program()
	if err != nil {
		return at, err
	}
	grid := mip.Grid(s.Confidence)
	for i := range grid {
		grid[i].Steps = o.steps
	}
	done, end := countRuns(fmt.Sprintf("searches at %g", s.at.radius), len(grid)+o.trials)
	admm, err := p.Search(cmd.Context(), s.Confidence, grid, done)
	if err != nil {
		return at, err
	}
	dece, err := p.SearchDECE(cmd.Context(), s.Confidence, mip.Trials(s.Confidence, o.trials, o.seed), done)
	if err != nil {
		return at, err
	}
	end()
	outcome, err := p.Compare(s.Confidence, admm)
	return calibplot.AtRadius{Radius: s.at.radius, Exact: outcome.Exact, Found: mip.ByStart(admm, dece)}, err
}

// tell adds every run by its start, or the best of each search.
func (o *tableOptions) tell(s *sampleFile, at calibplot.AtRadius, add func(string, float64)) error {
	add("exact", at.Exact)
	if o.figure == drawStarts {
		for _, f := range at.Found {
			add(fmt.Sprintf("%s, %s", f.Search, f.Start), f.Best)
		}
		return nil
	}
	z := make([]float64, len(s.Correct))
	calib.BrierConfidences(z, s.Correct, s.Lower, s.Upper)
	ece, err := calib.ECE(s.Correct, z, s.bins)
	add("ADMM, best", mip.Most(at.Found, "ADMM", false))
	add("ADMM, one setting", mip.Most(at.Found, "ADMM", true))
	add("dECE, best", mip.Most(at.Found, "dECE", false))
	add("Brier", ece)
	return err
}

// lines are the points of each ledger or search.
func (o *tableOptions) lines(points []plotted) figure.Lines {
	y := map[string]string{drawCBS: "certified Brier score", drawWidth: "mean width of the intervals"}[o.figure]
	l := figure.Lines{X: "radius R (ℓ₂; full range of a pixel value = 1)", Y: cmp.Or(y, "largest calibration error"),
		Points: true} // other images are certified between two radii
	if o.common {
		l.Title = "the images that are certified at all these radii"
	}
	for _, p := range points {
		i := slices.IndexFunc(l.Lines, func(l figure.Line) bool { return l.Name == p.Curve })
		if i < 0 {
			i, l.Lines = len(l.Lines), append(l.Lines, figure.Line{Name: p.Curve})
		}
		l.Lines[i].XYs = append(l.Lines[i].XYs, plotter.XY{X: p.Radius, Y: p.Value})
	}
	return l
}
