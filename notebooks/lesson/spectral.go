package lesson

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/corrupt/shared"
	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/spectral"
)

// Grey is the shape of a grey picture of 32 × 32 pixels: a spectrum or a wave.
var Grey = pixel.Shape{Height: 32, Width: 32, Channels: 1}

// inUnits are the values of an image in units of the full range.
func inUnits(image []uint8) []float64 {
	values := make([]float64, len(image))
	for i, b := range image {
		values[i] = float64(b) / pixel.Steps
	}
	return values
}

// Swapped is the end of an amplitude path: the phases of one image with the amplitudes of another.
func Swapped(shape pixel.Shape, phases, amplitudes []uint8) []uint8 {
	path := nb.Must(spectral.NewAmplitude(shape, spectral.FourierOptions{Window: 0.5}))
	points := nb.Must(path.Set(inUnits(phases), inUnits(amplitudes)))
	end := make([]float64, shape.Len())
	path.Point(end, points-1)
	return inBytes(end)
}

// LogAmplitude is the logarithm to base 10 of the mean amplitude of every frequency over images of
// a shape, at least −3.
func LogAmplitude(shape pixel.Shape, images []uint8) *spectral.Map {
	return logarithm(nb.Must(spectral.MeanSpectrum(nb.Context(), spectral.Bytes(shape, images), nil)).Amplitude)
}

func logarithm(m spectral.Map) *spectral.Map {
	m.Values = slices.Clone(m.Values)
	for k, v := range m.Values {
		m.Values[k] = math.Log10(max(v, 1e-3))
	}
	return &m
}

// Phases are the phases of the green channel of an image of 32 × 32 pixels.
func Phases(image []uint8) *spectral.Map {
	const side = 32
	half := nb.Must(fourier.NewHalf(side, side))
	plan := nb.Must(fourier.NewPlan[float64](side, side))
	green, whole := make([]float64, side*side), fourier.Spectrum[float64]{Re: make([]float64, side*side),
		Im: make([]float64, side*side)}
	for k := range green {
		green[k] = float64(image[3*k+1]) / pixel.Steps
	}
	x := fourier.NewSpectrum[float64](half)
	plan.Forward(plan.NewWorkspace(), x, green)
	fourier.Expand(half, whole, x)
	m := spectral.Map{Height: side, Width: side, U: spectral.Frequencies(side), V: spectral.Frequencies(side)}
	for at := range side * side {
		k := (at/side+side/2)%side*side + (at+side/2)%side
		m.Values = append(m.Values, math.Atan2(whole.Im[k], whole.Re[k]))
	}
	return &m
}

// Wave is the basis image of a frequency, around middle grey.
func Wave(u, v int) []uint8 {
	wave := nb.Must(fourier.Basis(nb.Must(fourier.NewHalf(32, 32)), u, v, 0))
	for k := range wave {
		wave[k] = 0.5 + 8*wave[k]
	}
	return inBytes(wave)
}

// Probed is image i of the data with the wave of a frequency added, by the usual settings.
func Probed(data *dataset.Dataset, i, u, v int) []uint8 {
	images := nb.Must(spectral.Probed(data, spectral.Frequency{U: u, V: v}, spectral.ProbeOptions{}).Load(nb.Context()))
	var values []float64
	for _, z := range images.Grid(i) {
		values = append(values, float64(z)/pixel.Steps)
	}
	return inBytes(values)
}

// Mixed is the view of an image that a drawn FourierMix gives, after change has altered each chain
// and with the share keep of the image itself.
func Mixed(mix augment.FourierMix, draw *augment.FourierMixDraw, shape pixel.Shape, image []uint8, keep float64,
	change func(*augment.FourierMixChain)) []uint8 {
	d := augment.FourierMixDraw{Keep: keep, Chains: slices.Clone(draw.Chains)}
	for k := range d.Chains {
		if change != nil {
			change(&d.Chains[k])
		}
	}
	view := asView(shape, image)
	nb.Check(mix.Mix(view, &d))
	return inBytes(view.Values)
}

// asView is an image of bytes as augmentations take it.
func asView(shape pixel.Shape, image []uint8) augment.Image {
	im := augment.Image{Shape: shape, Values: make([]float32, shape.Len())}
	augment.FromBytes(im.Values, image)
	return im
}

// View is an image after an augmentation with the stream of an address.
func View(a augment.Augmentation, shape pixel.Shape, image []uint8, at augment.Address) []uint8 {
	view := asView(shape, image)
	nb.Check(a.Apply(view, augment.NewStream(at)))
	return inBytes(view.Values)
}

