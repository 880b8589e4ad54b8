package nb

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/internal/rs/heatmap"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/spectral"
)

// Waves says how HeatMap disturbs images. The zero value gives a map of errors, by waves of the usual norm.
type Waves struct {
	Epsilon float64 // ℓ₂ norm of a wave in each channel, 1 = full range of a value; default 4
	Most    int     // frequencies (u, v) with |u|, |v| up to it; default 7
	Sigma   float64 // 0: the share of errors; above 0: the average certified radius under noise of this σ
	N       int     // with Sigma: most noise samples behind a bound; default 1,000
	Seed    uint64  // of the waves' signs
}

// HeatMap adds a wave of each frequency to all images, and returns what a model keeps of them: the share of errors, or
// with Waves.Sigma the average certified radius. What is computed is kept in a folder of out, as Certify keeps ledgers;
// after an interrupt it goes on. An error ends the cell.
func HeatMap(m classifier.Classifier, data *dataset.Dataset, w Waves) *spectral.Map {
	made, err := heatMap(m, data, w)
	end(err)
	return made
}

func heatMap(m classifier.Classifier, data *dataset.Dataset, w Waves) (*spectral.Map, error) {
	if w.Most < 0 || !(w.Sigma >= 0) || !(w.Epsilon >= 0) {
		return nil, fmt.Errorf("nb.HeatMap: Most %d, Sigma %v, Epsilon %v; expected none below 0", w.Most, w.Sigma,
			w.Epsilon)
	}
	ctx := Context()
	run := Smoothing{Sigma: w.Sigma, N: cmp.Or(w.N, 1000)}.options()
	images, err := data.Index(ctx, run.Progress)
	if err != nil {
		return nil, err
	}
	// images may be too small for all of them
	most := min(cmp.Or(w.Most, 7), images.Shape.Height/2, images.Shape.Width/2)
	o := heatmap.Options{Metric: heatmap.Error, Frequencies: spectral.Window(most), Run: run, Progress: run.Progress,
		Probe: spectral.ProbeOptions{Epsilon: w.Epsilon, Seed: w.Seed}}
	if w.Sigma > 0 {
		o.Metric = heatmap.ACR
		if ctx, err = look(ctx, m, images, run); err != nil {
			return nil, err
		}
	}
	w.Epsilon = cmp.Or(w.Epsilon, spectral.DefaultEpsilon)
	if o.Folder, err = kept(m, images, run, []any{"waves", w.Epsilon, w.Seed}); err != nil {
		return nil, err
	}
	o.Folder += "-waves"
	made, err := heatmap.Run(ctx, m, data, o)
	if err != nil {
		return nil, err
	}
	return made.Map, nil
}

// Spectrum returns the mean amplitude and power of the images of a set at each frequency. Its methods compare it with
// another one (Minus) and give its profile by frequency. An error ends the cell.
func Spectrum(data rs.Source) *spectral.Spectrum {
	s, err := spectrum(data)
	end(err)
	return s
}

func spectrum(data rs.Source) (*spectral.Spectrum, error) {
	images, err := data.Load(Context())
	if err != nil {
		return nil, err
	}
	source := spectral.Bytes(images.Shape, images.Pixels)
	source.IDs = images.IDs
	s, err := spectral.MeanSpectrum(Context(), source, Progress())
	if err != nil {
		return nil, err
	}
	s.Name = images.Name
	return s, nil
}

// Band returns the data set of the same images with the frequencies from ≤ f < to alone, in periods per image; the mean
// of each channel stays. See spectral.BandPass.
func Band(data *dataset.Dataset, from, to int) *dataset.Dataset {
	return spectral.BandPass(data, from, to)
}

// Profile draws spectra, their differences or maps by the distance from frequency 0: the mean of each ring. The band of
// a spectrum is the middle 90 % of its images; that of a map of radii, or of a difference, is a 95 % interval.
func Profile(of ...interface{ Profile() []spectral.Ring }) *Figure {
	if len(of) == 0 {
		end(fmt.Errorf("nb.Profile: nothing to draw; expected spectra, differences or maps of frequencies"))
		return nil
	}
	axes := Axes{X: "frequency (periods per image; per shorter side where sides differ)", LogY: true}
	var names, bands []string
	var lines []Line
	for _, one := range of {
		line, band := Line{}, ""
		switch v := one.(type) {
		case *spectral.Spectrum:
			line.Name, band, axes.Y = v.Name, "band: the middle 90 % of the images", "mean amplitude"
		case *spectral.SpectrumDifference:
			line.Name, band = "first less second", "band: 95 % interval, all frequencies together"
			axes.Y, axes.LogY = "difference of mean amplitudes", false
		case *spectral.Map:
			line.Name, band, axes.Y = v.Measure, "band: 95 % interval over images", cmp.Or(v.Measure, "mean of a ring")
			axes.LogY = false
		}
		rings := one.Profile()
		for _, r := range rings {
			line.X, line.Y = append(line.X, float64(r.Frequency)), append(line.Y, r.Mean)
			line.Low, line.High = append(line.Low, r.Low), append(line.High, r.High)
		}
		if !slices.ContainsFunc(rings, func(r spectral.Ring) bool { return r.Low != 0 || r.High != 0 }) {
			line.Low, line.High, band = nil, nil, ""
		}
		if band != "" && !slices.Contains(bands, band) {
			bands = append(bands, band)
		}
		names, lines = append(names, line.Name), append(lines, line)
	}
	for i, name := range shortNames(names) {
		lines[i].Name = name
	}
	axes.Title = strings.Join(append([]string{upper(axes.Y) + " by frequency"}, bands...), "\n")
	axes.Caption = fmt.Sprintf("%s against frequency: %s", axes.Y, strings.Join(append(shortNames(names), bands...), "; "))
	if len(lines) == 1 {
		lines[0].Name = ""
	}
	return Lines(axes, lines...)
}

