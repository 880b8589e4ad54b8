package augment

import (
	"fmt"
	"math"

	"github.com/certspec/certspec/internal/pillow"
	"github.com/certspec/certspec/pixel"
)

// How the chains of AugMix are made.
const (
	// augMixOriginal starts each chain from the clean image, with operations drawn with
	// replacement, each at the level uniform in (0.1, severity).
	augMixOriginal = "original"
	// archiveVariant mixes as the archive of FourierMix does. A chain has three different operations; the first 1 to 3
	// are used, each with a severity uniform in 1 … 5. A chain goes on from the end of the one before.
	archiveVariant = "archive"
)

// Which operations AugMix draws from.
const (
	// ninePool holds the operations that share nothing with the corruptions of CIFAR-C.
	ninePool = "nine"
	// allOperations are the nine and colour, contrast, brightness and sharpness, which overlap with CIFAR-C.
	allOperations = "all"
)

// AugMix is (1−m)·x + m·Σ w_i·chain_i(x), with w ~ Dirichlet(1, …, 1) over the chains and m ~ Beta(1, 1) (Hendrycks et
// al. 2019, algorithm 1). A chain is one to three operations of Pillow on bytes, chosen uniformly. The image must be
// bytes over 255 with 1 or 3 channels. The view is in [0, 1], not rounded to bytes.
//
// The stream gives w and m. Then it gives for each chain its depth, and for each operation its number, its level, and
// the sign where it has one. In the archive's form it gives depth, the three numbers, then severity, level and sign of
// each.
type AugMix struct {
	Width      int     // chains; 0 means 3
	Depth      int     // operations of a chain; 0 means uniform in 1, 2, 3
	Severity   float64 // greatest level, up to 10; 0 means 3; not used in the archive's form
	Variant    string  // how chains are made: original (also empty) or archive
	Operations string  // nine (also empty) or all
}

const (
	defaultWidth    = 3
	defaultSeverity = 3
	greatestDepth   = 3
	leastLevel      = 0.1
)

func (a AugMix) Apply(im Image, random *Stream) error {
	if err := a.check(); err != nil {
		return err
	}
	r := byteWorkspaces.Get().(*byteWorkspace)
	defer byteWorkspaces.Put(r)
	r.fit(im.Shape)
	if err := im.bytes("augmix", r.clean); err != nil {
		return err
	}
	width := orDefault(a.Width, defaultWidth)
	weights := make([]float64, width)
	random.Simplex(weights)
	m := random.Float64()
	for i, v := range r.clean {
		r.sum[i] = float64((1 - m) * float64(v))
	}
	copy(r.now, r.clean)
	for _, w := range weights {
		a.chain(r, im.Shape, random)
		share := float64(m * w)
		for i, v := range r.now {
			r.sum[i] += float64(share * float64(v))
		}
	}
	for i, v := range r.sum {
		im.Values[i] = float32(v / pixel.Steps)
	}
	return nil
}

// chain leaves the end of the next chain in r.now.
func (a AugMix) chain(r *byteWorkspace, shape pixel.Shape, random *Stream) {
	operations := augMixOperations
	if orDefault(a.Operations, ninePool) == ninePool {
		operations = operations[:nineOperations]
	}
	archive := a.Variant == archiveVariant
	if !archive {
		copy(r.now, r.clean)
	}
	depth := a.Depth
	if depth == 0 {
		depth = 1 + random.IntN(greatestDepth)
	}
	var order []int
	if archive {
		order = make([]int, len(operations))
		for i := range order {
			order[i] = i
		}
		for i := range greatestDepth {
			j := i + random.IntN(len(order)-i)
			order[i], order[j] = order[j], order[i]
		}
	}
	for i := range depth {
		severity := orDefault(a.Severity, defaultSeverity)
		var number int
		if archive {
			number = order[i]
			severity = float64(1 + random.IntN(5))
		} else {
			number = random.IntN(len(operations))
		}
		operations[number](r.next, r.now, shape, random.Between(leastLevel, severity), random)
		r.now, r.next = r.next, r.now
	}
}

// nineOperations of augMixOperations share nothing with CIFAR-C.
const nineOperations = 9

