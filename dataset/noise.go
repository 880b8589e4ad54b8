package dataset

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/pixel"
)

// noiseSet is images without a subject, of any shape: foreign to every network. They are a function
// of kind, shape, index and seed alone.
//
// uniform: every value drawn by itself from 0 to 255.
//
// smooth: that, blurred in each channel by a Gaussian of σ drawn from [1, 2.5], radius ⌊4σ + ½⌋,
// edges repeated; then the whole image is stretched so that its smallest value is 0 and its largest
// 255, and cut to bytes (Hein, Andriushchenko and Bitterwolf 2019).
type noiseSet struct {
	smooth bool
	shape  pixel.Shape
	count  int
	seed   uint64
}

// parseNoise reads the part of a name after "noise:", e.g. "smooth,32x32x3,n=30000,seed=1".
func parseNoise(text string) (*noiseSet, error) {
	parts := strings.Split(text, ",")
	n := &noiseSet{smooth: parts[0] == "smooth", count: 10_000}
	if parts[0] != "uniform" && !n.smooth || len(parts) < 2 {
		return nil, fmt.Errorf("expected noise:uniform,HxWxC or noise:smooth,HxWxC, e.g. noise:smooth,32x32x3, then " +
			"n=NUMBER or seed=NUMBER where wanted")
	}
	s := &n.shape
	if k, err := fmt.Sscanf(parts[1]+"\n", "%dx%dx%d\n", &s.Height, &s.Width, &s.Channels); k != 3 || err != nil ||
		!s.Valid() || max(s.Height, s.Width) > maxSide || s.Channels != 1 && s.Channels != 3 {
		return nil, fmt.Errorf("shape %q; expected height, width and channels (1 or 3), e.g. 28x28x1", parts[1])
	}
	for _, option := range parts[2:] {
		key, value, _ := strings.Cut(option, "=")
		var err error
		switch key {
		case "n":
			n.count, err = strconv.Atoi(value)
			if err == nil && n.count < 1 {
				err = fmt.Errorf("%d images", n.count)
			}
		case "seed":
			n.seed, err = strconv.ParseUint(value, 10, 64)
		default:
			err = fmt.Errorf("unknown option")
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %v; expected n=NUMBER or seed=NUMBER", option, err)
		}
	}
	return n, checkRoom(n.count, n.shape)
}

func (n *noiseSet) read(ctx context.Context) (*records, error) {
	size := n.shape.Len()
	r := &records{labels: make([]int, n.count), block: block{shape: n.shape, pixels: make([]uint8, n.count*size)}}
	for i := range n.count {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.labels[i] = -1
		random := newStream(n.seed+3<<32, i)
		image := r.pixels[i*size : (i+1)*size]
		for k := range image {
			image[k] = uint8(random.below(256))
		}
		if n.smooth {
			smoothen(image, n.shape, random)
		}
	}
	return r, nil
}

// smoothen works in integers, so that the bytes are the same everywhere.
func smoothen(image []uint8, s pixel.Shape, random *stream) {
	const one = 1 << 16
	sigma := 1 + 1.5*float64(random.below(one))/one
	radius := int(4*sigma + 0.5)
	weights := make([]int64, 2*radius+1)
	for k := range weights {
		d := float64(k-radius) / sigma
		weights[k] = int64(math.Round(one * math.Exp(-d*d/2)))
	}
	from := make([]int64, len(image))
	for i, v := range image {
		from[i] = int64(v)
	}
	to := make([]int64, len(image))
	// Rows, then columns; the sums are not divided, as the image is stretched anyway. They stay below 2⁸·(2¹⁶·7)².
	blur := func(length, stride int) {
		for i := range to {
			at := i / stride % length
			base := i - at*stride
			sum := int64(0)
			for k, w := range weights {
				sum += w * from[base+min(max(at+k-radius, 0), length-1)*stride]
			}
			to[i] = sum
		}
		copy(from, to)
	}
	blur(s.Width, s.Channels)
	blur(s.Height, s.Width*s.Channels)
	low, high := slices.Min(from), slices.Max(from)
	for i, v := range from {
		image[i] = uint8((v - low) * 255 / max(high-low, 1))
	}
}
