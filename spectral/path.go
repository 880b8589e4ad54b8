package spectral

import (
	"fmt"
	"math"

	"github.com/certspec/certspec/pixel"
)

// Path gives the images on a path between two images. It holds the pair that it was set to and is not safe for
// concurrent use. Images are HWC, in units of the full range; those of a path are not clipped.
type Path interface {
	Shape() pixel.Shape
	// Set goes to another pair and says how many points its path has; 0 where it has none.
	Set(x0, x1 []float64) (points int, err error)
	// Point writes the j-th point of the path to dst.
	Point(dst []float64, j int)
}

// Normalization is the space (x − Mean)/Std per channel in which a path is made; its zero value leaves images as
// they are. It matters to amplitude and phase paths through the mean of each channel only, and to the spacing of pixel
// paths.
type Normalization struct{ Mean, Std []float64 }

// CIFAR10 is the normalization of the released code of Fridovich-Keil et al. (2022), and ImageNet the usual one.
var (
	CIFAR10  = Normalization{[]float64{.491, .482, .447}, []float64{.247, .243, .262}}
	ImageNet = Normalization{[]float64{.485, .456, .406}, []float64{.229, .224, .225}}
)

// space is a normalization of images of one shape.
type space struct {
	shape     pixel.Shape
	mean, std []float64
}

func newSpace(shape pixel.Shape, n Normalization) (space, error) {
	if !shape.Valid() {
		return space{}, &InputError{"shape of the images", shape.String(), "positive sides"}
	}
	s := space{shape, n.Mean, n.Std}
	if n.Mean == nil && n.Std == nil {
		s.mean, s.std = make([]float64, shape.Channels), make([]float64, shape.Channels)
		for c := range s.std {
			s.std[c] = 1
		}
	}
	if len(s.mean) != shape.Channels || len(s.std) != shape.Channels {
		return s, &InputError{"normalization", fmt.Sprintf("%d means and %d deviations", len(n.Mean), len(n.Std)),
			fmt.Sprintf("%d of each, one per channel", shape.Channels)}
	}
	for c := range s.std {
		if !(s.std[c] > 0) || math.IsInf(s.std[c], 0) || math.IsNaN(s.mean[c]) || math.IsInf(s.mean[c], 0) {
			return s, &InputError{fmt.Sprintf("normalization of channel %d", c), fmt.Sprintf("mean %v, deviation %v",
				s.mean[c], s.std[c]), "finite numbers and a deviation above 0"}
		}
	}
	return s, nil
}

func (s *space) Shape() pixel.Shape { return s.shape }

// check refuses images of another length and values that are not finite.
func (s *space) check(images ...[]float64) error {
	for i, x := range images {
		if len(x) != s.shape.Len() {
			return &InputError{"image on a path", fmt.Sprintf("%d values", len(x)), fmt.Sprintf("%d values of %v",
				s.shape.Len(), s.shape)}
		}
		for k, v := range x {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return &InputError{fmt.Sprintf("value %d of image %d of a pair", k, i), fmt.Sprint(v),
					"a finite number"}
			}
		}
	}
	return nil
}

// plane writes the normalized channel c of an image to dst.
func (s *space) plane(dst, image []float64, c int) {
	for k := range dst {
		dst[k] = (image[k*s.shape.Channels+c] - s.mean[c]) / s.std[c]
	}
}

// pixelPath: see NewPixel.
type pixelPath struct {
	space
	from, step []float64
}

// NewPixel makes pixel paths between images of one shape: straight, at unit Euclidean spacing in normalized space, as
// in the released code of Fridovich-Keil et al. (2022). With d = ‖x1 − x0‖,
//
//	x_t = x0 + t (x1 − x0)/d,  t = 0, 1, 2, … < d.
//
// It has ⌈d⌉ points and ends before x1.
func NewPixel(shape pixel.Shape, n Normalization) (Path, error) {
	s, err := newSpace(shape, n)
	if err != nil {
		return nil, err
	}
	return &pixelPath{s, make([]float64, shape.Len()), make([]float64, shape.Len())}, nil
}

func (p *pixelPath) Set(x0, x1 []float64) (int, error) {
	if err := p.check(x0, x1); err != nil {
		return 0, err
	}
	sum := 0.0
	for k := range x0 {
		d := (x1[k] - x0[k]) / p.std[k%p.shape.Channels]
		sum += d * d
	}
	d := math.Sqrt(sum)
	if d == 0 {
		return 0, nil
	}
	if d > maxPoints {
		return 0, &InputError{"distance of two images", fmt.Sprint(d),
			fmt.Sprintf("at most %d, for a path of unit spacing", maxPoints)}
	}
	copy(p.from, x0)
	for k := range x0 {
		p.step[k] = (x1[k] - x0[k]) / d
	}
	return int(math.Ceil(d)), nil
}

func (p *pixelPath) Point(dst []float64, j int) {
	for k, x := range p.from {
		dst[k] = x + float64(j)*p.step[k]
	}
}

// maxPoints bounds the length of a path.
const maxPoints = 1 << 20