// Corrupted is image i after a corruption.
func Corrupted(images *dataset.Images, s corrupt.Setting, i int) []uint8 {
	c := nb.Must(corrupt.New(s, images.Shape, corrupt.Key{Data: "CIFAR-10"}))
	out := make([]uint8, images.Shape.Len())
	c.Apply(out, images.Image(i), images.IDs[i])
	return out
}

// Severities shows image i under every corruption of each family at severities 1 to 5, under a
// title that names the family.
func Severities(images *dataset.Images, i int, title string, families ...corrupt.Family) {
	for _, family := range families {
		var rows []nb.Row
		for _, info := range corrupt.List() {
			if info.Family != family {
				continue
			}
			row := nb.Row{Name: printable.Name(info.Name)}
			for severity := 1; severity <= 5; severity++ {
				row.Images = append(row.Images, Corrupted(images, corrupt.Setting{Name: info.Name, Severity: severity},
					i))
			}
			rows = append(rows, row)
		}
		rows[0].Heads = []string{"severity 1", "severity 2", "severity 3", "severity 4", "severity 5"}
		caption := fmt.Sprintf("%s under CIFAR-%s, severities 1 to 5", title, family)
		if family == corrupt.C {
			caption += ". " + shared.DrawnFrost
		}
		nb.Show(nb.Images(caption, images.Shape, rows...))
	}
}

// Names of the corruptions of a family, and titles the same as people write them.
func Names(family corrupt.Family) (names, titles []string) {
	for _, info := range corrupt.List() {
		if info.Family == family {
			names, titles = append(names, info.Name), append(titles, printable.Name(info.Name))
		}
	}
	return names, titles
}

// Changed shows the mean amplitude spectrum of what the corruptions of CIFAR-C and C-bar change of
// the images at a severity, and a table of the centroids, sorted.
func Changed(images *dataset.Images, title string, severity int, note string) {
	clean := nb.Must(spectral.MeanSpectrum(nb.Context(), spectral.Bytes(images.Shape, images.Pixels), nil))
	names := map[corrupt.Family][]string{corrupt.C: {"clean images"}}
	maps := map[corrupt.Family][]*spectral.Map{corrupt.C: {logarithm(clean.Amplitude)}}
	t := nb.Columns("group", "corruption", "severity", "centroid")
	means := map[corrupt.Group]float64{}
	out := make([]uint8, len(images.Pixels))
	report := nb.Progress()
	for _, info := range corrupt.List() {
		if info.Family != corrupt.C && info.Family != corrupt.CBar {
			continue
		}
		c := nb.Must(corrupt.New(corrupt.Setting{Name: info.Name, Severity: severity}, images.Shape,
			corrupt.Key{Data: "CIFAR-10"}))
		nb.Check(c.Images(nb.Context(), out, images.Pixels, images.IDs, 0, report))
		s := nb.Must(spectral.MeanSpectrum(nb.Context(), nb.Must(spectral.Difference(images.Shape, out, images.Pixels)),
			nil))
		centroid := nb.Must(s.Amplitude.Centroid())
		t.Add(string(info.Group), printable.Name(info.Name), severity, centroid)
		means[info.Group] += centroid / 5
		names[info.Family] = append(names[info.Family], printable.Name(info.Name))
		maps[info.Family] = append(maps[info.Family], logarithm(s.Amplitude))
	}
	slices.SortFunc(t.Rows, func(a, b []any) int { return cmp.Compare(a[3].(float64), b[3].(float64)) })
	amplitude, power := nb.Must(clean.Amplitude.Slope(1, 15)), nb.Must(clean.Power.Slope(1, 15))
	t.Notes = []string{
		fmt.Sprintf("Mean centroids: Low %.2f, Mid %.2f, High %.2f periods per image; %s images%s.", means[corrupt.Low],
			means[corrupt.Mid], means[corrupt.High], printable.Count(images.Len()), note),
		fmt.Sprintf("From 1 to 15 periods the clean spectrum falls off with the frequency to the power −%.2f in "+
			"amplitude, −%.2f in power.", -amplitude.Exponent, -power.Exponent),
		shared.DrawnFrost,
	}
	const what = "%s, severity %d: mean amplitude of what %s changes, by frequency, as logarithm to base 10; %s"
	nb.Show(nb.HeatMaps(fmt.Sprintf(what, title, severity, "CIFAR-C", shared.DrawnFrost), -1, 1.5,
		names[corrupt.C], maps[corrupt.C]...),
		nb.HeatMaps(fmt.Sprintf(what, title, severity, "CIFAR-C-bar", "in units of the full range"), -1, 1.5,
			names[corrupt.CBar], maps[corrupt.CBar]...), t)
}

