package calib

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/calib/predictionset"
	"github.com/certspec/certspec/internal/rs/conformal"
	"github.com/certspec/certspec/rs/noise"
)

// setsOptions holds the values of the flags of "calib sets".
type setsOptions struct {
	input       cli.InputOptions
	sigma       float64
	law         noise.Law
	seed        uint64
	radii       []float64
	miscoverage float64
	calibrate   int
	attacked    string
	rows        string // of --probabilities
	scores      []string
	json        *bool
}

func setsCommand() *cobra.Command {
	var o setsOptions
	cmd := &cobra.Command{
		Use:        "sets {MODEL --data NAME --sigma S | --probabilities FILE} [flags]",
		SuggestFor: []string{"conformal"},
		Short:      "Make prediction sets that hold the label: within a radius, or of a CSV of probabilities",
		Long: `Make robust conformal prediction sets: sets of classes that hold the label, under attack, too.

Calibration images give a threshold on 1 − score. Its level is raised until the sets of other images hold the
label with probability at least 1 − miscoverage, at any point within the radius. The probability is over
calibration images, test image and the noise of both, not for one image alone.

The perturbation may depend on everything but the noise of the test image. So that noise is drawn anew in
every call. --seed, which anybody may know, is for repeating an experiment.

--calibrate of the images, drawn at random, calibrate, the others are tested; with --attacked, the file
of certspec attack --save, its images are tested, as they are and attacked, and all others may
calibrate. With too few calibration images for a radius every set has all classes.

With --probabilities, a CSV with the columns label, p0, p1, …, it makes the sets of plain split conformal
prediction, by the scores LAC, APS and RAPS. They hold the label of an image as it is. Sets that hold
within a radius need the model: the probabilities of a CSV say nothing of another image, however near.`,
		Example: "  certspec calib sets models/fmnist-cnn-s025 --data fashionmnist/test --sigma 0.25 " +
			"--radii 0,0.125,0.25,0.5\n" +
			"  certspec attack out/fmnist.ledger --model models/fmnist-cnn-s025 --data fashionmnist/test --radii " +
			"0.125,0.25,0.5 --save out/attacked.json\n" +
			"  certspec calib sets models/fmnist-cnn-s025 --data fashionmnist/test --sigma 0.25 --attacked " +
			"out/attacked.json\n" +
			"  certspec calib sets --probabilities softmax.csv --score lac,raps --miscoverage 0.05",
		Args: cli.OneModel,
	}

	o.input.Flags(cmd)
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.IntVar(&o.calibrate, "calibrate", 0,
			"calibration images (default half of the images; with --attacked all that are not attacked)")
		f.File(&o.attacked, "attacked", "attacked images, as certspec attack --save writes them", "json")
		f.File(&o.rows, "probabilities", "CSV file with the columns label, p0, p1, …, in the place of a model and "+
			"images; - is standard input", "csv")
	})
	cli.Group(cmd, cli.Noise, func(f *cli.Flags) {
		f.SigmaFlag(&o.sigma)
		f.NoiseFlag(&o.law)
		f.Uint64Var(&o.seed, "seed", 0, "seed of noise and split (default one that nobody knows: see above)")
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Floats(&o.radii, "radii", []float64{0, .125, .25, .5}, "radii within which the sets hold")
		f.Words(&o.scores, "score", []string{"lac", "aps", "raps"}, "of --probabilities: lac, aps, raps",
			func() []string { return []string{"lac", "aps", "raps"} })
		f.Float64Var(&o.miscoverage, "miscoverage", 0.1, "probability with which a set may miss the label")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "model", "data", "sigma", "radii", "attacked")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *setsOptions) run(cmd *cobra.Command) error {
	if cmd.Flags().Changed("probabilities") {
		return o.split(cmd)
	}
	if cmd.Flags().Changed("score") {
		return cli.Usagef("--score without --probabilities: with a model, the score of a class is 1 less its output")
	}
	if err := cli.Needed(cmd, "data", "sigma"); err != nil {
		return err
	}
	if err := cli.NotZero(cmd, "calibrate", "miscoverage"); err != nil {
		return err
	}
	if err := cli.CheckRadii(o.radii); err != nil {
		return err
	}
	if _, err := predictionset.RobustLevel(o.miscoverage, 0, o.sigma); err != nil {
		return cli.Wrong(err)
	}
	seed, fresh := o.seed, !cmd.Flags().Changed("seed")
	if fresh {
		seed = conformal.UnknownSeed()
	}
	in, err := o.input.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	all, err := in.Index(cmd.Context())
	if err != nil {
		return err
	}
	cli.WarnOfSeen(in.Model, all.Name, all.Digest)
	if err := conformal.CheckLabels(all); err != nil {
		return err
	}
	attacked, moved, err := o.readAttacked(all)
	if err != nil {
		return err
	}
	calibration, test, err := conformal.Split(all, o.calibrate, attacked, seed)
	if err != nil {
		return cli.Usagef("--calibrate: %w", err)
	}
	p, err := conformal.Measure(cmd.Context(), in.Model, calibration, test, moved,
		conformal.Options{Sigma: o.sigma, Noise: o.law, Seed: seed, Radii: o.radii, Miscoverage: o.miscoverage})
	if err != nil {
		return cli.Usage(err)
	}
	p.Fresh = fresh
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), p)
	}
	return printSets(cmd.OutOrStdout(), p)
}

// readAttacked reads the file of --attacked, if there is one.
func (o *setsOptions) readAttacked(all *imageset.Index) (*conformal.Attacked, map[float64]*imageset.Images, error) {
	if o.attacked == "" {
		return nil, nil, nil
	}
	attacked, err := conformal.ReadAttacked(o.attacked)
	if err != nil {
		return nil, nil, err
	}
	if attacked.Sigma != o.sigma {
		cli.Say("warning: %s was attacked at sigma %g", o.attacked, attacked.Sigma)
	}
	moved, err := attacked.ByRadius(&all.Images)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", o.attacked, err)
	}
	return attacked, moved, nil
}

func printSets(out io.Writer, p *conformal.Sets) error {
	w := cli.Columns(out)
	cli.Fprintf(w, "model\t%s\ndata\t%s, %d images calibrate, %d are tested\nnoise\tσ = %g, one noise sample for "+
		"each image\n\n", p.Model, p.Data, p.Calibration, p.Test, p.Sigma)
	if err := w.Flush(); err != nil {
		return err
	}
	attacked := false
	for _, row := range p.Radii {
		attacked = attacked || row.Attacked != nil
	}
	fmt.Fprint(w, "radius\tlevel\tneeded\tmean size\tcoverage\t95 % range")
	if attacked {
		fmt.Fprint(w, "\tattacked: mean size\tcoverage\t95 % interval")
	}
	fmt.Fprintln(w)
	for _, row := range p.Radii {
		cli.Fprintf(w, "%g\t%.5f\t%d\t%.3f\t%.4f\t%.4f–%.4f", row.Radius, row.Level, row.Needed, row.Clean.Size,
			row.Clean.Coverage, row.Clean.Range[0], row.Clean.Range[1])
		if a := row.Attacked; a != nil {
			cli.Fprintf(w, "\t%.3f\t%.4f\t%.4f–%.4f", a.Size, a.Coverage, a.Range[0], a.Range[1])
		}
		fmt.Fprintln(w)
	}
	cli.Fprintf(w, "\n%s\n", strings.Join(p.Notes(), "\n"))
	return w.Flush()
}
