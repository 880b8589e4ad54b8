package corrupt

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/npy"
	"github.com/certspec/certspec/pixel"
)

// Applied is the output of "corrupt apply".
type Applied struct {
	corrupt.Setting
	Key    corrupt.Key `json:"key"`
	Images int         `json:"images"`
	Shape  pixel.Shape `json:"shape"`
	Out    string      `json:"out"`
	SHA256 string      `json:"sha256"` // of the pixels
}

// applyOptions holds the values of the flags of "corrupt apply".
type applyOptions struct {
	cli.CorruptVariants
	key            corrupt.Key
	in, out        string
	first, workers int
	json           *bool
}

func applyCommand() *cobra.Command {
	var o applyOptions
	cmd := &cobra.Command{
		Use:   "apply --name NAME --severity S --in FILE --out FILE [flags]",
		Short: "Corrupt the images of a NumPy file",
		Long: `Corrupt the images of a NumPy file, and write them to another one of the same shape.

Images are uint8, N×H×W×C with 1 or 3 channels, or N×H×W. The index of an image is its place in the file, after
--first. With --set, the base set's name, the bytes are those of certspec corrupt make.`,
		Example: "  certspec corrupt apply --name fog --severity 3 --seed 1 --in in.npy --out out.npy\n" +
			"  certspec corrupt apply --name fourier --fc 3 --alpha 0.5 --eps 8 --in in.npy --out out.npy",
		Args: cli.NoArgs,
	}

	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.File(&o.in, "in", "NumPy file of uint8 images", "npy")
		f.Text(&o.key.Data, "set", "name of the base set in the keys of the random numbers, e.g. CIFAR-10 (default "+
			"images)")
		f.IntVar(&o.first, "first", 0, "index of the first image")
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Named(&o.Name, "name", "", "corruption; certspec corrupt list shows all", cli.Corruptions)
		f.IntVar(&o.Severity, "severity", 0, "1 to 5; not of fourier")
		f.IntVar(&o.Centre, "fc", 0, "fourier: ring of the spectrum, in periods per image, published 1 to 16")
		f.Float64Var(&o.Decay, "alpha", 0,
			"fourier: how fast the noise falls off beside the ring, published 0.5, 1, 2, 3")
		f.Float64Var(&o.Norm, "eps", 0, "fourier: ℓ2 norm of the noise, published 8, 10, 12")
		o.CorruptVariants.Flags(f)
		f.Uint64Var(&o.key.Seed, "seed", 0, "seed of the random numbers")
		f.IntVar(&o.workers, "workers", 0, "goroutines (default one per processor); the bytes do not depend on it")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.Out(&o.out, "NumPy file to write", ".npy") })
	o.json = cli.JSON(cmd)
	cli.First(cmd, "name", "severity", "in", "out", "seed")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *applyOptions) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "name", "in", "out"); err != nil {
		return err
	}
	s, key := o.Setting, o.key
	if !cmd.Flags().Changed("set") {
		key.Data = "images"
	}
	if info, err := corrupt.Find(s.Name); err != nil {
		return cli.Usage(err)
	} else if info.Family == corrupt.F {
		if err := cli.Needed(cmd, "fc", "alpha", "eps"); err != nil {
			return err
		}
	} else if err := cli.Needed(cmd, "severity"); err != nil {
		return err
	}
	if o.first < 0 || o.workers < 0 {
		return cli.Usagef("--first %d, --workers %d: expected at least 0", o.first, o.workers)
	}
	images, err := dataset.ReadArray(cmd.Context(), o.in)
	if err != nil {
		return err
	}
	c, err := corrupt.New(s, images.Shape, key)
	if err != nil {
		return cli.Usage(err)
	}
	indices := slices.Clone(images.IDs)
	for i := range indices {
		indices[i] += o.first
	}
	pixels := make([]uint8, len(images.Pixels))
	if err := c.Images(cmd.Context(), pixels, images.Pixels, indices, o.workers, cli.Progress()); err != nil {
		return err
	}
	shape := []int{images.Len(), images.Shape.Height, images.Shape.Width, images.Shape.Channels}
	stdout := cli.SummaryAside(cmd, o.out)
	err = atomicfile.To(o.out, stdout, func(file io.Writer) error {
		if err := npy.WriteHeader(file, "|u1", shape...); err != nil {
			return err
		}
		_, err := file.Write(pixels)
		return err
	})
	if err != nil {
		return err
	}
	if *o.json {
		sum := sha256.Sum256(pixels)
		return cli.PrintJSON(cmd.OutOrStdout(), Applied{s, key, images.Len(), images.Shape, o.out,
			hex.EncodeToString(sum[:])})
	}
	_, err = cli.Fprintf(cmd.OutOrStdout(), "%s: %d images of %v under %v, seed %d\n", o.out, images.Len(),
		images.Shape, s, key.Seed)
	return err
}
