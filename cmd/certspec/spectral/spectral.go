// Package spectral is "certspec spectral".
package spectral

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/spectral"
)

// Command makes the command.
func Command() *cobra.Command {
	return cli.Noun("spectral", "Measure images and models by frequency: spectra, heat maps, paths", "",
		spectrumCommand(), differenceCommand(), outliersCommand(), bandCommand(), heatMapCommand(),
		cli.ForPapers(pathCommand()), cli.ForPapers(recordCommand()))
}

// measured is the mean spectrum of the images that a command names.
type measured struct {
	Shape      pixel.Shape `json:"shape"`
	Difference bool        `json:"difference"` // of two sets of images, pair by pair
	*spectral.Spectrum
}

// spectrumOf names the images whose spectrum is wanted.
type spectrumOf struct {
	in, minus string
	images    cli.ImageOptions
}

func (o *spectrumOf) flags(cmd *cobra.Command) {
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.File(&o.in, "in", "NumPy file of images, N×H×W×C or N×H×W, of uint8, or of float32 or float64 in units of "+
			"the full range", "npy")
		f.File(&o.minus, "minus", "NumPy file of as many images, which are subtracted one by one: the spectrum of "+
			"the differences", "npy")
	})
	o.images.Flags(cmd)
}

// measure finds the spectrum of the images.
func (o *spectrumOf) measure(cmd *cobra.Command) (*measured, error) {
	ctx, f := cmd.Context(), cmd.Flags()
	if f.Changed("in") == f.Changed("data") {
		return nil, cli.Usagef("expected --in or --data, and not both")
	}
	source, err := o.source(ctx)
	if err != nil {
		return nil, err
	}
	m := &measured{Shape: source.Shape, Difference: o.minus != ""}
	m.Spectrum, err = spectral.MeanSpectrum(ctx, source, cli.Progress())
	return m, err
}

// source is the images. Those of a data set are read one by one.
func (o *spectrumOf) source(ctx context.Context) (spectral.Source, error) {
	if o.in != "" || o.minus != "" {
		images, err := spectrumImages(ctx, o.in, o.images.Open)
		if err != nil {
			return spectral.Source{}, err
		}
		return spectrumSource(ctx, images, o.minus)
	}
	d, err := o.images.Open()
	if err != nil {
		return spectral.Source{}, err
	}
	x, err := d.Index(ctx, cli.Progress())
	if err != nil {
		return spectral.Source{}, err
	}
	return spectral.Source{Shape: x.Shape, Len: x.Len(), IDs: x.IDs, Plane: func(dst []float64, image, channel int) error {
		one, err := x.Read(ctx, image)
		if err != nil {
			return err
		}
		return spectral.Bytes(x.Shape, one.Pixels).Plane(dst, 0, channel)
	}}, nil
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
		return spectral.Source{}, fmt.Errorf("--minus %s: %d images of %v; expected %d of %v, as in %s", minus, other.N,
			other.Shape, images.N, images.Shape, images.Name)
	}
	if images.Bytes != nil && other.Bytes != nil {
		return spectral.Difference(images.Shape, images.Bytes, other.Bytes)
	}
	return spectral.RealDifference(images.Shape, images.Reals(), other.Reals())
}
