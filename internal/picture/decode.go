// Package picture turns PNG and JPEG files into images of 8-bit grey or RGB, upright, and
// resizes them as Pillow does.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"

	"github.com/certspec/certspec/internal/inflate"
	"github.com/certspec/certspec/pixel"
)

// What bounds the size of a picture, which a small damaged file may claim to be huge.
const (
	maxSide   = 1 << 14
	maxPixels = 1 << 25 // which take up to 600 MB while they are decoded: of a progressive JPEG, 18 bytes each
)

// Image is the pixels of a picture, HWC, of 1 channel (grey) or 3 (RGB).
type Image struct {
	Pixels []uint8
	Shape  pixel.Shape
}

// Options say what becomes of pictures that 8-bit grey or RGB cannot hold. The zero value refuses them.
type Options struct {
	Background *color.RGBA // colour behind transparent pixels; nil: transparent pictures are an error
	Reduce16   bool        // 16-bit values v become round(v/257); else they are an error
	JPEG       string      // decoder of JPEG pictures, LibJPEG or GoJPEG(); "": LibJPEG
}

// Decode reads a picture and turns it upright as its EXIF data say; colour profiles are not
// applied. Palettes become RGB. Transparent pixels of coverage a over a background b get the
// nearest byte to (a·v + (255−a)·b)/255. A warning tells of EXIF data that cannot be
// read; the picture is then taken as it is stored.
func Decode(file []byte, o Options) (im Image, warning string, err error) {
	if IsJPEG(file) {
		im, err = decodeJPEG(file, o)
	} else {
		im, err = decodePNG(file, o)
	}
	if err != nil {
		return Image{}, "", readError(err)
	}
	turn, err := orientation(file)
	if err != nil {
		warning = err.Error()
	}
	return upright(im, turn), warning, nil
}

func decodePNG(file []byte, o Options) (Image, error) {
	config, err := png.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		if !bytes.HasPrefix(file, []byte(pngSignature)) {
			err = errors.New("unknown format; expected PNG or JPEG")
		}
		return Image{}, err
	}
	giveBack, err := admit(file, config.Height, config.Width)
	if err != nil {
		return Image{}, err
	}
	defer giveBack()
	decoded, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		return Image{}, err
	}
	kind := file[len(pngSignature)+17] // colour type: 0 and 4 are grey without and with alpha
	return flatten(decoded, kind == 0 || kind == 4, o)
}

// admit refuses pictures that are too large, and waits for room for the others.
func admit(file []byte, height, width int) (giveBack func(), err error) {
	if height < 1 || width < 1 || height > maxSide || width > maxSide {
		return nil, fmt.Errorf("%d×%d pixels; expected sides of 1 to %d", height, width, maxSide)
	}
	pixels := int64(height) * int64(width)
	if pixels > maxPixels {
		return nil, fmt.Errorf("%d×%d pixels; expected at most %d in all", height, width, maxPixels)
	}
	if err := inflate.Check("picture", 4*pixels, int64(len(file))); err != nil {
		return nil, err
	}
	return room.take(pixels), nil
}

// readError says in plain words what decoders say of a file that ends early.
func readError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || strings.Contains(err.Error(),
		"not enough pixel data") {
		return fmt.Errorf("the file is truncated: %w", err)
	}
	return err
}

// flatten gives a decoded picture as bytes.
func flatten(m image.Image, grey bool, o Options) (Image, error) {
	bounds := m.Bounds()
	switch m.(type) {
	case *image.Gray16, *image.RGBA64, *image.NRGBA64:
		if !o.Reduce16 {
			return Image{}, errors.New("16 bits per channel; expected 8 (depth=8 reduces them)")
		}
	}
	opaque, ok := m.(interface{ Opaque() bool })
	if !ok {
		return Image{}, fmt.Errorf("pixel format %T; expected grey or RGB", m)
	}
	background := color.RGBA{}
	if !opaque.Opaque() {
		if o.Background == nil {
			return Image{}, errors.New("the picture is transparent somewhere; expected an opaque one " +
				"(background=white puts it on white)")
		}
		background = *o.Background
		grey = grey && background.R == background.G && background.G == background.B
	}
	channels := 3
	if grey {
		channels = 1
	}
	im := Image{Shape: pixel.Shape{Height: bounds.Dy(), Width: bounds.Dx(), Channels: channels}}
	im.Pixels = make([]uint8, 0, im.Shape.Len())
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		if m, ok := m.(*image.Gray); ok {
			start := m.PixOffset(bounds.Min.X, y)
			im.Pixels = append(im.Pixels, m.Pix[start:start+bounds.Dx()]...)
			continue
		}
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			p := at(m, x, y)
			values := [3]uint8{
				over(p.R, background.R, p.A), over(p.G, background.G, p.A), over(p.B, background.B, p.A),
			}
			im.Pixels = append(im.Pixels, values[:channels]...)
		}
	}
	return im, nil
}

// at is a pixel as 8-bit values that alpha has not scaled.
func at(m image.Image, x, y int) color.NRGBA {
	switch m := m.(type) {
	case *image.NRGBA:
		return m.NRGBAAt(x, y)
	case *image.RGBA: // opaque: decoders give it for files without alpha
		c := m.RGBAAt(x, y)
		return color.NRGBA(c)
	case *image.YCbCr:
		c := m.YCbCrAt(x, y)
		r, g, b := color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
		return color.NRGBA{r, g, b, 255}
	case *image.Paletted:
		return color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
	case *image.Gray16:
		v := reduce(m.Gray16At(x, y).Y)
		return color.NRGBA{v, v, v, 255}
	case *image.RGBA64: // opaque, as above
		c := m.RGBA64At(x, y)
		return color.NRGBA{reduce(c.R), reduce(c.G), reduce(c.B), 255}
	case *image.NRGBA64:
		c := m.NRGBA64At(x, y)
		return color.NRGBA{reduce(c.R), reduce(c.G), reduce(c.B), reduce(c.A)}
	}
	panic(fmt.Sprintf("picture: pixel format %T", m))
}

// reduce is round(v/257); 257·255 = 65535.
func reduce(v uint16) uint8 { return uint8((uint32(v) + 128) / 257) }

func over(v, background, alpha uint8) uint8 {
	a := uint32(alpha)
	return uint8((a*uint32(v) + (255-a)*uint32(background) + 127) / 255)
}