// Sweep is a table of the average certified radius of a sweep over groups of corruptions, beside
// the published figures by the name of a group, and one of every corruption.
func Sweep(folder string, published map[string]float64) (groups *nb.Tabular, each *nb.Figure) {
	s := nb.Must(sweep.Open(folder))
	c := nb.Must(compare.MeanACR(nb.Context(), s.Radii(), resample.Options{}))
	severities := strings.Trim(strings.ReplaceAll(fmt.Sprint(c.Severities), " ", ", "), "[]")
	groups = nb.Columns("mean over", "ACR (95 %)", "published")
	add := func(name, key string, a compare.NamedACR) {
		groups.Add(name, fmt.Sprintf("%.2f (%.2f to %.2f)", a.ACR, a.Interval.Low, a.Interval.High), published[key])
	}
	add("all fifteen: mACR", "mACR", c.MACR)
	for _, g := range c.Groups {
		if published[g.Name] != 0 {
			add("five of "+g.Name+" frequency", g.Name, g)
		}
	}
	data, _, _ := strings.Cut(s.Header.Data.Name, "[")
	note := fmt.Sprintf("%d images of %s, severities %s, n ≤ %s, intervals of the bootstrap over images.", c.Images, data,
		severities, printable.Count(s.Header.MaxSamples()))
	if s.Clean != nil {
		note += fmt.Sprintf(" Without corruption the ACR is %.3f; published %.3f.", s.Clean.ACR().Value,
			published["clean"])
	}
	if len(s.Unfinished) > 0 {
		note += fmt.Sprintf(" Not complete and left out: %d ledgers.", len(s.Unfinished))
	}
	if s.DrawnFrost {
		note += " " + shared.DrawnFrost
	}
	groups.Notes = []string{note}
	for _, d := range c.Order {
		groups.Notes = append(groups.Notes, fmt.Sprintf("From %s: %.3f (%.3f to %.3f, paired by image).", d.Name,
			d.Difference.Difference, d.Interval.Low, d.Interval.High))
	}
	slices.SortFunc(c.Corruptions, func(a, b compare.NamedACR) int { return cmp.Compare(b.ACR, a.ACR) })
	dots := figure.Forest{Title: fmt.Sprintf("Contrast and fog cost most radius, brightness and JPEG least\n"+
		"CIFAR-10-C, ResNet-20, %d images, %s", c.Images, s.Header.Settings()),
		X: "average certified radius; bar: without corruption"}
	for _, a := range c.Corruptions {
		dots.Rows = append(dots.Rows, figure.ForestRow{Name: printable.Name(a.Name), Value: a.ACR,
			Low: a.Interval.Low, High: a.Interval.High, Bound: s.Clean.ACR().Value, Ink: figure.Palette[0]})
	}
	return groups, nb.Plot(dots, dots.Title)
}

// ProbeAnswers shows an image of data, and the same with a probe of the frequency (u, v) and a norm in each channel,
// with what the model answers.
func ProbeAnswers(model classifier.Classifier, data *dataset.Dataset, i, u, v int, norm float64) *nb.Figure {
	one := data.Subset(dataset.Range(i, i+1))
	options := spectral.ProbeOptions{Epsilon: norm}
	clean := nb.Must(one.Load(nb.Context()))
	probed := nb.Must(spectral.Probed(one, spectral.Frequency{U: u, V: v}, options).Load(nb.Context()))
	row := nb.Row{}
	for _, images := range []*dataset.Images{clean, probed} {
		grid := images.Grid(0)
		result := classifier.Result{Classes: make([]int32, 1)}
		nb.Check(model.Classify(nb.Context(), classifier.Batch{N: 1, Grid: grid}, &result))
		var values []float64
		for _, z := range grid {
			values = append(values, float64(z)/pixel.Steps)
		}
		answer := "no class"
		if c := result.Classes[0]; c >= 0 && int(c) < len(clean.Classes) {
			answer = clean.Classes[c]
		}
		row.Images, row.Words = append(row.Images, inBytes(values)), append(row.Words, "answer: "+answer)
	}
	row.Words[0] += "\nlabel: " + clean.Classes[clean.Labels[0]]
	row.Words[1] += fmt.Sprintf("\nu = %d, v = %d,\nnorm %g", u, v, norm)
	f := nb.Images("", clean.Shape, row)
	f.Caption = fmt.Sprintf("an image, and the same with a probe of frequency (%d, %d) and norm %g, with the answers",
		u, v, norm)
	return f
}

// inBytes rounds values in units of the full range to bytes, and clips them: what a screen can show.
func inBytes[T float32 | float64](values []T) []uint8 {
	out := make([]uint8, len(values))
	for i, v := range values {
		out[i] = uint8(min(max(v, 0), 1)*pixel.Steps + .5)
	}
	return out
}
