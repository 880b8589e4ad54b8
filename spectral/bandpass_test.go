package spectral_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/spectral"
)

// A wave of 6 periods lies in the band that begins at 6 and not in the one that ends there; the mean is in both.
func TestBandPass(t *testing.T) {
	d, err := dataset.Open("synthetic/test[count=3]")
	if err != nil {
		t.Fatal(err)
	}
	wave := func(u int) *dataset.Dataset {
		return d.Changed(dataset.Change{Name: "wave", Apply: func(_ context.Context, shape pixel.Shape, ids []int, pixels []uint8) ([]uint8, error) {
			out := make([]uint8, len(pixels))
			for k := range out {
				row := k % shape.Len() / (shape.Width * shape.Channels)
				out[k] = uint8(math.Round(100 + 50*math.Cos(2*math.Pi*float64(u*row)/float64(shape.Height))))
			}
			return out, nil
		}})
	}
	load := func(d *dataset.Dataset) *dataset.Images {
		t.Helper()
		im, err := d.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return im
	}
	whole, inside, outside := load(wave(6)), load(spectral.BandPass(wave(6), 6, 7)), load(spectral.BandPass(wave(6), 0, 6))
	if inside.Name != "synthetic/test[count=3,wave,band=6-7]" || inside.Digest == outside.Digest {
		t.Errorf("%s, %s", inside.Name, inside.Digest)
	}
	for k, v := range whole.Pixels {
		if d := int(inside.Pixels[k]) - int(v); d < -1 || d > 1 {
			t.Fatalf("value %d inside its band: %d, want %d", k, inside.Pixels[k], v)
		}
		if o := outside.Pixels[k]; o < 99 || o > 101 {
			t.Fatalf("value %d outside its band: %d, want the mean, 100", k, o)
		}
	}
	// Neighbouring bands add up to the image and once more the mean.
	plain, coarse, fine := load(d), load(spectral.BandPass(d, 0, 4)), load(spectral.BandPass(d, 4, 24))
	far, clipped := 0, 0
	for c := range plain.Shape.Channels {
		mean := 0.
		for k := c; k < plain.Shape.Len(); k += plain.Shape.Channels {
			mean += float64(plain.Pixels[k]) / float64(plain.Shape.Height*plain.Shape.Width)
		}
		for k := c; k < plain.Shape.Len(); k += plain.Shape.Channels {
			x, y := coarse.Pixels[k], fine.Pixels[k]
			switch {
			case x == 0 || x == 255 || y == 0 || y == 255:
				clipped++
			case math.Abs(float64(x)+float64(y)-mean-float64(plain.Pixels[k])) > 1:
				far++
			}
		}
	}
	if far > 0 || clipped > plain.Shape.Len()/2 {
		t.Errorf("%d values of coarse and fine do not add up, %d are clipped", far, clipped)
	}
	for _, band := range [][2]int{{4, 4}, {-1, 3}, {5, 2}} {
		if _, err := spectral.BandPass(d, band[0], band[1]).Load(t.Context()); err == nil {
			t.Errorf("band %v: no error", band)
		}
	}
}

