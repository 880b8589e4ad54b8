package calib

import (
	crand "crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/noise"
)

// setsOptions are what the flags of "calib sets" ask.
type setsOptions struct {
	input       cli.InputOptions
	sigma       float64
	law         noise.Law
	seed        uint64
	radii       []float64
	miscoverage float64
	calibrate   int
	attacked    string
	json        *bool
}

// predictionSets is what "calib sets" prints.
type predictionSets struct {
	Model       string    `json:"model"`
	Data        string    `json:"data"`
	Sigma       float64   `json:"sigma"`
	Miscoverage float64   `json:"miscoverage"`
	Calibration int       `json:"calibration"`
	Test        int       `json:"test"`
	Classes     int       `json:"classes"`
	Fresh       bool      `json:"fresh_noise"`
	Radii       []setsRow `json:"radii"`
}

// setsRow is a radius.
type setsRow struct {
	Radius    float64  `json:"radius"`
	Level     float64  `json:"level"`
	Needed    int      `json:"needed"`    // calibration images
	Threshold *float64 `json:"threshold"` // of 1 − the score of a class; null: every class is in every set
	Clean     onSets   `json:"clean"`
	Attacked  *onSets  `json:"attacked,omitempty"`
}

// onSets are the sets of some images.
type onSets struct {
	Size     float64    `json:"mean_size"`
	Coverage float64    `json:"coverage"`
	Range    [2]float64 `json:"range"` // clean: in which the coverage of so many exchangeable images falls with 95 %; attacked: its interval
	Images   int        `json:"images"`
}

func setsCommand() *cobra.Command {
	var o setsOptions
	cmd := &cobra.Command{
		Use:   "sets --model PATH --data NAME --sigma S [flags]",
		Short: "Prediction sets that hold the label within a radius, from one noise sample for each image",
		Long: `Robust conformal prediction sets: a threshold on 1 − score from calibration images, at a level that is raised so far that the
sets of other images hold the label with probability at least 1 − miscoverage at any point within the radius. The probability is over calibration images,
test image and the noise of both: not for one image alone. The perturbation may depend on everything but the noise of the test image: so that
noise is drawn anew in every call, and --seed, which anybody may know, is for repeating an experiment.

--calibrate of the images, drawn at random, calibrate, the others are tested; with --attacked, the file of certspec attack --save, its images
are tested, as they are and attacked, and all others may calibrate. With too few calibration images for a radius every set has all classes.`,
		Example: "  certspec calib sets --model models/fmnist-cnn-s025 --data fashionmnist/test --sigma 0.25 --radii 0,0.125,0.25,0.5\n" +
			"  certspec attack out/fmnist.ledger --model models/fmnist-cnn-s025 --data fashionmnist/test --radii 0.125,0.25,0.5 --save out/attacked.json\n" +
			"  certspec calib sets --model models/fmnist-cnn-s025 --data fashionmnist/test --sigma 0.25 --attacked out/attacked.json",
		Args: cli.NoArgs,
	}

	o.input.Flags(cmd)
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.IntVar(&o.calibrate, "calibrate", 0, "calibration images (default half of the images; with --attacked all that are not attacked)")
		f.File(&o.attacked, "attacked", "attacked images, as certspec attack --save writes them", "json")
	})
	cli.Group(cmd, cli.Noise, func(f *cli.Flags) {
		f.SigmaFlag(&o.sigma)
		f.NoiseFlag(&o.law)
		f.Uint64Var(&o.seed, "seed", 0, "of noise and split (default one that nobody knows: see above)")
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Floats(&o.radii, "radii", []float64{0, .125, .25, .5}, "radii within which the sets hold")
		f.Float64Var(&o.miscoverage, "miscoverage", 0.1, "probability with which a set may miss the label")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "model", "data", "sigma", "radii", "attacked")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *setsOptions) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "data", "sigma"); err != nil {
		return err
	}
	if err := cli.NotZero(cmd, "calibrate", "miscoverage"); err != nil {
		return err
	}
	if err := cli.CheckRadii(o.radii); err != nil {
		return err
	}
	if _, err := calib.RobustLevel(o.miscoverage, 0, o.sigma); err != nil {
		return cli.Wrong(err)
	}
	seed, fresh := o.seed, !cmd.Flags().Changed("seed")
	if fresh {
		var random [8]byte
		crand.Read(random[:])
		seed = binary.LittleEndian.Uint64(random[:])
	}
	in, err := o.input.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	all, err := in.Load(cmd.Context())
	if err != nil {
		return err
	}
	known := all.Len()
	for _, label := range all.Labels {
		if label < 0 {
			known--
		}
	}
	if known < all.Len() {
		return fmt.Errorf("%s: %d of %d images have no label; expected labels, by which sets are calibrated", all.Name, all.Len()-known, all.Len())
	}
	random := rand.New(rand.NewPCG(seed, 2))
	calibration, test, attacked, err := o.divide(all, random)
	if err != nil {
		return err
	}
	info, err := in.Model.Info()
	if err != nil {
		return err
	}
	strange := func(images *dataset.Images, number uint64) (*strangeness, error) {
		scores, err := rs.ScoresOnce(cmd.Context(), in.Model, images, o.law, o.sigma, seed+number)
		return &strangeness{scores, images.Labels, info.Classes}, cli.Usage(err)
	}
	cal, err := strange(calibration, 0)
	if err != nil {
		return err
	}
	tested, err := strange(test, 1)
	if err != nil {
		return err
	}
	p := predictionSets{Model: info.Name, Data: all.Name, Sigma: o.sigma, Miscoverage: o.miscoverage, Calibration: calibration.Len(), Test: test.Len(), Classes: info.Classes, Fresh: fresh}
	for i, radius := range o.radii {
		level, err := calib.RobustLevel(o.miscoverage, radius, o.sigma)
		if err != nil {
			return cli.Wrong(err)
		}
		at, err := calib.SetThreshold(cal.labels(), level)
		if err != nil {
			return err
		}
		row := setsRow{Radius: radius, Level: level, Needed: calib.LeastCalibration(level), Clean: tested.sets(at)}
		low, high, err := calib.CoverageRange(calibration.Len(), test.Len(), level, .95)
		if err != nil {
			return err
		}
		row.Clean.Range = [2]float64{float64(low) / float64(test.Len()), float64(high) / float64(test.Len())}
		if !math.IsInf(at, 1) {
			row.Threshold = &at
		}
		if images := attacked[radius]; images != nil {
			moved, err := strange(images, 2+uint64(i))
			if err != nil {
				return err
			}
			sets := moved.sets(at)
			held := int(math.Round(sets.Coverage * float64(sets.Images)))
			below, err := bound.Lower(held, sets.Images, .025)
			if err != nil {
				return err
			}
			above, err := bound.Upper(held, sets.Images, .025)
			if err != nil {
				return err
			}
			sets.Range = [2]float64{below.P, above.P}
			row.Attacked = &sets
		}
		p.Radii = append(p.Radii, row)
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), p)
	}
	return p.print(cmd.OutOrStdout())
}