// augMixOperations are functions of a level; parameters are truncated as in the original code.
var augMixOperations = []func(dst, src []uint8, shape pixel.Shape, level float64, random *Stream){
	func(dst, src []uint8, shape pixel.Shape, _ float64, _ *Stream) { pillow.AutoContrast(dst, src, shape) },
	func(dst, src []uint8, shape pixel.Shape, _ float64, _ *Stream) { pillow.Equalize(dst, src, shape) },
	func(dst, src []uint8, shape pixel.Shape, level float64, _ *Stream) {
		pillow.Posterize(dst, src, shape, 4-int(level*4/10))
	},
	func(dst, src []uint8, shape pixel.Shape, level float64, random *Stream) {
		pillow.Rotate(dst, src, shape, random.Sign()*math.Trunc(level*30/10), pillow.Bilinear)
	},
	func(dst, src []uint8, shape pixel.Shape, level float64, _ *Stream) {
		pillow.Solarize(dst, src, shape, 256-math.Trunc(level*256/10))
	},
	func(dst, src []uint8, shape pixel.Shape, level float64, random *Stream) {
		pillow.Affine(dst, src, shape, [6]float64{1, random.Sign() * (level * 0.3 / 10), 0, 0, 1, 0}, pillow.Bilinear)
	},
	func(dst, src []uint8, shape pixel.Shape, level float64, random *Stream) {
		pillow.Affine(dst, src, shape, [6]float64{1, 0, 0, random.Sign() * (level * 0.3 / 10), 1, 0}, pillow.Bilinear)
	},
	func(dst, src []uint8, shape pixel.Shape, level float64, random *Stream) {
		pixels := random.Sign() * math.Trunc(level*(float64(shape.Width)/3)/10)
		pillow.Affine(dst, src, shape, [6]float64{1, 0, pixels, 0, 1, 0}, pillow.Bilinear)
	},
	func(dst, src []uint8, shape pixel.Shape, level float64, random *Stream) {
		pixels := random.Sign() * math.Trunc(level*(float64(shape.Height)/3)/10)
		pillow.Affine(dst, src, shape, [6]float64{1, 0, 0, 0, 1, pixels}, pillow.Bilinear)
	},
	func(dst, src []uint8, shape pixel.Shape, level float64, _ *Stream) {
		pillow.Color(dst, src, shape, enhancement(level))
	},
	func(dst, src []uint8, shape pixel.Shape, level float64, _ *Stream) {
		pillow.Contrast(dst, src, shape, enhancement(level))
	},
	func(dst, src []uint8, shape pixel.Shape, level float64, _ *Stream) {
		pillow.Brightness(dst, src, shape, enhancement(level))
	},
	func(dst, src []uint8, shape pixel.Shape, level float64, _ *Stream) {
		pillow.Sharpness(dst, src, shape, enhancement(level))
	},
}

func enhancement(level float64) float64 { return float64(level*1.8/10) + 0.1 }

func (a AugMix) check() error {
	bad := func(key string, v any, expected string) error {
		return &OptionError{"augmix", fmt.Sprintf("%s is %v", key, v), expected}
	}
	if err := known("augmix", "variant", a.Variant, augMixOriginal, archiveVariant); err != nil {
		return err
	}
	if err := known("augmix", "operations", a.Operations, ninePool, allOperations); err != nil {
		return err
	}
	switch {
	case a.Width < 0 || a.Width > 1<<10:
		return bad("width", a.Width, "1 to 1024 chains")
	case a.Depth < 0 || a.Depth > 1<<10:
		return bad("depth", a.Depth, "1 to 1024 operations")
	case a.Depth > greatestDepth && a.Variant == archiveVariant:
		return bad("depth", a.Depth, "1 to 3 operations in the archive's form")
	case a.Severity != 0 && !(a.Severity >= leastLevel && a.Severity <= 10):
		return bad("severity", a.Severity, "a level from 0.1 to 10")
	}
	return nil
}

func (a AugMix) String() string { return describe("augmix", a.fields(), (&AugMix{}).fields()) }

func (a *AugMix) fields() []field {
	return []field{
		integer("width", "number of chains", &a.Width, defaultWidth),
		{"depth", "operations of a chain; random is 1, 2 or 3",
			func() string {
				if a.Depth == 0 {
					return "random"
				}
				return fmt.Sprint(a.Depth)
			},
			func(text string) bool {
				if text == "random" {
					a.Depth = 0
					return true
				}
				return integer("", "", &a.Depth, 1).parse(text)
			}},
		decimal("severity", "greatest level, 0.1 to 10", &a.Severity, defaultSeverity),
		choice("variant", "how chains are made", &a.Variant, augMixOriginal, archiveVariant),
		choice("operations", "which operations there are", &a.Operations, ninePool, allOperations),
	}
}

func (a *AugMix) value() Augmentation { return *a }
