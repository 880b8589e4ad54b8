package augment

import (
	"fmt"
	"math"
)

// How the factors A of amplitudes are drawn.
const (
	// uniformAmplitude draws each A ~ U(1−s, 1+s): equation 1.
	uniformAmplitude = "uniform"
	// signedHalfAmplitude draws one sign ς per chain and A = 1 + ς·s·U(0, 1), as the archive does:
	// all go up together or down together.
	signedHalfAmplitude = "signed_half"
)

// How the shifts φ of phases are drawn.
const (
	// normalPhase draws φ ~ N(0, 5²) truncated to [−s, s], by inversion: equation 2.
	normalPhase = "normal"
	// uniformPhase draws φ ~ U(−s, s), as the archive does.
	uniformPhase = "uniform"
)

// How the inverse transform is made real.
const (
	// hermitian draws noise on a half plane and mirrors it: A at −(u, v) is that at (u, v), φ its
	// negative, and 0 where both are the same bin.
	hermitian = "hermitian"
	// realPartMode draws noise at all bins and takes the real part of the inverse: half the variance.
	realPartMode = "real"
	// modulus draws noise at all bins and takes the modulus of the inverse, as the archive does.
	modulus = "abs"
)

// What the bounds of the shear are.
const (
	// shearDegrees are angles in degrees, which makes the shear of the published bounds practically none: the archive.
	shearDegrees = "degree"
	// shearFactor are the tangents of angles.
	shearFactor = "factor"
)

// How an affine map reads between pixels.
const (
	nearestSampling  = "nearest"
	bilinearSampling = "bilinear"
)

// What affine maps are applied to.
const (
	affineOfImage    = "image"    // the image, as in the paper's algorithm
	affineOfSpectral = "spectral" // what the spectral perturbation made of it: two states of the archive
)

// FourierMix is m·x + (1−m)·Σ w_i [t_i·x_i + (1−t_i)·T_i(x)] with w ~ Dirichlet(1, …, 1) over the chains and t_i, m ~
// Beta(1, 1) (Sun et al. 2021, section 4 and equations 1 and 2). x_i has the spectrum X·A·exp(iφ), where X is the DFT
// of a channel of x, and A and φ are drawn for each bin and channel. T_i is a random affine map about the middle of the
// image. Channels share what a chain draws, except A and φ. The view is not clipped. Any number of channels, and sides
// of any length.
//
// Each of the lists of severities is drawn from uniformly. An affine map has a rotation, a translation and a shear,
// each with a level uniform in 1 … 8. Levels 1 to 4 mean none, 5 to 8 have the bounds listed.
//
// The stream gives, in this order:
//
//   - w;
//   - for each chain: the numbers of the amplitude severity and of the phase severity, the sign (of the law that
//     has one), t, the levels of rotation, translation and shear, and uniform numbers for angle, horizontal and
//     vertical translation, and shear, also where they are not used;
//   - m;
//   - for each chain and channel a block of the stream (behind what Uint64 has read in steps of 512 bytes) with two
//     little-endian int32 for each bin, first all of A, then all of φ: k stands for the uniform number (k + ½)·2⁻³² in
//     (−½, ½).
//
// Bins are numbered as in the half spectrum of package fourier, whose mirrored bins are overwritten; in the
// modes real and abs they are all bins, row by row.
type FourierMix struct {
	Chains       int       // 0 means 3
	Amplitude    []float64 // severities s of A, in [0, 1]; nil means those of the paper
	Phase        []float64 // severities s of φ, radians in [0, π]; nil means those of the paper for CIFAR
	AmplitudeLaw string    // how A is drawn: uniform (also empty), or signed_half
	PhaseLaw     string    // how φ is drawn: normal (also empty), or uniform
	RealMode     string    // how the inverse is made real: hermitian (also empty), real or abs
	Rotation     []float64 // four bounds, degrees in [0, 180]; nil means 5, 10, 15, 20
	// four bounds, fractions of the side in [0, 1], rounded to pixels; nil means 1/24, 1/12, 1/8,
	// 1/6
	Translation []float64
	Shear       []float64 // four bounds, in [0, 10]; nil means 0.03, 0.07, 0.11, 0.15
	ShearUnit   string    // degree (also empty) or factor
	Sampling    string    // between pixels: nearest (also empty) or bilinear; 0 comes from outside in both
	AffineOf    string    // what affine maps are applied to: image (also empty) or spectral
	Clip        bool      // clip the view to [0, 1]
}

const (
	defaultChains = 3
	phaseSigma    = 5 // of the truncated normal law
	levels        = 8 // of an affine component; the lower half means none
)

