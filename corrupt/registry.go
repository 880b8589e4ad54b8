package corrupt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/corrupt/shared"
	"github.com/certspec/certspec/internal/nearest"
	"github.com/certspec/certspec/pixel"
)

// Family is the benchmark that a corruption belongs to.
type Family string

const (
	C      Family = "C"       // the fifteen of CIFAR-C
	CExtra Family = "C-extra" // the four that were published with it, not part of its averages
	CBar   Family = "C-bar"   // the ten of CIFAR-C-bar
	F      Family = "F"       // CIFAR-F
)

// Group is the part of the spectrum that a corruption of C disturbs (Sun et al. 2021); other families are their own
// group.
type Group string

const (
	Low  Group = "Low"
	Mid  Group = "Mid"
	High Group = "High"
)

// Info describes a corruption.
type Info struct {
	Name        string    `json:"name"`
	Family      Family    `json:"family"`
	Group       Group     `json:"group"`
	Severities  []float64 `json:"severities"` // 1 to 5; of "fourier", the published norms ε
	Description string    `json:"description"`
}

type job struct {
	Setting
	shape pixel.Shape
}

// pixels is a length that was published for 32×32 images.
func (j job) pixels(length float64) float64 {
	return float64(length * max(1, float64(min(j.shape.Height, j.shape.Width))/published))
}

// published is the side that the published strengths are for.
const published = 32

// entry is a corruption in the registry.
type entry struct {
	Info
	colour  bool // makes no sense on grey images
	anySide bool // works on sides below smallestSide, too
	prepare func(job) (func() operator, error)
}

// smallestSide is the least height and width for what looks at neighbours.
const smallestSide = 16

// each lifts a preparation that cannot fail.
func each(prepare func(job) func() operator) func(job) (func() operator, error) {
	return func(j job) (func() operator, error) { return prepare(j), nil }
}

var registry = []entry{
	{Info: Info{"gaussian_noise", C, High, nil, "normal noise on every value"}, anySide: true,
		prepare: each(gaussianNoise)},
	{Info: Info{"shot_noise", C, High, nil, "Poisson noise: few photons"}, anySide: true, prepare: each(shotNoise)},
	{Info: Info{"impulse_noise", C, High, nil, "values replaced by black or white"}, anySide: true,
		prepare: each(impulseNoise)},
	{Info: Info{"defocus_blur", C, Mid, nil, "blur by a disk: out of focus"}, prepare: each(defocusBlur)},
	{Info: Info{"glass_blur", C, Mid, nil, "pixels displaced between two blurs: frosted glass"},
		prepare: each(glassBlur)},
	{Info: Info{"motion_blur", C, Mid, nil, "blur along a random direction"}, prepare: each(motionBlur)},
	{Info: Info{"zoom_blur", C, Mid, nil, "mean of enlargements: zooming while exposing"}, prepare: each(zoomBlur)},
	{Info: Info{"snow", C, Low, nil, "falling snow over a whitened image"}, prepare: each(snow)},
	{Info: Info{"frost", C, Low, nil, "ice crystals: photographs where supplied, else a drawn substitute"},
		prepare: frost},
	{Info: Info{"fog", C, Low, nil, "a plasma fractal of haze"}, prepare: each(fog)},
	{Info: Info{"brightness", C, Low, nil, "value in HSV raised"}, anySide: true, prepare: each(brightness)},
	{Info: Info{"contrast", C, Low, nil, "values drawn towards each channel's mean"}, anySide: true,
		prepare: each(contrast)},
	{Info: Info{"elastic_transform", C, Mid, nil, "affine and local displacements"}, prepare: each(elasticTransform)},
	{Info: Info{"pixelate", C, High, nil, "reduced by a box filter and enlarged again"}, prepare: each(pixelate)},
	{Info: Info{"jpeg_compression", C, High, nil, "baseline JPEG, 4:2:0, computed as libjpeg does"},
		prepare: each(jpegCompression)},

	{Info: Info{"speckle_noise", CExtra, "extra", nil, "normal noise in proportion to the value"}, anySide: true,
		prepare: each(speckleNoise)},
	{Info: Info{"gaussian_blur", CExtra, "extra", nil, "Gaussian blur"}, prepare: each(gaussianBlur)},
	{Info: Info{"spatter", CExtra, "extra", nil, "drops of water, or mud"}, prepare: each(spatter)},
	{Info: Info{"saturate", CExtra, "extra", nil, "saturation in HSV changed"}, colour: true, anySide: true,
		prepare: each(saturate)},

	{Info: Info{"blue_noise_sample", CBar, "C-bar", nil, "pixels set to black where a field of blue noise is low"},
		prepare: each(blueNoiseSample)},
	{Info: Info{"brownish_noise", CBar, "C-bar", nil, "noise whose amplitude falls with the square of the frequency"},
		prepare: each(brownishNoise)},
	{Info: Info{"checkerboard_cutout", CBar, "C-bar", nil, "grey cells of a rotated checkerboard"},
		prepare: each(checkerboardCutout)},
	{Info: Info{"circular_motion_blur", CBar, "C-bar", nil, "mean of rotations about the centre"},
		prepare: each(circularMotionBlur)},
	{Info: Info{"inverse_sparkles", CBar, "C-bar", nil, "white everywhere but around one star"},
		prepare: each(inverseSparkles)},
	{Info: Info{"lines", CBar, "C-bar", nil, "thin grey lines"}, prepare: each(lines)},
	{Info: Info{"pinch_and_twirl", CBar, "C-bar", nil, "blocks pinched and twisted"}, prepare: each(pinchAndTwirl)},
	{Info: Info{"ripple", CBar, "C-bar", nil, "displaced in waves"}, prepare: each(ripple)},
	{Info: Info{"sparkles", CBar, "C-bar", nil, "five white stars"}, prepare: each(sparkles)},
	{Info: Info{"transverse_chromatic_abberation", CBar, "C-bar", nil, "channels enlarged by different factors"},
		colour: true, prepare: each(transverseChromaticAberration)},

	{Info: Info{shared.FourierName, F, "F", []float64{8, 10, 12}, "noise of norm ε in a ring of the spectrum"},
		anySide: true,
		prepare: each(fourierNoise)},
}

