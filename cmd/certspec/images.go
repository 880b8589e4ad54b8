package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/pixel"
)

// dataFlags adds --data and the flags of imageFlags, and gives what opens the data set.
func dataFlags(cmd *cobra.Command) func() (*dataset.Dataset, error) {
	name := cmd.Flags().String("data", "", "data set, e.g. fashionmnist/test or folder:pictures")
	open := imageFlags(cmd)
	return func() (*dataset.Dataset, error) { return open(*name) }
}

// imageFlags adds the flags that prepare and select images, and gives what opens a data set with
// them. They go before what the name of the set says.
func imageFlags(cmd *cobra.Command) func(name string) (*dataset.Dataset, error) {
	f := cmd.Flags()
	resize := f.String("resize", "", "pixels of the shorter side, as 256, or of both, as 224x160 (height first); before the noise, rounded to bytes")
	filter := f.String("filter", "", "of the resize: nearest, box, bilinear, bicubic or lanczos, as in Pillow (default bilinear)")
	crop := f.String("crop", "", "then cut this from the centre, as 224 or 224x160 pixels")
	channels := f.String("channels", "", "rgb: grey images get three equal channels")
	background := f.String("background", "", "colour behind transparent pixels: white, black, grey or #rrggbb (default: an error)")
	depth := f.String("depth", "", "8: 16-bit values become round(v/257) (default: an error)")
	classes := f.String("classes", "", "file with a line FOLDER, or FOLDER LABEL NAME, per folder of pictures (default sorted folders)")
	skip := f.Int("skip", 1, "only images whose index is a multiple of this")
	maxIndex := f.Int("max-index", 0, "only images of a lower index than this")
	count := f.Int("count", 0, "this many images, spread over the classes")
	return func(name string) (*dataset.Dataset, error) {
		d, err := dataset.Open(name)
		if err != nil {
			return nil, usageError{err}
		}
		p := d.Preparation()
		for _, size := range []struct {
			flag, text string
			to         *dataset.Size
		}{{"resize", *resize, &p.Resize}, {"crop", *crop, &p.Crop}} {
			if f.Changed(size.flag) {
				if *size.to, err = dataset.ParseSize(size.text); err != nil {
					return nil, usagef("--%s: %v", size.flag, err)
				}
			}
		}
		for _, text := range []struct {
			flag, text string
			to         *string
		}{{"filter", *filter, &p.Filter}, {"background", *background, &p.Background}, {"classes", *classes, &p.Classes}} {
			if f.Changed(text.flag) {
				*text.to = text.text
			}
		}
		for _, only := range []struct {
			flag, text, known string
			to                *bool
		}{{"channels", *channels, "rgb", &p.RGB}, {"depth", *depth, "8", &p.Reduce16}} {
			if f.Changed(only.flag) {
				if *only.to = only.text == only.known; !*only.to {
					return nil, usagef("--%s %s: expected %s", only.flag, only.text, only.known)
				}
			}
		}
		if d, err = d.Prepare(p); err != nil {
			return nil, usageError{err}
		}
		var selections []dataset.Selection
		if f.Changed("skip") {
			selections = append(selections, dataset.Skip(*skip))
		}
		if f.Changed("max-index") {
			selections = append(selections, dataset.MaxIndex(*maxIndex))
		}
		if f.Changed("count") {
			selections = append(selections, dataset.Count(*count))
		}
		return d.Subset(selections...), nil
	}
}

// resized says what a radius is a distance between where images of a set were resized; else it is empty.
func resized(d *dataset.Dataset, shape pixel.Shape) string {
	p := d.Preparation()
	if p.Resize == (dataset.Size{}) {
		return ""
	}
	return fmt.Sprintf("to %v by %s, before the noise; radii are in the resized pixels (%v), not in those of the files", p.Resize, p.Filter, shape)
}

// prepared says how the images of a set were prepared, in the words of the flags.
type prepared struct {
	Resize     string         `json:"resize,omitempty"`
	Filter     string         `json:"filter,omitempty"`
	Crop       string         `json:"crop,omitempty"`
	Channels   string         `json:"channels,omitempty"`
	Background string         `json:"background,omitempty"`
	Depth      string         `json:"depth,omitempty"`
	Classes    string         `json:"classes,omitempty"`
	Radii      string         `json:"radii,omitempty"`   // what a radius is a distance between, where images were resized
	Folders    map[string]int `json:"folders,omitempty"` // label of each folder that --classes names
}

func howPrepared(ctx context.Context, d *dataset.Dataset, shape pixel.Shape) (prepared, error) {
	images, err := d.List(ctx)
	if err != nil {
		return prepared{}, err
	}
	p := d.Preparation()
	shown := prepared{Filter: p.Filter, Background: p.Background, Classes: p.Classes, Radii: resized(d, shape)}
	for _, size := range []struct {
		of dataset.Size
		to *string
	}{{p.Resize, &shown.Resize}, {p.Crop, &shown.Crop}} {
		if size.of != (dataset.Size{}) {
			*size.to = size.of.String()
		}
	}
	if p.RGB {
		shown.Channels = "rgb"
	}
	if p.Reduce16 {
		shown.Depth = "8"
	}
	if p.Classes != "" {
		shown.Folders = images.Folders
	}
	return shown, nil
}
