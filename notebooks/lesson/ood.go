package lesson

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/ood/record"
	"github.com/certspec/certspec/pixel"
)

// Hills is a network of three layers on the plane, sure of class 0 around (0.25, 0.5) and of class
// 1 around (0.75, 0.5). The first layer gives the distances from a centre along both diagonals, on
// all four sides; their sum is twice the larger of |dx| and |dy|. The second gives max(0, 1 −
// 2.5·sum), the third the logits, 6 times these.
func Hills() *feedforward.Network {
	b := feedforward.NewBuilder(2)
	var w, bias []float64
	for _, centre := range [][2]float64{{0.25, 0.5}, {0.75, 0.5}} {
		for _, diagonal := range []float64{1, -1} {
			for _, sign := range []float64{1, -1} {
				w, bias = append(w, sign, sign*diagonal), append(bias, -sign*(centre[0]+diagonal*centre[1]))
			}
		}
	}
	sides := b.ReLU(b.Dense(0, 8, w, bias))
	second := make([]float64, 16)
	for i := range second {
		if i/8 == i%8/4 {
			second[i] = -2.5
		}
	}
	hills := b.ReLU(b.Dense(sides, 2, second, []float64{1, 1}))
	return nb.Must(b.Network(b.Dense(hills, 2, []float64{6, 0, 0, 6}, nil)))
}

// Plane is the unit square, from black where a network is not sure at all to white where it is
// certain: its confidence, the bound over balls of one of the radii by intervals, and by CROWN,
// side by side, the points marked by small squares. A slider chooses the radius.
func Plane(n *feedforward.Network, points [][2]float64, radii ...float64) *nb.Widget {
	const side, pixels, gap = 48, 4, 16
	shape := pixel.Shape{Height: side * pixels, Width: 3*side*pixels + 2*gap, Channels: 1}
	draw := func(radius float64) []uint8 {
		picture := slices.Repeat([]uint8{255}, shape.Len())
		for k, at := range []struct {
			radius float64
			method feedforward.Method
		}{{0, feedforward.IBP}, {radius, feedforward.IBP}, {radius, feedforward.CROWN}} {
			left := k * (side*pixels + gap)
			square := func(x, y, size int, grey uint8) {
				for d := range size * size {
					picture[(y+d/size)*shape.Width+left+x+d%size] = grey
				}
			}
			for d := range side * side {
				z := []float64{(float64(d%side) + 0.5) / side, (float64(d/side) + 0.5) / side}
				box := nb.Must(feedforward.Ball(z, at.radius, feedforward.Rigorous))
				c := nb.Must(n.Confidence(nb.Context(), z, box, at.method, feedforward.Rigorous))
				square(d%side*pixels, d/side*pixels, pixels, uint8(255*(2*math.Exp(c.LogUpper)-1)))
			}
			for _, p := range points {
				x, y := int(p[0]*side*pixels), int(p[1]*side*pixels)
				square(x-4, y-4, 9, 255)
				square(x-2, y-2, 5, 0)
			}
		}
		return picture
	}
	slider := nb.Slider{Name: "ε"}
	var rows []nb.Row
	for _, r := range radii {
		slider.Values = append(slider.Values, fmt.Sprint(r))
	}
	for _, i := range []int{0, len(radii) - 1} {
		rows = append(rows, nb.Row{Name: "ε = " + slider.Values[i], Images: [][]uint8{draw(radii[i])}})
	}
	caption := "confidence on the plane, its bound by intervals, and by CROWN; small squares are foreign points"
	return nb.Browse(caption, shape, []nb.Slider{slider}, func(at []int) []uint8 { return draw(radii[at[0]]) },
		nb.Images(caption, shape, rows...))
}

// Here is the first of some data sets that is on this machine, or nil, and then the page says so: a run without them is
// not saved.
func Here(names ...string) *dataset.Dataset {
	for _, name := range names {
		d := nb.Must(dataset.Open(name))
		if _, err := d.Load(nb.Context()); err == nil {
			return d
		}
	}
	set, _, _ := strings.Cut(names[0], "/")
	nb.StandIn("Nothing", names[0], "certspec dataset fetch "+set)
	return nil
}

// Network is the name that a reader knows a network by: "GOOD 80" for fmnist-good80.
func Network(file string) string {
	name := file[strings.LastIndex(file, "-")+1:]
	if q, good := strings.CutPrefix(name, "good"); good {
		return "GOOD " + q
	}
	return strings.Replace(name, "oe", "OE", 1)
}

// Foreign has names of sets of images for readers, by their names in files; "in" are the own images of one network.
var Foreign = map[string]string{"in": "clothes", "mnist": "digits", "grey": "grey crops", "uniform": "uniform noise",
	"smooth": "smooth noise", "out": "out-images", "own": "own images", "clothes": "clothes", "vehicles": "vehicles"}

// Histograms by nb.HistogramRows, a row for each network on own images and on the sets.
func Histograms(networks, sets []string, file func(network, set string) *ood.Measurement) *nb.Figure {
	rows := make([][]*ood.Measurement, len(networks))
	for i, name := range networks {
		for _, set := range append([]string{"in"}, sets...) {
			m := *file(name, set)
			m.Header.Model.Name, m.Header.Data.Name = Network(name), Foreign[set]
			rows[i] = append(rows[i], &m)
		}
	}
	return nb.HistogramRows(rows...)
}

