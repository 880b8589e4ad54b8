package preflight

import (
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/cmd/certspec/preflight/informative"
	"github.com/certspec/certspec/feedforward"
)

// checked is the output of "preflight --bounds --json".
type checked struct {
	Model    string                  `json:"model"`
	Network  string                  `json:"network"`
	Input    feedforward.Shape       `json:"input"`
	Classes  int                     `json:"classes"`
	Assumes  string                  `json:"assumes,omitempty"`
	Compared string                  `json:"compared"`
	Layers   []feedforward.LayerInfo `json:"layers"`
	Images   string                  `json:"images"`
	Bounds   []informative.Tried     `json:"bounds"`
	Advice   string                  `json:"advice"`
}

// bounds looks at a network in the place of noise: its layers, what bounds cost, and whether they say anything.
func (o *options) bounds(cmd *cobra.Command) error {
	for _, e := range o.eps {
		if !(e >= 0 && e <= 1) {
			return cli.Usagef("--eps %v: expected numbers from 0 to 1", e)
		}
	}
	for _, name := range []string{"exec", "engine", "sigma", "budget", "n", "rule", "alpha", "noise", "block",
		"images"} {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--%s with --bounds: bounds are found from the layers, without noise", name)
		}
	}
	m, n, err := o.input.Model.Network(o.uncompared)
	if err != nil {
		return err
	}
	defer m.Close()
	c := checked{Model: o.input.Model.Path, Network: n.Digest(), Input: n.InputShape(), Classes: n.Outputs(),
		Assumes: n.Assumes(), Compared: n.Compared(), Layers: n.Layers()}
	points, err := c.points(cmd, &o.input.Images)
	if err != nil {
		return err
	}
	var useful float64
	if c.Bounds, useful, err = informative.Check(cmd.Context(), n, points, cli.Progress(), o.eps...); err != nil {
		return err
	}
	c.Advice = fmt.Sprintf("most bounds say something up to eps %v", useful)
	if useful == 0 {
		c.Advice = "the bounds say nothing at these radii: the network is too deep or was not trained for it; " +
			"certspec certify --keep-scores=top and certspec ood smooth bound its smoothed confidence within a " +
			"Euclidean radius"
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), c)
	}
	return c.print(cmd.OutOrStdout())
}

const checkImages = 8

// points are the images that are tried.
func (c *checked) points(cmd *cobra.Command, images *cli.ImageOptions) ([][]float64, error) {
	points := make([][]float64, 0, checkImages)
	if images.Name == "" {
		c.Images = "uniform noise"
		rng := rand.New(rand.NewPCG(1, 1))
		for range checkImages {
			x := make([]float64, c.Input.Size())
			for i := range x {
				x[i] = float64(rng.IntN(256)) / 255
			}
			points = append(points, x)
		}
		return points, nil
	}
	data, err := images.Open()
	if err != nil {
		return nil, err
	}
	all, err := data.Index(cmd.Context(), cli.Progress())
	if err != nil {
		return nil, err
	}
	if all.Shape.Len() != c.Input.Size() {
		return nil, cli.Usagef("images of %s are %v, the network takes %v", all.Name, all.Shape, c.Input)
	}
	c.Images = all.Name
	for i := range min(checkImages, all.Len()) {
		one, err := all.Read(cmd.Context(), i*all.Len()/checkImages)
		if err != nil {
			return nil, err
		}
		x := make([]float64, 0, c.Input.Size())
		for _, b := range one.Pixels {
			x = append(x, float64(b)/255)
		}
		points = append(points, x)
	}
	return points, nil
}

func (c *checked) print(out io.Writer) error {
	w := cli.Columns(out)
	cli.Fprintf(w, "network\t%s, %s\n", c.Model, c.Network)
	cli.Fprintf(w, "input\t%v, %d classes\n", c.Input, c.Classes)
	if c.Assumes != "" {
		cli.Fprintf(w, "assumes\t%s\n", c.Assumes)
	}
	cli.Fprintf(w, "layers\t%s\n", cli.Compared(c.Compared))
	fmt.Fprintln(w, "\nlayer\tkind\tshape")
	for _, l := range c.Layers {
		cli.Fprintf(w, "%s\t%s\t%v\n", l.Name, l.Op, l.Shape)
	}
	cli.Fprintf(w, "\nbounds on %s\tradius\tmedian bound\tsay nothing\tan image\n", c.Images)
	for _, b := range c.Bounds {
		cli.Fprintf(w, "%s\t%g\t%.4f\t%.0f %%\t%.1f ms\n", b.Method, b.Epsilon, b.Median, 100*b.Vacuous, 1000*b.Seconds)
	}
	cli.Fprintf(w, "\n%s\n", c.Advice)
	return w.Flush()
}