// divide gives the images to calibrate with and to test on, and those that were attacked, by radius.
func (o *setsOptions) divide(all *dataset.Images, random *rand.Rand) (calibration, test *dataset.Images, attacked map[float64]*dataset.Images, err error) {
	isTest := map[int]bool{}
	if o.attacked != "" {
		if attacked, isTest, err = readAttacked(o.attacked, all, o.sigma); err != nil {
			return nil, nil, nil, err
		}
	}
	var pool, tested []int
	for _, at := range random.Perm(all.Len()) {
		if isTest[all.IDs[at]] {
			tested = append(tested, at)
		} else {
			pool = append(pool, at)
		}
	}
	n := o.calibrate
	if n == 0 {
		if n = len(pool); o.attacked == "" {
			n = len(pool) / 2
		}
	}
	if n > len(pool) || n == len(pool) && o.attacked == "" || n < 1 {
		return nil, nil, nil, cli.Usagef("--calibrate %d of %d images: expected at least 1, and some that are left to test on", n, len(pool))
	}
	if o.attacked == "" {
		tested = pool[n:]
	}
	return choose(all, pool[:n]), choose(all, tested), attacked, nil
}

func choose(all *dataset.Images, at []int) *dataset.Images {
	some := *all
	some.IDs, some.Labels, some.Pixels, some.Offsets, some.Residues = nil, nil, nil, nil, nil
	n := all.Shape.Len()
	for _, i := range at {
		some.IDs, some.Labels = append(some.IDs, all.IDs[i]), append(some.Labels, all.Labels[i])
		some.Pixels = append(some.Pixels, all.Image(i)...)
		some.Residues = append(some.Residues, all.Residue(i)...)
		if all.Offsets != nil {
			some.Offsets = append(some.Offsets, all.Offsets[i*n:(i+1)*n]...)
		}
	}
	return &some
}