// Lists of severities and bounds with names; the first are the defaults.
var (
	amplitudes = []named{{"paper", []float64{.2, .3, .4, .5, .6}}, {"imagenet-archive", []float64{.3, .4, .5, .7, .8}}}
	phases     = []named{
		{"cifar", []float64{math.Pi / 12, math.Pi / 10, math.Pi / 8, math.Pi / 6, math.Pi / 4}},
		{"imagenet", []float64{math.Pi / 4, 3 * math.Pi / 10, 3 * math.Pi / 8, math.Pi / 2, 3 * math.Pi / 4}},
	}
	rotations    = []named{{"wide", []float64{5, 10, 15, 20}}, {"narrow", []float64{2.5, 5, 7.5, 10}}}
	translations = []named{{"cifar", []float64{1. / 24, 1. / 12, 1. / 8, 1. / 6}},
		{"imagenet", []float64{1. / 36, 1. / 24, 1. / 12, 1. / 8}}}
	shears = []named{{"archive", []float64{.03, .07, .11, .15}}}
)

// orList is a list, or the default.
func orList(values []float64, lists []named) []float64 {
	if values == nil {
		return lists[0].values
	}
	return values
}

func (f FourierMix) Apply(im Image, random *Stream) error {
	if err := f.prepare(im); err != nil {
		return err
	}
	r, err := workspaceFor(im.Shape)
	if err != nil {
		return err
	}
	defer r.release()
	f.draw(&r.drawn, r, im.Shape, random)
	f.mix(im, &r.drawn, r)
	return nil
}

func (f FourierMix) prepare(im Image) error {
	if err := f.check(); err != nil {
		return err
	}
	return im.check("fouriermix")
}

func (f FourierMix) check() error {
	const name = "fouriermix"
	if f.Chains < 0 || f.Chains > 1<<10 {
		return &OptionError{name, fmt.Sprintf("chains is %d", f.Chains), "1 to 1024"}
	}
	for _, l := range []struct {
		key    string
		values []float64
		count  int
		high   float64
	}{
		{"amplitude", orList(f.Amplitude, amplitudes), 0, 1},
		{"phase", orList(f.Phase, phases), 0, math.Pi},
		{"rotation", orList(f.Rotation, rotations), levels / 2, 180},
		{"translation", orList(f.Translation, translations), levels / 2, 1},
		{"shear", orList(f.Shear, shears), levels / 2, 10},
	} {
		if err := inRange(name, l.key, l.values, l.count, 0, l.high); err != nil {
			return err
		}
	}
	for _, err := range []error{
		known(name, "amplitude_law", f.AmplitudeLaw, uniformAmplitude, signedHalfAmplitude),
		known(name, "phase_law", f.PhaseLaw, normalPhase, uniformPhase),
		known(name, "real_mode", f.RealMode, hermitian, realPartMode, modulus),
		known(name, "shear_unit", f.ShearUnit, shearDegrees, shearFactor),
		known(name, "sampling", f.Sampling, nearestSampling, bilinearSampling),
		known(name, "affine_of", f.AffineOf, affineOfImage, affineOfSpectral),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (f FourierMix) String() string {
	return describe("fouriermix", f.fields(), (&FourierMix{}).fields())
}

func (f *FourierMix) fields() []field {
	const separated = ", numbers separated by colons"
	return []field{
		integer("chains", "number of chains", &f.Chains, defaultChains),
		list("amplitude", "severities of amplitudes, 0 to 1"+separated, &f.Amplitude, amplitudes...),
		list("phase", "severities of phases, radians, 0 to π"+separated, &f.Phase, phases...),
		choice("amplitude_law", "law of amplitudes", &f.AmplitudeLaw, uniformAmplitude, signedHalfAmplitude),
		choice("phase_law", "law of phases", &f.PhaseLaw, normalPhase, uniformPhase),
		choice("real_mode", "how the inverse transform is made real", &f.RealMode, hermitian, realPartMode, modulus),
		list("rotation", "four bounds of rotations, degrees"+separated, &f.Rotation, rotations...),
		list("translation", "four bounds of translations, fractions of the side"+separated, &f.Translation,
			translations...),
		list("shear", "four bounds of shears"+separated, &f.Shear, shears...),
		choice("shear_unit", "what the bounds of shears are", &f.ShearUnit, shearDegrees, shearFactor),
		choice("sampling", "how affine maps read between pixels", &f.Sampling, nearestSampling, bilinearSampling),
		choice("affine_of", "what affine maps are applied to", &f.AffineOf, affineOfImage, affineOfSpectral),
		truth("clip", "clip the view to [0, 1]", &f.Clip),
	}
}

func (f *FourierMix) value() Augmentation { return *f }
