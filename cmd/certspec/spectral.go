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
		Short: "Images and models by frequency: mean amplitude spectra, radial profiles, heat maps, paths",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(spectralSpectrumCommand(), spectralProfileCommand(), spectralHeatMapCommand(), spectralPathCommand())
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
	in := f.String("in", "", "NumPy file of images, N×H×W×C or N×H×W, of uint8, or of float32 or float64 in units of the full range")
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
		m := &measured{Shape: images.Shape, Difference: *minus != ""}
		source, err := spectrumSource(ctx, images, *minus)
		if err != nil {
			return nil, err
		}
		m.Spectrum, err = spectral.MeanSpectrum(ctx, source, terminalProgress())
		return m, err
	}
}

func spectrumImages(ctx context.Context, in string, open func() (*dataset.Dataset, error)) (*dataset.Array, error) {
	if in != "" {
		return dataset.ReadAnyArray(ctx, in)
	}
	d, err := open()
	if err != nil {
		return nil, err
	}
	images, err := d.Load(ctx)
	if err != nil {
		return nil, err
	}
	return &dataset.Array{Name: images.Name, Shape: images.Shape, N: images.Len(), Bytes: images.Pixels}, nil
}

// spectrumSource is the images, less those of a file where one is named.
func spectrumSource(ctx context.Context, images *dataset.Array, minus string) (spectral.Source, error) {
	if minus == "" {
		if images.Bytes != nil {
			return spectral.Bytes(images.Shape, images.Bytes), nil
		}
		return spectral.Real(images.Shape, images.Real), nil
	}
	other, err := dataset.ReadAnyArray(ctx, minus)
	if err != nil {
		return spectral.Source{}, err
	}
	if other.Shape != images.Shape || other.N != images.N {
		return spectral.Source{}, fmt.Errorf("--minus %s: %d images of %v; expected %d of %v, as in %s", minus, other.N, other.Shape, images.N, images.Shape, images.Name)
	}
	if images.Bytes != nil && other.Bytes != nil {
		return spectral.Difference(images.Shape, images.Bytes, other.Bytes)
	}
	return spectral.RealDifference(images.Shape, images.Reals(), other.Reals())
}
