package spectral

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/npy"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/spectral"
)

type written struct {
	Images int         `json:"images"`
	Shape  pixel.Shape `json:"shape"`
	Out    string      `json:"out"`
	Labels string      `json:"labels,omitempty"` // the file beside it; "": the images have none
}

func bandCommand() *cobra.Command {
	var images cli.ImageOptions
	var from, to int
	var out string
	cmd := &cobra.Command{
		Use:   "band --data SET --from F --to F --out FILE",
		Short: "Write images with the frequencies of a band alone",
		Long: `Write images with the frequencies f of --from ≤ f < --to alone: azimuthal frequencies
√(u² + v²), in periods per shorter side. The mean of each channel stays; values are rounded to
bytes and clipped. Labels stand in a file
beside, FILE.labels.npy. What is written is a data set: --data npy:FILE.npy,FILE.labels.npy.`,
		Example: "  certspec spectral band --data cifar10/test --from 0 --to 4 -o coarse.npy",
		Args:    cli.NoArgs,
	}
	images.Flags(cmd)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.IntVar(&from, "from", 0, "lowest frequency that stays, in periods per shorter side")
		f.IntVar(&to, "to", 0, "lowest frequency above the band")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.Out(&out, "NumPy file to write", ".npy") })
	json := cli.JSON(cmd)
	cli.First(cmd, "data", "from", "to", "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := cli.Needed(cmd, "data", "to", "out"); err != nil {
			return err
		}
		set, err := images.Open()
		if err != nil {
			return err
		}
		loaded, err := spectral.BandPass(set, from, to).Load(cmd.Context())
		if err != nil {
			return cli.Usage(err)
		}
		w, err := write(cmd, loaded, out)
		if err != nil {
			return err
		}
		if *json {
			return cli.PrintJSON(cmd.OutOrStdout(), w)
		}
		_, err = cli.Fprintf(cmd.OutOrStdout(), "%s: %d images of %v, frequencies from %d to below %d\n", out, w.Images,
			w.Shape, from, to)
		return err
	}
	return cmd
}

// write writes images, and their labels where all have one.
func write(cmd *cobra.Command, images *dataset.Images, out string) (w written, err error) {
	w = written{Images: images.Len(), Shape: images.Shape, Out: out}
	array := func(path, descr string, values any, shape ...int) error {
		return atomicfile.To(path, cmd.OutOrStdout(), func(file io.Writer) error {
			if err := npy.WriteHeader(file, descr, shape...); err != nil {
				return err
			}
			return binary.Write(file, binary.LittleEndian, values)
		})
	}
	if !slices.Contains(images.Labels, -1) && len(images.Labels) > 0 {
		labels := make([]int64, len(images.Labels))
		for i, label := range images.Labels {
			labels[i] = int64(label)
		}
		w.Labels = strings.TrimSuffix(out, ".npy") + ".labels.npy"
		if err := array(w.Labels, "<i8", labels, len(labels)); err != nil {
			return w, err
		}
	}
	s := images.Shape
	return w, array(out, "|u1", images.Pixels, images.Len(), s.Height, s.Width, s.Channels)
}