// readAttacked reads attacked images of a data set.
func readAttacked(path string, all *dataset.Images, sigma float64) (map[float64]*dataset.Images, map[int]bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	var saved struct {
		Sigma  float64 `json:"sigma"`
		Images []struct {
			Image  int     `json:"image"`
			Label  int     `json:"label"`
			Radius float64 `json:"radius"`
			Norm   float64 `json:"norm"`
			Pixels []uint8 `json:"pixels"`
		} `json:"images"`
	}
	if err := json.Unmarshal(text, &saved); err != nil {
		return nil, nil, fmt.Errorf("%s: %w; expected a file of certspec attack --save", path, err)
	}
	if len(saved.Images) == 0 {
		return nil, nil, fmt.Errorf("%s has no attacked images; expected a file of certspec attack --save", path)
	}
	if saved.Sigma != sigma {
		cli.Say("warning: %s was attacked at sigma %g", path, saved.Sigma)
	}
	attacked, ids := map[float64]*dataset.Images{}, map[int]bool{}
	for _, image := range saved.Images {
		at := all.Index(image.Image)
		if at < 0 || all.Labels[at] != image.Label || len(image.Pixels) != all.Shape.Len() {
			return nil, nil, fmt.Errorf("%s: image %d with label %d and %d values is none of %s", path, image.Image, image.Label, len(image.Pixels), all.Name)
		}
		if image.Norm > image.Radius*(1+1e-9) {
			return nil, nil, fmt.Errorf("%s: image %d was moved by %v, expected at most its radius %v", path, image.Image, image.Norm, image.Radius)
		}
		im := attacked[image.Radius]
		if im == nil {
			im = &dataset.Images{Name: path, Shape: all.Shape, Classes: all.Classes}
			attacked[image.Radius] = im
		}
		im.IDs, im.Labels, im.Pixels = append(im.IDs, image.Image), append(im.Labels, image.Label), append(im.Pixels, image.Pixels...)
		ids[image.Image] = true
	}
	return attacked, ids, nil
}

// strangeness is 1 − score of every class of some images.
type strangeness struct {
	scores  []float32
	label   []int
	classes int
}

func (s *strangeness) of(image, class int) float64 {
	return 1 - float64(s.scores[image*s.classes+class])
}

// labels are those of the labels.
func (s *strangeness) labels() (all []float64) {
	for i, label := range s.label {
		all = append(all, s.of(i, label))
	}
	return all
}

// sets gives each image the classes up to a threshold; one whose scores are unknown gets all.
func (s *strangeness) sets(threshold float64) onSets {
	sets := onSets{Images: len(s.label)}
	for i, label := range s.label {
		for class := range s.classes {
			if v := s.of(i, class); v <= threshold || math.IsNaN(v) {
				sets.Size++
				if class == label {
					sets.Coverage++
				}
			}
		}
	}
	sets.Size /= float64(len(s.label))
	sets.Coverage /= float64(len(s.label))
	return sets
}

func (p *predictionSets) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "model\t%s\ndata\t%s, %d images calibrate, %d are tested\nnoise\tσ = %g, one noise sample for each image\n\n", p.Model, p.Data, p.Calibration, p.Test, p.Sigma)
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
		fmt.Fprintf(w, "%g\t%.5f\t%d\t%.3f\t%.4f\t%.4f–%.4f", row.Radius, row.Level, row.Needed, row.Clean.Size, row.Clean.Coverage, row.Clean.Range[0], row.Clean.Range[1])
		if a := row.Attacked; a != nil {
			fmt.Fprintf(w, "\t%.3f\t%.4f\t%.4f–%.4f", a.Size, a.Coverage, a.Range[0], a.Range[1])
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\nA set holds the label with probability at least %g at any point within the radius, over calibration images, test image and the noise of both.\n", 1-p.Miscoverage)
	for _, row := range p.Radii {
		if row.Threshold == nil {
			fmt.Fprintf(w, "At %g every set has all %d classes: %d calibration images are needed, there are %d.\n", row.Radius, p.Classes, row.Needed, p.Calibration)
		}
	}
	if !p.Fresh {
		fmt.Fprintln(w, "The seed was chosen: the claim holds for perturbations that do not depend on it only.")
	}
	return w.Flush()
}
