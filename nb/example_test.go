package nb_test

import (
	"os"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/spectral"
)

// Certified accuracy against the radius. Point at a step: it names the image.
func ExampleCurve() {
	small := nb.Must(rs.Open("results/fmnist-cnn-s025-fixed.ledger"))
	large := nb.Must(rs.Open("results/fmnist-cnn-s050-scores.ledger"))
	curve := nb.Curve(small, large)
	curve.Title = "More noise: larger radii for fewer images"
	nb.Show(curve)
}

// Two runs on the same images, and their difference with its interval.
func ExampleCompare() {
	a := nb.Must(rs.Open("results/fmnist-cnn-s025-fixed.ledger"))
	b := nb.Must(rs.Open("results/fmnist-cnn-s050-scores.ledger"))
	nb.Show(nb.Compare(a, b, 0, 0.25, 0.5))
}

// The same figure for one column of a paper: letters of 8 points. Talk and Poster have larger ones.
func ExampleFigure_Paper() {
	run := nb.Must(rs.Open("results/quickstart.ledger"))
	figure := nb.Curve(run).Paper(1) // figure.Save("curve.pdf") writes it
	nb.Show(figure)
}

// The average certified radius under each corruption, the largest first.
func ExampleShow_sweep() {
	folder := "results/cifar10-resnet20-s025-C"
	nb.Show(nb.Must(sweep.Open(folder)))
}

// The first images of a data set with their labels.
func ExampleShow_data() {
	nb.Show(nb.Must(dataset.Open("synthetic/test")))
}

// What a certification sees: images without noise, and with more and more of it.
func ExampleNoisy() {
	data := nb.Must(dataset.Open("synthetic/test"))
	nb.Show(nb.Noisy(data, 6, 0.25, 0.5, 1))
}

// Images with what is certified of them. Words in colour mark a wrong class.
func ExampleGallery() {
	data := nb.Must(dataset.Open("synthetic/test")).Subset(dataset.Count(60))
	shape := pixel.Shape{Height: 32, Width: 32, Channels: 3}
	dark := classifier.Func(shape, 10, func(x []float32) []float32 { return x[1500:1510] })
	run := nb.Must(rs.Certify(nb.Context(), dark, data, rs.Options{Sigma: 0.05, MaxSamples: 1000}))
	nb.Show(nb.Gallery(data, run.Largest(6), run.Header.Settings()))
}

// A classifier of images of two pixels, smoothed, with a point and its certified ball.
func ExamplePlanes() {
	wave := classifier.Wave{Shape: pixel.Shape{Height: 1, Width: 2, Channels: 1},
		Level: 0.5, Amplitude: 0.12, Period: 0.16}
	marks := []nb.Mark{{Name: "A", Image: []uint8{133, 168}, Radius: 0.12, Samples: 300, Sigma: 0.1}}
	nb.Show(nb.Planes(nb.Plane{Title: "the classifier", Model: wave, Marks: marks},
		nb.Plane{Title: "smoothed, σ = 0.1", Model: wave, Sigma: 0.1, Marks: marks}))
}

// How a lower bound on a probability is proven from counts.
func ExampleTail() {
	nb.Show(nb.Tail(90, 100, 0.001))
}

// Lines over common axes, with bands where intervals are given.
func ExampleLines() {
	line := nb.Line{Name: "measured", X: []float64{100, 1000, 10_000},
		Y: []float64{0.2, 0.3, 0.34}, Low: []float64{0.1, 0.25, 0.32}, High: []float64{0.3, 0.35, 0.36}}
	nb.Show(nb.Lines(nb.Axes{X: "noise samples n", Y: "radius", LogX: true}, line))
}

// The worst calibration within a radius, from a ledger with scores.
func ExampleReliability() {
	run := nb.Ledger("results/fmnist-cnn-s025-scores.ledger")
	nb.Show(nb.Reliability(run, 0.25))
}

// A reliability diagram of confidences of your own.
func ExamplePlot() {
	right, confidence := []bool{true, true, false, true}, []float64{0.9, 0.8, 0.7, 0.6}
	bins := nb.Must(calib.Uniform(5, calib.LeftClosed))
	nb.Show(nb.Plot(nb.Must(calib.Reliability(right, confidence, bins)), "four answers"))
}

// The mean amplitude of images at each frequency.
func ExampleSpectrum() {
	data := nb.Must(dataset.Open("synthetic/test")).Subset(dataset.Count(200))
	nb.Show(nb.Spectrum(data))
}

// A stored map over frequencies: how often the network errs under noise of each of them.
func ExampleHeatMaps() {
	file := nb.Must(os.Open("results/heatmap-error.tsv"))
	defer file.Close()
	m := nb.Must(spectral.ReadMap("heatmap-error.tsv", file, 32, 32))
	nb.Show(nb.HeatMaps("error under Fourier noise", 0, 1, []string{"error"}, m))
}

// How sure a network is of its own images and of foreign ones.
func ExampleHistogramRows() {
	own := nb.Must(ood.Read("results/ood/fmnist-oe-in.ood"))
	foreign := nb.Must(ood.Read("results/ood/fmnist-oe-mnist.ood"))
	nb.Show(nb.HistogramRows([]*ood.Measurement{own, foreign}))
}

// Accuracy under shift against accuracy without it, on probit axes. Point at a dot: it names the model.
func ExampleOnTheLine() {
	var models lines.Models
	for i, right := range []int{600, 700, 800, 850, 900} {
		clean, shifted := nb.Must(lines.Count(right, 1000)), nb.Must(lines.Count(right-150-10*i, 1000))
		models = append(models, lines.Model{Name: string(rune('A' + i)),
			Accuracies: map[string]lines.Accuracy{"clean": clean, "fog": shifted}})
	}
	nb.Show(nb.OnTheLine(models, "clean", "fog", ""))
}

// How an iterate of a search assigns samples to bins.
func ExampleAssignments() {
	steps := map[int][]float64{1: {0.6, 0.4, 0.5, 0.5}, 100: {1, 0, 0, 1}}
	nb.Show(nb.Assignments("two samples, two bins", 2, steps))
}