// shortNames are names of data sets as people say them, with what selects their images where they are else the same.
func shortNames(names []string) []string {
	times := map[string]int{}
	for _, name := range names {
		times[printable.DataName(name)]++
	}
	short := make([]string, len(names))
	for i, name := range names {
		short[i] = printable.DataName(name)
		if _, list, found := strings.Cut(name, "["); found && times[short[i]] > 1 {
			short[i] += "[" + list
		}
	}
	return short
}

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// differenceFigures are the map and the profile of a difference of spectra.
func differenceFigures(d *spectral.SpectrumDifference) []any {
	most := 0.0
	for _, v := range d.Map.Values {
		most = max(most, math.Abs(v))
	}
	how := "of two samples"
	if d.Paired {
		how = "paired by image"
	}
	m := HeatMaps(fmt.Sprintf("mean amplitude of %d images less that of %d; both ends of the scale are as far from 0",
		d.Images[0], d.Images[1]), -most, most, []string{"first less second"}, &d.Map)
	profile := Profile(d)
	shown := 0
	for _, r := range d.Rings {
		if r.Low > 0 || r.High < 0 {
			shown++
		}
	}
	t := Columns("frequency", "first", "second", "difference", "interval", "verdict")
	for _, r := range d.Rings {
		t.Add(r.Frequency, r.A, r.B, r.Difference, fmt.Sprintf("%.4g to %.4g", r.Low, r.High), direction(r.Low, r.High))
	}
	t.Notes = []string{fmt.Sprintf("Mean amplitudes of rings, %s. The intervals hold all %d differences together with "+
		"95 %%; %d of them are without 0.", how, len(d.Rings), shown)}
	return []any{m, profile, Fold("The numbers", t)}
}

// span says the ends of an interval.
func span(low, high float64) string { return fmt.Sprintf("%.3f to %.3f", low, high) }

// direction is the verdict on a difference, first less second, from its interval.
func direction(low, high float64) string {
	switch {
	case low > 0:
		return "higher"
	case high < 0:
		return "lower"
	}
	return "open"
}

// Outliers draws the images of a set, at most count, that are least like the others by their amplitudes, with the
// frequency where they differ most and by how much; see spectral.Spectrum.Outliers.
func Outliers(data *dataset.Dataset, count int) *Figure {
	f, err := outliers(data, count)
	end(err)
	return f
}

func outliers(data *dataset.Dataset, count int) (*Figure, error) {
	s, err := spectrum(data)
	if err != nil {
		return nil, err
	}
	found, err := s.Outliers(count)
	if err != nil {
		return nil, err
	}
	images, err := data.Load(Context())
	if err != nil {
		return nil, err
	}
	var tiles []tile
	for _, o := range found {
		at, than := images.Index(o.Image), "more"
		if o.Score < 0 {
			than = "less"
		}
		tiles = append(tiles, tile{image: images.Image(at), words: []string{
			fmt.Sprintf("image %d, %s", o.Image, className(images, images.Labels[at])),
			fmt.Sprintf("%s at %d periods", than, o.Frequency),
			fmt.Sprintf("score %+.1f", o.Score)}})
	}
	f := mosaic(fmt.Sprintf("The %d of %d images of %s least like the others by frequency; a score beyond ±3.5 is unusual",
		len(tiles), images.Len(), printable.DataName(images.Name)), images.Shape, [][]tile{tiles}, nil)
	f.numbers = func() *Tabular { return Table(found) }
	return f, nil
}

// Pictures draws the same images, at most count, of some data sets, a row for each, with the share of values at the
// ends of the range, 0 and 255: what a filter has clipped lies there. An error ends the cell.
func Pictures(count int, sets ...*dataset.Dataset) *Figure {
	f, err := pictures(Context(), count, sets)
	end(err)
	return f
}

func pictures(ctx context.Context, count int, sets []*dataset.Dataset) (*Figure, error) {
	if count < 1 || len(sets) == 0 {
		return nil, fmt.Errorf("nb.Pictures: %d images of %d data sets; expected at least one of each", count, len(sets))
	}
	var all []*dataset.Images
	var names []string
	for _, set := range sets {
		some, err := atMost(ctx, set, count)
		if err != nil {
			return nil, err
		}
		images, err := some.Load(ctx)
		if err != nil {
			return nil, err
		}
		all, names = append(all, images), append(names, set.String())
	}
	shape := all[0].Shape
	var rows [][]tile
	names = shortNames(names)
	for i, images := range all {
		if images.Shape != shape {
			return nil, fmt.Errorf("nb.Pictures: images of %v and of %v; expected one size, e.g. by [resize=…] behind "+
				"the name of a set", shape, images.Shape)
		}
		var row []tile
		for k := range min(images.Len(), count) {
			row = append(row, tile{image: images.Image(k)})
			if i == 0 {
				row[k].head = className(images, images.Labels[k])
			}
		}
		rows = append(rows, row)
		names[i] += fmt.Sprintf(": %.1f %%", 100*atEnds(images.Pixels))
	}
	return mosaic(fmt.Sprintf("%d images; beside each row the share of values at the ends of the range", len(rows[0])),
		shape, rows, names), nil
}

// atEnds is the share of values that are 0 or the largest.
func atEnds(values []uint8) float64 {
	n := 0
	for _, v := range values {
		if v == 0 || v == pixel.Steps {
			n++
		}
	}
	return float64(n) / float64(max(len(values), 1))
}
