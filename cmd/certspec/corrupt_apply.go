package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/pixel"
)

// corruptApplied is what "corrupt apply" prints.
type corruptApplied struct {
	corrupt.Setting
	Key    corrupt.Key `json:"key"`
	Images int         `json:"images"`
	Shape  pixel.Shape `json:"shape"`
	Out    string      `json:"out"`
	SHA256 string      `json:"sha256"` // of the pixels
}

func corruptApplyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply --name NAME --severity S --in FILE --out FILE [flags]",
		Short: "Corrupt the images of a NumPy file",
		Long: `Corrupt the uint8 images of a NumPy file, N×H×W×C with 1 or 3 channels or N×H×W, and write them to another one of
the same shape. The index of an image is its place in the file, after --first. With --set, the base set's name, the bytes are
those of certspec corrupt make.`,
		Example: "  certspec corrupt apply --name fog --severity 3 --seed 1 --in in.npy --out out.npy\n" +
			"  certspec corrupt apply --name fourier --fc 3 --alpha 0.5 --eps 8 --in in.npy --out out.npy",
		Args: noArgs,
	}
	var s corrupt.Setting
	var key corrupt.Key
	f := cmd.Flags()
	f.StringVar(&s.Name, "name", "", "corruption; certspec corrupt list shows all")
	f.IntVar(&s.Severity, "severity", 0, "1 to 5; not of fourier")
	f.IntVar(&s.Centre, "fc", 0, "fourier: ring of the spectrum, in periods per image, published 1 to 16")
	f.Float64Var(&s.Decay, "alpha", 0, "fourier: how fast the noise falls off beside the ring, published 0.5, 1, 2, 3")
	f.Float64Var(&s.Norm, "eps", 0, "fourier: ℓ2 norm of the noise, published 8, 10, 12")
	corruptOptions(cmd, &s)
	f.Uint64Var(&key.Seed, "seed", 0, "of the random numbers")
	f.StringVar(&key.Data, "set", "images", "name of the base set in the keys of the random numbers, e.g. CIFAR-10")
	in := f.String("in", "", "NumPy file of uint8 images")
	out := f.String("out", "", "NumPy file to write")
	first := f.Int("first", 0, "index of the first image")
	workers := f.Int("workers", 0, "goroutines (default one per processor); the bytes do not depend on it")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := needed(cmd, "name", "in", "out"); err != nil {
			return err
		}
		if info, err := corrupt.Find(s.Name); err != nil {
			return corruptUsage(err)
		} else if info.Family == corrupt.F {
			if err := needed(cmd, "fc", "alpha", "eps"); err != nil {
				return err
			}
		} else if err := needed(cmd, "severity"); err != nil {
			return err
		}
		if *first < 0 || *workers < 0 {
			return usagef("--first %d, --workers %d: expected at least 0", *first, *workers)
		}
		images, err := dataset.ReadArray(cmd.Context(), *in)
		if err != nil {
			return err
		}
		c, err := corrupt.New(s, images.Shape, key)
		if err != nil {
			return corruptUsage(err)
		}
		indices := slices.Clone(images.IDs)
		for i := range indices {
			indices[i] += *first
		}
		pixels := make([]uint8, len(images.Pixels))
		if err := c.Images(cmd.Context(), pixels, images.Pixels, indices, *workers, terminalProgress()); err != nil {
			return err
		}
		shape := []int{images.Len(), images.Shape.Height, images.Shape.Width, images.Shape.Channels}
		stdout := cmd.OutOrStdout()
		summaryAside(cmd, *out)
		err = atomicfile.To(*out, stdout, func(file io.Writer) error {
			if err := dataset.WriteArrayHeader(file, "|u1", shape...); err != nil {
				return err
			}
			_, err := file.Write(pixels)
			return err
		})
		if err != nil {
			return err
		}
		if *asJSON {
			sum := sha256.Sum256(pixels)
			return printJSON(cmd.OutOrStdout(), corruptApplied{s, key, images.Len(), images.Shape, *out, hex.EncodeToString(sum[:])})
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d images of %v under %v, seed %d\n", *out, images.Len(), images.Shape, s, key.Seed)
		return err
	}
	return cmd
}
