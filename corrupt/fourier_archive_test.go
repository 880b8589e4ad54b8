package corrupt

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/certspec/certspec/pixel"
)

// The distances are worked out by hand from spec §5.3: bin (u, v) has the centre (u+1, v+1) and corners half a period away.
func TestCellDistance(t *testing.T) {
	square := pixel.Shape{Height: 32, Width: 32, Channels: 3}
	for _, c := range []struct {
		u, v   int
		centre float64
		want   float64
	}{
		{-1, -1, 1, 1 - math.Sqrt(.5)},        // the archive's centre, whose farthest corner is at √½
		{2, -1, 3, 0},                         // (3, 0)
		{3, 3, 5, 0},                          // (4, 4), from 4.95 to 6.36
		{0, 0, 5, 5 - 1.5*math.Sqrt2},         // (1, 1)
		{15, 15, 3, 15.5*math.Sqrt2 - 3},      // (16, 16), whose nearest corner is (15.5, 15.5)
		{-16, -16, 16, 14.5*math.Sqrt2 - 16},  // (−15, −15)
		{-1, 4, 16, 16 - math.Hypot(.5, 5.5)}, // (0, 5)
		{-16, 0, 1, math.Hypot(14.5, .5) - 1}, // (−15, 1)
	} {
		if got := cellDistance(square, c.u, c.v, c.centre); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("(%d, %d) from %v: %v, want %v", c.u, c.v, c.centre, got, c.want)
		}
	}
}

// The definition of spec §5.3 with sums over all frequencies in complex numbers, from the same draws.
func TestArchiveNoise(t *testing.T) {
	const height, width, channels = 6, 8, 3
	shape := pixel.Shape{Height: height, Width: width, Channels: channels}
	s := Setting{Name: "fourier", Centre: 2, Decay: 1, Norm: .8, Archive: true}
	src := scenes(shape, 1)
	got := corrupted(t, s, shape, testKey, src, 0, 1)
	r := newStream(streamKey(F, s, testKey), 0)
	size := float64(height*width) / 1024
	phase := make([]float64, width)
	for v := range phase {
		phase[v] = 2 * math.Pi * r.uniform()
	}
	difference, sum := make([]float64, len(src)), 0.0
	for c := range channels {
		var z [height][width]complex128 // X + δ, from the lowest frequency on
		for i := range height {
			for j := range width {
				u, v := i-height/2, j-width/2
				for a := range height {
					for b := range width {
						z[i][j] += complex(float64(src[(a*width+b)*channels+c])/255, 0) * cmplx.Rect(1, -2*math.Pi*(float64(u*a)/height+float64(v*b)/width))
					}
				}
				amplitude := min(max(cmplx.Abs(z[i][j]), 20*size), 200*size) / (cellDistance(shape, u, v, 2) + 1) * (.8 + .4*r.uniform())
				z[i][j] += cmplx.Rect(amplitude, phase[j])
			}
		}
		for a := range height {
			for b := range width {
				var x complex128
				for i := range height {
					for j := range width {
						x += z[i][j] * cmplx.Rect(1./(height*width), 2*math.Pi*(float64((i-height/2)*a)/height+float64((j-width/2)*b)/width))
					}
				}
				at := (a*width+b)*channels + c
				difference[at] = min(cmplx.Abs(x), 1) - float64(src[at])/255
				sum += difference[at] * difference[at]
			}
		}
	}
	for i, b := range src {
		want := 255 * min(max(float64(b)/255+.8/math.Sqrt(sum)*difference[i], 0), 1)
		if d := want - float64(got[i]); d < -1e-9 || d >= 1+1e-9 { // truncated
			t.Fatalf("value %d is %d, want ⌊%v⌋", i, got[i], want)
		}
	}
}

// All columns of the noise have one phase, so that it differs from the paper's noise, whose stream is another one.
func TestArchiveIsAnotherSetting(t *testing.T) {
	paper := Setting{Name: "fourier", Centre: 3, Decay: .5, Norm: 8}
	archive := paper
	archive.Archive = true
	if streamKey(F, paper, testKey) == streamKey(F, archive, testKey) || archive.String() != "fourier:fc=3,a=0.5,eps=8,archive" {
		t.Errorf("%s, %s", streamKey(F, archive, testKey), archive)
	}
	if back, err := Parse(archive.String()); err != nil || back != archive {
		t.Errorf("%+v, %v", back, err)
	}
	for _, text := range []string{"fog:3,archive", "fourier:fc=3,a=1,eps=8,archive=1", "fourier:fc=3,archive,archive"} {
		if s, err := Parse(text); err == nil {
			t.Errorf("%s is %+v", text, s)
		}
	}
	if _, err := New(Setting{Name: "fog", Severity: 3, Archive: true}, colour32, testKey); err == nil {
		t.Error("fog as in the archive: no error")
	}
}