// Members are corruptions whose mean is reported.
type Members struct {
	Name        string
	Corruptions []string
}

// Groups are the groups of CIFAR-10-C's fifteen corruptions, by the image frequencies that they disturb (low,
// mid and high), and by kind (Hendrycks and Dietterich 2019).
var Groups = append(byFrequency(),
	Members{"noise", []string{"gaussian_noise", "shot_noise", "impulse_noise"}},
	Members{"blur", []string{"defocus_blur", "glass_blur", "motion_blur", "zoom_blur"}},
	Members{"weather", []string{"snow", "frost", "fog", "brightness"}},
	Members{"digital", []string{"contrast", "elastic_transform", "pixelate", "jpeg_compression"}})

func byFrequency() (all []Members) {
	for _, g := range []Group{Low, Mid, High} {
		m := Members{Name: strings.ToLower(string(g))}
		for _, e := range registry {
			if e.Group == g {
				m.Corruptions = append(m.Corruptions, e.Name)
			}
		}
		all = append(all, m)
	}
	return all
}

// severities is the number of strengths of a corruption of C or C-bar.
const severities = 5

func init() {
	for i := range registry {
		if registry[i].Severities == nil {
			registry[i].Severities = []float64{1, 2, 3, 4, 5}
		}
	}
}

// List describes all corruptions, in the order of the publications.
func List() []Info {
	list := make([]Info, len(registry))
	for i, e := range registry {
		list[i] = e.Info
		list[i].Severities = slices.Clone(e.Severities)
	}
	return list
}

// Find describes one; an unknown name is an *UnknownError.
func Find(name string) (Info, error) {
	e, err := find(name)
	if err != nil {
		return Info{}, err
	}
	return e.Info, nil
}

// UnknownError is a name that no corruption has.
type UnknownError struct {
	Name    string
	Nearest string // the name with the fewest edits to it
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("corrupt: no corruption is called %q; did you mean %s? certspec corrupt list names all", e.Name,
		e.Nearest)
}

func find(name string) (*entry, error) {
	names := make([]string, len(registry))
	for i := range registry {
		if names[i] = registry[i].Name; names[i] == name {
			return &registry[i], nil
		}
	}
	return nil, &UnknownError{name, nearest.Of(strings.ReplaceAll(name, "-", "_"), names)}
}

// SettingError is a setting, or a shape of images, that a corruption does not know.
type SettingError struct {
	Name     string // of the corruption
	What     string // e.g. "severity 6"
	Expected string
}

func (e *SettingError) Error() string {
	return fmt.Sprintf("corrupt: %s: %s; expected %s", e.Name, e.What, e.Expected)
}

func (e *entry) check(s Setting, shape pixel.Shape) error {
	bad := func(what, expected string) error { return &SettingError{e.Name, what, expected} }
	if s.GlassSwap && e.Name != "glass_blur" {
		return bad("the option to swap pixels", "it with glass_blur only")
	}
	if s.Archive && e.Family != F {
		return bad("the variant of the archive", "it with "+shared.FourierName+" only")
	}
	if s.Photographs != "" && e.Name != "frost" {
		return bad("a folder of photographs", "one with frost only")
	}
	switch {
	case e.Family == F:
		if err := s.checkFourier(bad); err != nil {
			return err
		}
	case s.Severity < 1 || s.Severity > severities:
		return bad(fmt.Sprintf("severity %d", s.Severity), fmt.Sprintf("1 to %d", severities))
	case cmp.Or(float64(s.Centre), s.Decay, s.Norm) != 0:
		return bad("fc, alpha or eps", "them with "+shared.FourierName+" only")
	}
	if c := shape.Channels; !shape.Valid() || c != 1 && c != 3 {
		return bad(fmt.Sprintf("images of %v", shape), "at least one pixel, in 1 or 3 channels")
	}
	if e.colour && shape.Channels == 1 {
		return bad(fmt.Sprintf("grey images of %v", shape), "3 channels: it changes nothing but colour")
	}
	if least := min(shape.Height, shape.Width); !e.anySide && least < smallestSide {
		return bad(fmt.Sprintf("images of %v", shape), fmt.Sprintf("at least %d pixels on each side", smallestSide))
	}
	return nil
}
