package augment

import (
	"fmt"
	"math"

	"github.com/certspec/certspec/internal/pillow"
	"github.com/certspec/certspec/pixel"
)

// AutoAugment applies one of the 25 sub-policies that Cubuk et al. (2019) found on CIFAR-10, chosen uniformly. A
// sub-policy is two operations of Pillow on bytes, one after the other, each with its own probability, in the form of
// torchvision: nearest pixel, 0 from outside. Image and view are bytes over 255 with 1 or 3 channels. Translations are
// scaled with the sides of the image.
//
// The stream gives the sub-policy, then for each of the two operations whether it is applied, and its sign; both also
// where they do not count.
type AutoAugment struct{}

// policyStep is an operation of a sub-policy.
type policyStep struct {
	operation   string
	probability float64
	magnitude   int // index 0 to 9
}

// policy is the one of CIFAR-10: Cubuk et al. 2019, table 7, as in torchvision.
var policy = [25][2]policyStep{
	{{"Invert", .1, 0}, {"Contrast", .2, 6}},
	{{"Rotate", .7, 2}, {"TranslateX", .3, 9}},
	{{"Sharpness", .8, 1}, {"Sharpness", .9, 3}},
	{{"ShearY", .5, 8}, {"TranslateY", .7, 9}},
	{{"AutoContrast", .5, 0}, {"Equalize", .9, 0}},
	{{"ShearY", .2, 7}, {"Posterize", .3, 7}},
	{{"Color", .4, 3}, {"Brightness", .6, 7}},
	{{"Sharpness", .3, 9}, {"Brightness", .7, 9}},
	{{"Equalize", .6, 0}, {"Equalize", .5, 0}},
	{{"Contrast", .6, 7}, {"Sharpness", .6, 5}},
	{{"Color", .7, 7}, {"TranslateX", .5, 8}},
	{{"Equalize", .3, 0}, {"AutoContrast", .4, 0}},
	{{"TranslateY", .4, 3}, {"Sharpness", .2, 6}},
	{{"Brightness", .9, 6}, {"Color", .2, 8}},
	{{"Solarize", .5, 2}, {"Invert", 0, 0}},
	{{"Equalize", .2, 0}, {"AutoContrast", .6, 0}},
	{{"Equalize", .2, 0}, {"Equalize", .6, 0}},
	{{"Color", .9, 9}, {"Equalize", .6, 0}},
	{{"AutoContrast", .8, 0}, {"Solarize", .2, 8}},
	{{"Brightness", .1, 3}, {"Color", .7, 0}},
	{{"Solarize", .4, 5}, {"AutoContrast", .9, 0}},
	{{"TranslateY", .9, 9}, {"TranslateY", .7, 9}},
	{{"AutoContrast", .9, 0}, {"Solarize", .8, 3}},
	{{"Equalize", .8, 0}, {"Invert", .1, 0}},
	{{"TranslateY", .7, 9}, {"AutoContrast", .9, 0}},
}

func (AutoAugment) Apply(im Image, random *Stream) error {
	r := byteWorkspaces.Get().(*byteWorkspace)
	defer byteWorkspaces.Put(r)
	r.fit(im.Shape)
	if err := im.bytes("autoaugment", r.now); err != nil {
		return err
	}
	for _, step := range policy[random.IntN(len(policy))] {
		applied, sign := random.Float64() < step.probability, random.Sign()
		if !applied {
			continue
		}
		step.apply(r.next, r.now, im.Shape, sign)
		r.now, r.next = r.next, r.now
	}
	im.setBytes(r.now)
	return nil
}

// apply does one operation, at the strength of its magnitude and in the direction of the sign, where there is one.
func (p policyStep) apply(dst, src []uint8, shape pixel.Shape, sign float64) {
	strength := func(greatest float64) float64 { return float64(sign * (greatest * float64(p.magnitude) / 9)) }
	translation := func(side int) float64 { return -math.Trunc(strength(150. / 331 * float64(side))) }
	factor := 1 + strength(0.9)
	affine := func(m [6]float64) { pillow.Affine(dst, src, shape, m, pillow.Nearest) }
	switch p.operation {
	case "ShearX":
		affine([6]float64{1, strength(0.3), 0, 0, 1, 0})
	case "ShearY":
		affine([6]float64{1, 0, 0, strength(0.3), 1, 0})
	case "TranslateX":
		affine([6]float64{1, 0, translation(shape.Width), 0, 1, 0})
	case "TranslateY":
		affine([6]float64{1, 0, 0, 0, 1, translation(shape.Height)})
	case "Rotate":
		pillow.Rotate(dst, src, shape, strength(30), pillow.Nearest)
	case "Brightness":
		pillow.Brightness(dst, src, shape, factor)
	case "Color":
		pillow.Color(dst, src, shape, factor)
	case "Contrast":
		pillow.Contrast(dst, src, shape, factor)
	case "Sharpness":
		pillow.Sharpness(dst, src, shape, factor)
	case "Posterize":
		pillow.Posterize(dst, src, shape, 8-int(math.RoundToEven(float64(p.magnitude)/(9./4))))
	case "Solarize":
		pillow.Solarize(dst, src, shape, 255-math.Abs(strength(255)))
	case "AutoContrast":
		pillow.AutoContrast(dst, src, shape)
	case "Equalize":
		pillow.Equalize(dst, src, shape)
	case "Invert":
		pillow.Invert(dst, src, shape)
	default:
		panic(fmt.Sprintf("augment: no operation %q", p.operation))
	}
}

func (AutoAugment) String() string { return "autoaugment" }

func (*AutoAugment) fields() []field { return nil }

func (a *AutoAugment) value() Augmentation { return *a }