// Student's sleep data (Biometrika 1908), whose intervals R's t.test prints: images of one pixel have one ring.
func TestMinus(t *testing.T) {
	extra := [][]float32{{.7, -1.6, -.2, -1.2, -.1, 3.4, 3.7, .8, 0, 2}, {1.9, .8, 1.1, .1, -.1, 4.4, 5.5, 1.6, 4.6, 3.4}}
	shape := pixel.Shape{Height: 1, Width: 1, Channels: 1}
	of := func(values []float32, from int) *spectral.Spectrum {
		source := spectral.Real(shape, nil)
		moved := make([]float32, len(values))
		for i, v := range values {
			moved[i] = v + 2 // amplitudes have no sign
			source.IDs = append(source.IDs, from+i)
		}
		ids := source.IDs
		source = spectral.Real(shape, moved)
		source.IDs = ids
		s, err := spectral.MeanSpectrum(t.Context(), source, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct {
		from      int
		paired    bool
		low, high float64
	}{{10, false, -3.3654832, 0.2054832}, {0, true, -2.4598858, -0.7001142}} {
		d, err := of(extra[0], 0).Minus(of(extra[1], c.from))
		if err != nil {
			t.Fatal(err)
		}
		if r := d.Rings[0]; len(d.Rings) != 1 || d.Paired != c.paired || math.Abs(r.Low-c.low) > 1e-6 || math.Abs(r.High-c.high) > 1e-6 {
			t.Errorf("%+v, want %v to %v", d, c.low, c.high)
		}
	}
	small, _ := spectral.MeanSpectrum(t.Context(), spectral.Real(shape, []float32{1, 2}), nil)
	if _, err := small.Minus(of(extra[0], 0)); err == nil {
		t.Error("a spectrum without images one by one: no error")
	}
	if _, err := small.Outliers(1); err == nil {
		t.Error("outliers of a spectrum without images one by one: no error")
	}
}

// Where all rings are alike, all intervals together fail for 5 of 100 pairs of samples at most (binomial, 3 of 1,000
// trials of this test would fail at this limit).
func TestMinusHoldsForAllRings(t *testing.T) {
	shape := pixel.Shape{Height: 8, Width: 8, Channels: 1}
	r := rand.New(rand.NewPCG(3, 4))
	sample := func(from int) *spectral.Spectrum {
		values := make([]float32, 30*shape.Len())
		for k := range values {
			values[k] = float32(r.NormFloat64())
		}
		source := spectral.Real(shape, values)
		for i := range 30 {
			source.IDs = append(source.IDs, from+i)
		}
		s, err := spectral.MeanSpectrum(t.Context(), source, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	wrong := 0
	for range 400 {
		d, err := sample(0).Minus(sample(100))
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(d.Rings, func(r spectral.RingDifference) bool { return r.Low > 0 || r.High < 0 }) {
			wrong++
		}
	}
	if wrong > 33 || wrong < 4 { // 20 expected at most; far fewer would be a band that is too wide
		t.Errorf("%d of 400 bands miss zero", wrong)
	}
}

// One of the images has three times the amplitude at 5 periods, one has nothing beside its mean.
func TestOutliers(t *testing.T) {
	shape := pixel.Shape{Height: 16, Width: 16, Channels: 3}
	r := rand.New(rand.NewPCG(5, 6))
	values := make([]float32, 40*shape.Len())
	for k := range values {
		values[k] = float32(r.NormFloat64() * .05)
		image, row := k/shape.Len(), k%shape.Len()/48
		if image == 7 {
			values[k] += .5 * float32(math.Cos(2*math.Pi*5*float64(row)/16))
		}
		if image == 12 {
			values[k] = .5
		}
	}
	source := spectral.Real(shape, values)
	for i := range 40 {
		source.IDs = append(source.IDs, 100+i)
	}
	s, err := spectral.MeanSpectrum(t.Context(), source, nil)
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Outliers(2)
	if err != nil || len(found) != 2 {
		t.Fatal(found, err)
	}
	slices.SortFunc(found, func(a, b spectral.Outlier) int { return a.Image - b.Image })
	if a, b := found[0], found[1]; a.Image != 107 || a.Frequency != 5 || a.Score < 3.5 || b.Image != 112 || b.Score > -3.5 {
		t.Errorf("%+v, want 107 above at 5 periods and 112 below", found)
	}
	for k, ring := range s.Profile() {
		if plain := s.Amplitude.Profile()[k]; ring.Mean != plain.Mean || !(ring.Low <= ring.High) || ring.High == 0 {
			t.Errorf("ring %+v with the middle 90 %% of the images, want the mean of %+v", ring, plain)
		}
	}
	// By hand: of the amplitudes at 5 periods, sorted, the 2nd and the 38th of 40.
	var fifth []float64
	for i := range 40 {
		one := spectral.Real(shape, values[i*shape.Len():][:shape.Len()])
		m, err := spectral.MeanSpectrum(t.Context(), one, nil)
		if err != nil {
			t.Fatal(err)
		}
		fifth = append(fifth, m.Amplitude.Profile()[5].Mean)
	}
	slices.Sort(fifth)
	if ring := s.Profile()[5]; math.Abs(ring.Low-fifth[1]) > 1e-12 || math.Abs(ring.High-fifth[37]) > 1e-12 {
		t.Errorf("the middle 90 %% at 5 periods: %v to %v, want %v to %v", ring.Low, ring.High, fifth[1], fifth[37])
	}
}
