package heatmap_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/cmd/certspec/spectral/heatmap"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/spectral"
)

type loaded struct{ *imageset.Images }

func (l loaded) Load(context.Context) (*imageset.Images, error) { return l.Images, nil }

const side = 6

func pictures(name string, seed uint64, n, channels int) loaded {
	return loaded{testkit.Images(name, pixel.Shape{Height: side, Width: side, Channels: channels}, 2, n, seed)}
}

// sensitive is an affine network of two classes whose logit is 8·⟨d, x⟩ for the basis image d of one frequency, in all channels.
func sensitive(t *testing.T, f spectral.Frequency, channels int) *feedforward.Network {
	t.Helper()
	half, err := fourier.NewHalf(side, side)
	if err != nil {
		t.Fatal(err)
	}
	d, err := fourier.Basis(half, f.U, f.V, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := make([]float64, side*side*channels)
	for i := range w {
		w[i] = 8 * d[i/channels]
	}
	b := feedforward.NewBuilder(side, side, channels)
	n, err := b.Network(b.Dense(0, 2, append(w, make([]float64, len(w))...), nil))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// An affine network feels its own frequency alone, as Fourier basis images are orthogonal: there the bound is σ(|8⟨d, x⟩| + 8ε), elsewhere the
// confidence itself.
func TestBoundOfAnAffineNetwork(t *testing.T) {
	own := spectral.Frequency{U: 2, V: 1}
	n, data := sensitive(t, own, 1), pictures("set/test", 4, 5, 1)
	clean, err := ood.Measure(t.Context(), n, data, ood.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const epsilon = 0.25
	mean, along := 0.0, 0.0
	for _, l := range clean.Lines {
		c := math.Exp(l.Log)
		mean += c / 5
		along += 1 / (1 + math.Exp(-(math.Log(c/(1-c)) + 8*epsilon))) / 5
	}
	o := heatmap.Options{Metric: heatmap.Bound, Frequencies: []int{-2, -1, 0, 1, 2}, Probe: spectral.ProbeOptions{Epsilon: epsilon}}
	m, err := heatmap.Run(t.Context(), n, data, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, u := range m.U {
		for j, v := range m.V {
			want := mean
			if (u == 2 && v == 1) || (u == -2 && v == -1) {
				want = along
			}
			if got := m.Values[i*len(m.V)+j]; math.Abs(got-want) > 1e-4 {
				t.Errorf("frequency (%d, %d): %v, want %v", u, v, got, want)
			}
		}
	}
}

// In colour the norm over all channels is ε√3, and the bound holds at probed images on both sides.
func TestBoundHoldsAtProbes(t *testing.T) {
	f := spectral.Frequency{U: 1, V: 2}
	n, data := sensitive(t, f, 3), pictures("set/test", 6, 4, 3)
	for _, ball := range []float64{0, 0.05} {
		folder := t.TempDir()
		o := heatmap.Options{Metric: heatmap.Bound, Frequencies: []int{1, 2}, Probe: spectral.ProbeOptions{Epsilon: 0.5, Seed: 3}, Ball: ball, Folder: folder}
		m, err := heatmap.Run(t.Context(), n, data, o)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(m.Norm-0.5*math.Sqrt(3)) > 1e-12 {
			t.Errorf("norm %v", m.Norm)
		}
		file, err := ood.Read(filepath.Join(folder, "u+1v+2.ood"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := spectral.NewProbe(data.Shape, f, 0.5)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range file.Lines {
			z := make([]float32, data.Shape.Len())
			signs := spectral.Signs(data.Shape, f, 3, uint64(data.IDs[i]))
			for _, s := range []int{signs, ^signs} {
				if ball > 0 && s != signs {
					continue // one side only
				}
				p.AddRealTo(z, data.Image(i), s&7)
				x := make([]float64, len(z))
				for j, v := range z {
					if x[j] = float64(v); ball > 0 {
						x[j] = min(max(x[j], 0), 1)
					}
				}
				y, err := n.Forward(x)
				if err != nil {
					t.Fatal(err)
				}
				if _, log := feedforward.LogConfidence(y); log > l.Upper {
					t.Errorf("ball %v, image %d: ln Conf %v at a probe, bound %v", ball, l.Image, log, l.Upper)
				}
			}
		}
	}
}

// A map that was interrupted goes on, the second metric reads its files, and GAUC is that of package ood.
func TestResumesAndReads(t *testing.T) {
	n, data, own := sensitive(t, spectral.Frequency{U: 1, V: 0}, 1), pictures("set/test", 8, 4, 1), pictures("own/test", 9, 30, 1)
	in, err := ood.Measure(t.Context(), n, own, ood.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := heatmap.Options{Metric: heatmap.Bound, Frequencies: []int{-1, 0, 1}, Probe: spectral.ProbeOptions{Epsilon: 0.1}, Method: feedforward.IBP}
	o.Folder = t.TempDir()
	whole, err := heatmap.Run(t.Context(), n, data, o)
	if err != nil {
		t.Fatal(err)
	}
	first := o.Folder
	o.Folder = t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	reports := 0
	o.Run.Workers = 1
	o.Run.Progress = func(progress.State) {
		if reports++; reports == 3 {
			cancel()
		}
	}
	if _, err := heatmap.Run(ctx, n, data, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("an interrupted map: %v", err)
	}
	o.Run.Progress = nil
	again, err := heatmap.Run(t.Context(), n, data, o)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(whole.Values, again.Values) {
		t.Errorf("%v, and after an interruption %v", whole.Values, again.Values)
	}
	files, _ := os.ReadDir(first)
	if len(files) != 5 {
		t.Errorf("%d files for the 5 frequencies that stand for 9", len(files))
	}
	for _, f := range files {
		a, _ := os.ReadFile(filepath.Join(first, f.Name()))
		b, _ := os.ReadFile(filepath.Join(o.Folder, f.Name()))
		if string(a) != string(b) {
			t.Errorf("%s: other bytes after an interruption", f.Name())
		}
	}
	o.Metric, o.In = heatmap.GAUC, in
	gauc, err := heatmap.Run(t.Context(), n, data, o)
	if err != nil {
		t.Fatal(err)
	}
	m, err := ood.Read(filepath.Join(first, "u+1v+0.ood"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := ood.Compare(t.Context(), ood.CompareOptions{}, in, m)
	if err != nil {
		t.Fatal(err)
	}
	if at := 2*3 + 1; gauc.Values[at] != *c.GAUC || !strings.Contains(c.Inputs, "frequency (1, 0)") {
		t.Errorf("GAUC %v, in the map %v; of %s", *c.GAUC, gauc.Values[at], c.Inputs)
	}
	o.Probe.Epsilon = 0.2
	if _, err := heatmap.Run(t.Context(), n, data, o); err == nil || !strings.Contains(err.Error(), "epsilon") {
		t.Errorf("a folder of another map: %v", err)
	}
	for _, bad := range []heatmap.Options{{Metric: "acr"}, {Metric: heatmap.GAUC}, {Metric: heatmap.Bound, In: in}, {Metric: heatmap.Bound, Ball: 2, Frequencies: []int{0}},
		{Metric: heatmap.Bound, Frequencies: []int{9}}, {Metric: heatmap.Bound, Frequencies: []int{0}, Probe: spectral.ProbeOptions{Epsilon: -1}}} {
		if _, err := heatmap.Run(t.Context(), n, data, bad); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

// Own images that do not fit are refused before anything is bounded.
func TestOwnImagesOfAMap(t *testing.T) {
	n, data, own := sensitive(t, spectral.Frequency{U: 1, V: 1}, 1), pictures("set/test", 5, 4, 1), pictures("own/test", 6, 4, 1)
	measured := func(n *feedforward.Network, images loaded) ood.Measurement {
		m, err := ood.Measure(t.Context(), n, images, ood.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return *m
	}
	unfinished := measured(n, own)
	unfinished.Claims = nil
	for want, in := range map[string]ood.Measurement{
		"is not finished":       unfinished,
		"is of another network": measured(sensitive(t, spectral.Frequency{U: 2, V: 1}, 1), own),
		"has the images of the": measured(n, data),
	} {
		o := heatmap.Options{Metric: heatmap.GAUC, Frequencies: []int{0, 1}, In: &in}
		o.Run.Progress = func(progress.State) { t.Errorf("%s: bounds are made", want) }
		if _, err := heatmap.Run(t.Context(), n, data, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected %q", err, want)
		}
	}
}
