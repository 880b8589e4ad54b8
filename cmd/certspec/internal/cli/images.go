package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/pixel"
)

// ImageOptions name a data set, and say how its images are prepared and which of them are taken.
type ImageOptions struct {
	Name     string
	Recorded string // a file or folder of a run that this one goes on with or repeats: its JPEG decoder is taken

	cmd                                                        *cobra.Command
	resize, filter, crop, channels, background, depth, classes string
	skip, maxIndex, count                                      int
}

// Flags adds --data and the flags that prepare and select images.
func (o *ImageOptions) Flags(cmd *cobra.Command) {
	Group(cmd, Data, func(f *Flags) {
		f.Data(&o.Name, "data set, e.g. fashionmnist/test or folder:pictures; see certspec dataset list")
	})
	o.SelectionFlags(cmd)
}

// Data adds --data.
func (f *Flags) Data(p *string, usage string) { f.Named(p, "data", "", usage, DataNames) }

// DataNames are the names by which data sets open, or with which their names begin.
func DataNames() []string {
	var names []string
	for _, s := range dataset.Sets() {
		names = append(names, s.Name+"/train", s.Name+"/test")
	}
	return append(names, "folder:", "npy:")
}

// SelectionFlags adds the flags that prepare and select images. They go before what the name of the set says.
func (o *ImageOptions) SelectionFlags(cmd *cobra.Command) {
	o.cmd = cmd
	Group(cmd, Data, func(f *Flags) {
		f.IntVar(&o.count, "count", 0, "this many images, spread over the classes")
		f.IntVar(&o.skip, "skip", 1, "only images whose index is a multiple of this")
		f.IntVar(&o.maxIndex, "max-index", 0, "only images of a lower index than this")
		f.Text(&o.resize, "resize", "pixels of the shorter side, as 256, or of both, as 224x160 (height first); "+
			"before the noise, rounded to bytes")
		f.Named(&o.filter, "filter", "",
			"of the resize: nearest, box, bilinear, bicubic or lanczos, as in Pillow (default bilinear)",
			known("nearest", "box", "bilinear", "bicubic", "lanczos"))
		f.Text(&o.crop, "crop", "then cut this from the centre, as 224 or 224x160 pixels")
		f.Named(&o.channels, "channels", "",
			"rgb: grey images get three equal channels; grey: those in RGB become grey", known("rgb", "grey"))
		f.Named(&o.background, "background", "",
			"colour behind transparent pixels: white, black, grey or #rrggbb (default: an error)",
			known("white", "black", "grey"))
		f.Named(&o.depth, "depth", "", "8: 16-bit values become round(v/257) (default: an error)", known("8"))
		f.File(&o.classes, "classes", "file with a line FOLDER, or FOLDER LABEL NAME, per folder of pictures "+
			"(default: sorted names; names that are numbers are labels)")
	})
}

// Open opens the data set of --data.
func (o *ImageOptions) Open() (*dataset.Dataset, error) { return o.OpenNamed(o.Name) }

// OpenNamed opens a data set with the flags that prepare and select images.
func (o *ImageOptions) OpenNamed(name string) (*dataset.Dataset, error) {
	f := o.cmd.Flags()
	open := dataset.Open
	if known := recorded(o.Recorded).Data.Name; known != "" {
		open = func(name string) (*dataset.Dataset, error) { return dataset.OpenLike(name, known) }
	}
	d, err := open(name)
	if err != nil {
		return nil, UsageError{err}
	}
	p := d.Preparation()
	for _, size := range []struct {
		flag, text string
		to         *dataset.Size
	}{{"resize", o.resize, &p.Resize}, {"crop", o.crop, &p.Crop}} {
		if f.Changed(size.flag) {
			if *size.to, err = dataset.ParseSize(size.text); err != nil {
				return nil, Usagef("--%s: %v", size.flag, err)
			}
		}
	}
	for _, text := range []struct {
		flag, text string
		to         *string
	}{{"filter", o.filter, &p.Filter}, {"background", o.background, &p.Background}, {"classes", o.classes,
		&p.Classes}} {
		if f.Changed(text.flag) {
			*text.to = text.text
		}
	}
	if f.Changed("channels") {
		if p.RGB, p.Grey = o.channels == "rgb", o.channels == "grey"; !p.RGB && !p.Grey {
			return nil, Usagef("--channels %s: expected rgb or grey", o.channels)
		}
	}
	if f.Changed("depth") {
		if p.Reduce16 = o.depth == "8"; !p.Reduce16 {
			return nil, Usagef("--depth %s: expected 8", o.depth)
		}
	}
	if d, err = d.Prepare(p); err != nil {
		return nil, UsageError{err}
	}
	var selections []dataset.Selection
	if f.Changed("skip") {
		selections = append(selections, dataset.Skip(o.skip))
	}
	if f.Changed("max-index") {
		selections = append(selections, dataset.MaxIndex(o.maxIndex))
	}
	if f.Changed("count") {
		selections = append(selections, dataset.Count(o.count))
	}
	return d.Subset(selections...), nil
}

// Resized says what a radius is a distance between where images of a set were resized; else it is empty.
func Resized(d *dataset.Dataset, shape pixel.Shape) string {
	p := d.Preparation()
	if p.Resize == (dataset.Size{}) {
		return ""
	}
	return fmt.Sprintf("to %v by %s, before the noise; radii are in the resized pixels (%v), not in those of the files",
		p.Resize, p.Filter, shape)
}

// Prepared says how the images of a set were prepared, in the words of the flags.
type Prepared struct {
	Resize     string `json:"resize,omitempty"`
	Filter     string `json:"filter,omitempty"`
	Crop       string `json:"crop,omitempty"`
	Channels   string `json:"channels,omitempty"`
	Background string `json:"background,omitempty"`
	Depth      string `json:"depth,omitempty"`
	Classes    string `json:"classes,omitempty"`
	// what a radius is a distance between, where images were resized
	Radii   string         `json:"radii,omitempty"`
	Folders map[string]int `json:"folders,omitempty"` // label of each folder that --classes names
}

// HowPrepared says how the images of a set were prepared.
func HowPrepared(ctx context.Context, d *dataset.Dataset, shape pixel.Shape) (Prepared, error) {
	images, err := d.List(ctx)
	if err != nil {
		return Prepared{}, err
	}
	p := d.Preparation()
	shown := Prepared{Filter: p.Filter, Background: p.Background, Classes: p.Classes, Radii: Resized(d, shape)}
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
	if p.Grey {
		shown.Channels = "grey"
	}
	if p.Reduce16 {
		shown.Depth = "8"
	}
	if p.Classes != "" {
		shown.Folders = images.Folders
	}
	return shown, nil
}

// ParseShape reads height, width and channels, e.g. "32x32x3".
func ParseShape(flag, text string) (pixel.Shape, error) {
	var s pixel.Shape
	if n, err := fmt.Sscanf(text+"\n", "%dx%dx%d\n", &s.Height, &s.Width, &s.Channels); n != 3 || err != nil ||
		!s.Valid() {
		return s, Usagef("--%s %s: expected height, width and channels, e.g. 32x32x3", flag, text)
	}
	return s, nil
}

// ClassName is the name of a class of the data set, or its number where there is none.
func ClassName(names []string, class int) string {
	switch {
	case class < 0:
		return "unknown"
	case class < len(names):
		return names[class]
	}
	return strconv.Itoa(class)
}
