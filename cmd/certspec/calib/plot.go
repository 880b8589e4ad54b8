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
	"github.com/certspec/certspec/calib/mip"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/calib/calibplot"
	"github.com/certspec/certspec/internal/figure"
)

// Figures that "calib plot" draws.
const (
	drawCBS      = "cbs"
	drawCCE      = "cce"
	drawWidth    = "width"
	drawSearches = "searches"
	drawStarts   = "starts"
)

// leastCertified images must be certified at a radius for a point of a curve.
const leastCertified = 20

// usualRadii are those of curves.
var usualRadii = []float64{0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.4, 1.6, 1.8, 2,
	2.5, 3}

// plotOptions are what the flags of "calib plot" ask.
type plotOptions struct {
	binOptions
	confidences   confidenceOptions
	figure, out   string
	common        bool
	steps, trials int
	seed          uint64
	json          *bool
}

func plotCommand() *cobra.Command {
	var o plotOptions
	cmd := &cobra.Command{
		Use:   "plot LEDGER… --figure NAME --out FILE",
		Short: "Draw certified calibration over the radius, and what searches find of it",
		Long: `Draw what ledgers with scores certify of their confidences, a curve for each ledger over the radii at
which at least 20 images are certified. The numbers of the picture are printed beside it. The figures
are those of Emde et al. 2025:

cbs       the certified Brier score (figures 2 and 16a); with --common, of the images that are certified at
          all radii shown (16b)
cce       the largest calibration error, exactly (figures 3 and 15 show what ADMM finds of it)
width     the mean width of the certified intervals (figure 8)
searches  of one ledger: the exact error beside the best of 16 runs of ADMM, ADMM with the one setting that
          is said to do for all, the best trial of dECE, and the Brier confidences (figures 3, 13 to 15)
starts    of one ledger: every run of ADMM and every trial of dECE by where it starts (figure 12)

Searches take about half a minute for each radius and 2,000 images.`,
		Example: "  certspec calib plot out/fmnist.ledger out/fmnist-s050.ledger --figure cbs --common --radii " +
			"0,0.1,0.2,0.3,0.4 --out cbs.svg\n" +
			"  certspec calib plot out/fmnist.ledger --figure starts --radii 0.05,0.1,0.25 --trials 100 --out " +
			"starts.pdf",
	}

	cli.Group(cmd, cli.Data, o.confidences.flags)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		cli.Choice(f, &o.figure, "figure", "", "what is drawn", drawCBS, drawCCE, drawWidth, drawSearches, drawStarts)
		f.BoolVar(&o.common, "common", false, "only the images that are certified at every radius shown")
		o.binOptions.flags(f)
		f.IntVar(&o.steps, "steps", 3000, "of a run of ADMM, at most")
		f.IntVar(&o.trials, "trials", 24, "of dECE, the first 12 fixed, the further ones drawn at random")
		f.Uint64Var(&o.seed, "seed", 0, "of the trials drawn at random")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.Out(&o.out, "file to write: .svg, .png or .pdf") })
	o.json = cli.JSON(cmd)
	cli.First(cmd, "figure", "radii", "common", "certificate", "out")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	return cmd
}

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

func (o *plotOptions) run(cmd *cobra.Command, files []string) error {
	if err := cli.Needed(cmd, "figure", "out"); err != nil {
		return err
	}
	searching := o.figure == drawSearches || o.figure == drawStarts
	switch {
	case len(files) == 0:
		return cli.Usagef("%s wants at least one ledger", cmd.CommandPath())
	case searching && len(files) > 1:
		return cli.Usagef("--figure %s of %d ledgers: expected one", o.figure, len(files))
	case o.steps < 1 || o.trials < 1:
		return cli.Usagef("--steps %d, --trials %d: expected more than 0", o.steps, o.trials)
	}
	b, err := o.bins(cmd.Flags())
	if err != nil {
		return err
	}
	if !cmd.Flags().Changed("radii") {
		var words []string
		for _, r := range usualRadii {
			words = append(words, cli.Number(r))
		}
		if err := cmd.Flags().Set("radii", strings.Join(words, ",")); err != nil {
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
	data, err := cli.Drawing("out", o.out, "Certified calibration over the radius: "+o.figure+" of "+strings.Join(files,
		", ")+"; "+says, w, h, paint)
	if err != nil {
		return err
	}
	if err := cli.WriteOut(cmd, o.out, data); err != nil {
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

// points are those of a ledger.
func (o *plotOptions) points(cmd *cobra.Command, file string, b *calib.Bins) (points []plotted,
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
			at, err := o.search(cmd, s)
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

func (o *plotOptions) value(s *sampleFile) (float64, error) {
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

// search runs all searches of a set.
func (o *plotOptions) search(cmd *cobra.Command, s *sampleFile) (at calibplot.AtRadius, err error) {
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
func (o *plotOptions) tell(s *sampleFile, at calibplot.AtRadius, add func(string, float64)) error {
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

// lines are the curves.
func (o *plotOptions) lines(points []plotted) figure.Lines {
	y := map[string]string{drawCBS: "certified Brier score", drawWidth: "mean width of the intervals"}[o.figure]
	l := figure.Lines{X: "radius R (ℓ₂; full range of a pixel value = 1)", Y: cmp.Or(y, "largest calibration error")}
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