func outliersCommand() *cobra.Command {
	var images cli.ImageOptions
	var most int
	var out string
	cmd := &cobra.Command{
		Use:   "outliers --data SET",
		Short: "Find the images least like the others by their amplitudes, and at which frequency",
		Long: `Find the images that are least like the others of a set by their amplitudes, the most unlike first.

The score of an image is the largest over rings of frequencies: how many standard deviations the logarithm of its
mean amplitude lies above the median of all images (below 0: under it), with the deviation estimated by the median
absolute deviation. A score beyond ±3.5 is unusual (Iglewicz and Hoaglin 1993).`,
		Example: "  certspec spectral outliers --data cifar10/test --most 12 -o unlike.npy",
		Args:    cli.NoArgs,
	}
	images.Flags(cmd)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) { f.IntVar(&most, "most", 6, "maximum number of images") })
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Out(&out, "NumPy file for these images, in their order", ".npy")
	})
	json := cli.JSON(cmd)
	cli.First(cmd, "data", "most", "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := cli.Needed(cmd, "data"); err != nil {
			return err
		}
		if most < 1 {
			return cli.Usagef("--most %d: expected at least 1", most)
		}
		set, err := images.Open()
		if err != nil {
			return err
		}
		s, loaded, err := spectrumOfSet(cmd.Context(), set)
		if err != nil {
			return err
		}
		found, err := s.Outliers(most)
		if err != nil {
			return err
		}
		if out != "" {
			some := &dataset.Images{Shape: loaded.Shape}
			for _, one := range found {
				some.IDs = append(some.IDs, one.Image)
				some.Pixels = append(some.Pixels, loaded.Image(loaded.Index(one.Image))...)
			}
			if _, err := write(cmd, some, out); err != nil {
				return err
			}
		}
		if *json {
			return cli.PrintJSON(cmd.OutOrStdout(), struct {
				Images   int                `json:"images"`
				Outliers []spectral.Outlier `json:"outliers"`
			}{loaded.Len(), found})
		}
		w := cli.Figures(cmd.OutOrStdout())
		fmt.Fprintln(w, "image\tfrequency\tscore\t")
		for _, one := range found {
			cli.Fprintf(w, "%d\t%d\t%+.2f\t\n", one.Image, one.Frequency, one.Score)
		}
		return w.Flush()
	}
	return cmd
}

// spectrumOfSet is the spectrum of images that are known one by one.
func spectrumOfSet(ctx context.Context, set *dataset.Dataset) (*spectral.Spectrum, *dataset.Images, error) {
	images, err := set.Load(ctx)
	if err != nil {
		return nil, nil, err
	}
	source := spectral.Bytes(images.Shape, images.Pixels)
	source.IDs = images.IDs
	s, err := spectral.MeanSpectrum(ctx, source, cli.Progress())
	return s, images, err
}

func differenceCommand() *cobra.Command {
	var images cli.ImageOptions
	var than string
	cmd := &cobra.Command{
		Use:   "difference --data SET --than SET",
		Short: "Compare the amplitudes of two sets of images, with intervals",
		Long: `Compare the mean amplitudes of two sets of images by frequency: those of --data less those of --than.

The intervals of all rings together hold the differences of the populations with probability 95 %: Student's or
Welch's, corrected by Bonferroni. Sets with equal ids are paired image by image.`,
		Example: "  certspec spectral difference --data 'cifar10/test[only=cat]' --than 'cifar10/test[only=dog]'",
		Args:    cli.NoArgs,
	}
	images.Flags(cmd)
	cli.Group(cmd, cli.Data, func(f *cli.Flags) { f.Named(&than, "than", "", "the other data set", cli.DataNames) })
	json := cli.JSON(cmd)
	cli.First(cmd, "data", "than")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := cli.Needed(cmd, "data", "than"); err != nil {
			return err
		}
		var both [2]*spectral.Spectrum
		for k, open := range []func() (*dataset.Dataset, error){images.Open, func() (*dataset.Dataset, error) {
			return images.OpenNamed(than)
		}} {
			set, err := open()
			if err != nil {
				return err
			}
			if both[k], _, err = spectrumOfSet(cmd.Context(), set); err != nil {
				return err
			}
		}
		d, err := both[0].Minus(both[1])
		if err != nil {
			return err
		}
		if *json {
			return cli.PrintJSON(cmd.OutOrStdout(), struct {
				Images [2]int                    `json:"images"`
				Paired bool                      `json:"paired"`
				Rings  []spectral.RingDifference `json:"rings"`
			}{d.Images, d.Paired, d.Rings})
		}
		w := cli.Figures(cmd.OutOrStdout())
		fmt.Fprintln(w, "frequency\tA\tB\tA − B\tlow\thigh\t")
		for _, r := range d.Rings {
			cli.Fprintf(w, "%d\t%.6g\t%.6g\t%.6g\t%.6g\t%.6g\t\n", r.Frequency, r.A, r.B, r.Difference, r.Low, r.High)
		}
		return w.Flush()
	}
	return cmd
}