// ByClass shows a foreign image of each of its classes, the first of a set, in a row for each
// network with what it takes the image for, and its confidence.
func ByClass(data *dataset.Dataset, classes, networks []string, file func(network, set string) *ood.Measurement,
	set string) *nb.Figure {
	images := nb.Must(data.Load(nb.Context()))
	rows := make([]nb.Row, len(networks))
	for k, name := range networks {
		first := map[int]record.Line{}
		for _, l := range file(name, set).Lines {
			if _, seen := first[l.Label]; !seen {
				first[l.Label] = l
			}
		}
		rows[k].Name = Network(name)
		for _, label := range slices.Sorted(maps.Keys(first)) {
			l := first[label]
			rows[k].Images = append(rows[k].Images, images.Image(images.Index(l.Image)))
			rows[k].Words = append(rows[k].Words, fmt.Sprintf("%s\n%.2f", classes[l.Class], math.Exp(l.Log)))
		}
	}
	return nb.Images("What three networks take a foreign image of each class for, and how sure they are", images.Shape,
		rows...)
}

// Attacked shows one image as it is, and the points within epsilon at which an attack (20 steps of
// Auto-PGD, and 10 from the contrast start) found each network to be surest, with the confidence of
// every network there.
func Attacked(data *dataset.Dataset, image int, epsilon float64, networks []string,
	open func(name string) *feedforward.Network) *nb.Figure {
	one := data.Subset(dataset.Range(image, image+1))
	images := nb.Must(one.Load(nb.Context()))
	folder := nb.Must(os.MkdirTemp("", "attacked"))
	defer os.RemoveAll(folder)
	row := nb.Row{Images: [][]uint8{images.Image(0)}, Heads: []string{"as it is"}}
	points := [][]float32{nil}
	for _, b := range images.Image(0) {
		points[0] = append(points[0], float32(b)/255)
	}
	for _, name := range networks {
		o := ood.AttackOptions{Epsilon: epsilon, Attacks: []string{"apgd", "contrast"}, Steps: 20, Restarts: 1,
			Monotone: 10, Points: filepath.Join(folder, name+".npy")}
		nb.Must(ood.Attack(nb.Context(), open(name), one, o))
		points = append(points, nb.Must(dataset.ReadAnyArray(nb.Context(), o.Points)).Reals())
		row.Images, row.Heads = append(row.Images, inBytes(points[len(points)-1])),
			append(row.Heads, "against "+Network(name))
	}
	for _, p := range points {
		x, words := make([]float64, len(p)), make([]string, len(networks))
		for i, v := range p {
			x[i] = float64(v)
		}
		for k, name := range networks {
			_, log := feedforward.LogConfidence(nb.Must(open(name).Forward(x)))
			words[k] = fmt.Sprintf("%s %.3f", Network(name), math.Exp(log))
		}
		row.Words = append(row.Words, strings.Join(words, "\n"))
	}
	title := fmt.Sprintf("Confidence of three networks in an image, and after attacks within ε = %v", epsilon)
	return nb.Images(title, images.Shape, row)
}

// sorted are the first lines, by their bounds.
func sorted(m *ood.Measurement, batch int) []record.Line {
	lines := slices.Clone(m.Lines[:batch])
	slices.SortStableFunc(lines, func(a, b record.Line) int { return cmp.Compare(a.Upper, b.Upper) })
	return lines
}

// Ends are the images of a batch with the smallest bounds and those with the largest.
func Ends(data *dataset.Dataset, m *ood.Measurement, batch, count int) *nb.Figure {
	images, lines := nb.Must(data.Load(nb.Context())), sorted(m, batch)
	row := func(name string, lines []record.Line) nb.Row {
		r := nb.Row{Name: name}
		for _, l := range lines {
			r.Images = append(r.Images, images.Image(images.Index(l.Image)))
			r.Words = append(r.Words, fmt.Sprintf("%.3f", math.Exp(l.Upper)))
		}
		return r
	}
	return nb.Images("The smallest and the largest bounds of 128 out-images", images.Shape, row("smallest", lines[:count]),
		row("largest", lines[batch-count:]))
}

// Sorted is a batch as the quantile of GOOD splits it: the images of the first lines, sorted by
// their bounds, of which the share of q percent with the smallest has the bound in the loss, and
// the others their logits. A slider chooses q.
func Sorted(m *ood.Measurement, batch int, quantiles ...int) *nb.Widget {
	lines := sorted(m, batch)
	frame := func(at int) *nb.Figure {
		certified := batch * quantiles[at] / 100
		low, high, clean := nb.Line{Name: "bound, in the loss"}, nb.Line{Name: "bound, not in the loss"},
			nb.Line{Name: "confidence"}
		for i, l := range lines {
			to := &low
			if i >= certified {
				to = &high
			}
			to.X, to.Y = append(to.X, float64(i+1)), append(to.Y, math.Exp(l.Upper))
			clean.X, clean.Y = append(clean.X, float64(i+1)), append(clean.Y, math.Exp(l.Log))
		}
		title := fmt.Sprintf("Q = %d: %d of %d images by their bounds, %d by their logits", quantiles[at], certified,
			batch, batch-certified)
		return nb.Lines(nb.Axes{Title: title, X: "image of the batch, by its bound", Y: "confidence"}, clean, low, high)
	}
	slider := nb.Slider{Name: "Q", Start: len(quantiles) / 2}
	for _, q := range quantiles {
		slider.Values = append(slider.Values, fmt.Sprint(q))
	}
	return nb.Frames("a batch of out-images, sorted by bound", slider, frame, slider.Start)
}
