package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/pixel"
)

// ImageOptions name a data set, and say which of its images are taken. The name says how they are prepared.
type ImageOptions struct {
	Name     string
	Recorded string // a file or folder of a run that this one goes on with or repeats: its JPEG decoder is taken

	cmd                   *cobra.Command
	called                string // by --data-name
	skip, maxIndex, count int
}

// Flags adds --data and the flags that select images.
func (o *ImageOptions) Flags(cmd *cobra.Command) {
	Group(cmd, Data, func(f *Flags) {
		f.Data(&o.Name, "data set, e.g. fashionmnist/test, or a folder of pictures; see certspec dataset list")
		f.DataName(&o.called)
	})
	o.SelectionFlags(cmd)
}

// Data adds --data.
func (f *Flags) Data(p *string, usage string) { f.Named(p, "data", "", usage, DataNames) }

// DataName adds --data-name.
func (f *Flags) DataName(p *string) {
	f.Text(p, "data-name", "name of the data in files, tables and figures, instead of their path")
}

// DataNames are the names by which data sets open, or with which their names begin.
func DataNames() []string {
	var names []string
	for _, s := range dataset.Sets() {
		names = append(names, s.Name+"/train", s.Name+"/test")
	}
	return append(names, "folder:", "npy:", "npz:")
}

// SelectionFlags adds the flags that select images, among those that the name of the set says.
func (o *ImageOptions) SelectionFlags(cmd *cobra.Command) {
	o.cmd = cmd
	Group(cmd, Data, func(f *Flags) {
		f.IntVar(&o.count, "count", 0, "number of images, spread over the classes")
		f.IntVar(&o.skip, "skip", 1, "only images whose index is a multiple of this")
		f.IntVar(&o.maxIndex, "max-index", 0, "only images of a lower index than this")
	})
}

// Open opens the data set of --data.
func (o *ImageOptions) Open() (*dataset.Dataset, error) {
	d, err := o.OpenNamed(o.Name)
	if err == nil && o.cmd.Flags().Changed("data-name") {
		if d, err = d.Named(o.called); err != nil {
			return nil, Usagef("--data-name %s: expected some letters, without brackets", o.called)
		}
	}
	return d, err
}

// OpenNamed opens a data set with the flags that select images.
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

// Prepared says how the images of a set were prepared, in the words of its name.
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
	Folders map[string]int `json:"folders,omitempty"` // label of each folder that the file of classes names
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
