package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/spectral"
)

func init() { verbs = append(verbs, spectralCommand) }

func spectralCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "spectral",
		Short: "Images and models by frequency: mean amplitude spectra, radial profiles, heat maps",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(spectralSpectrumCommand(), spectralProfileCommand(), spectralHeatMapCommand())
	return cmd
}

// measured is the mean spectrum of the images that a command names.
type measured struct {
	Shape      pixel.Shape `json:"shape"`
	Difference bool        `json:"difference"` // of two sets of images, pair by pair
	*spectral.Spectrum
}

// spectrumFlags adds the flags that name images, and gives what measures their spectrum.
func spectrumFlags(cmd *cobra.Command) func(ctx context.Context) (*measured, error) {
	f := cmd.Flags()
	in := f.String("in", "", "NumPy file of uint8 images, N×H×W×C or N×H×W")
	minus := f.String("minus", "", "NumPy file of as many images, which are subtracted one by one: the spectrum of the differences")
	open := dataFlags(cmd)
	return func(ctx context.Context) (*measured, error) {
		if f.Changed("in") == f.Changed("data") {
			return nil, usagef("expected --in or --data, and not both")
		}
		images, err := spectrumImages(ctx, *in, open)
		if err != nil {
			return nil, err
		}
		m := &measured{Shape: images.Shape, Difference: f.Changed("minus")}
		source := spectral.Bytes(images.Shape, images.Pixels)
		if m.Difference {
			other, err := dataset.ReadArray(ctx, *minus)
			if err != nil {
				return nil, err
			}
			if other.Shape != images.Shape || other.Len() != images.Len() {
				return nil, fmt.Errorf("--minus %s: %d images of %v; expected %d of %v, as in %s", *minus, other.Len(), other.Shape, images.Len(), images.Shape, images.Name)
			}
			if source, err = spectral.Difference(images.Shape, images.Pixels, other.Pixels); err != nil {
				return nil, err
			}
		}
		m.Spectrum, err = spectral.MeanSpectrum(ctx, source, terminalProgress())
		return m, err
	}
}

func spectrumImages(ctx context.Context, in string, open func() (*dataset.Dataset, error)) (*dataset.Images, error) {
	if in != "" {
		return dataset.ReadArray(ctx, in)
	}
	d, err := open()
	if err != nil {
		return nil, err
	}
	return d.Load(ctx)
}
