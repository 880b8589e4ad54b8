package dataset

import (
	"context"
	"errors"
	"fmt"
	"image/color"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/host"
	"github.com/certspec/certspec/internal/picture"
	"github.com/certspec/certspec/pixel"
)

// Preparation says how the images of a set are made equal in size and kind, before anything
// else sees them. It is a part of the canonical name; the zero value leaves images as they are.
// A border, resizing, cropping, RGB, Grey and Invert are for every set, the other fields are for folders of pictures.
//
// Images are resized first, to bytes, and cropped then. A radius certified for an image
// is in the pixels that come out: it bounds no change of the picture before it was resized.
type Preparation struct {
	// decoder of JPEG pictures: libjpeg-turbo (also ""), or the decoder of the Go release that built the
	// program, as go1.26
	JPEG   string
	Border int  // pixels that are cut off each side before all else, as 2 from ObjectNet's pictures
	Resize Size // all sides, or with Height 0 the shorter side, whose other keeps the ratio, rounded down
	// nearest, box, bilinear (also ""), bicubic or lanczos, as Pillow defines them; those after
	// nearest with antialiasing
	Filter string
	Crop   Size // cut from the centre; Height 0: a square of that width
	RGB    bool // grey images get three equal channels; else grey beside colour is an error
	// images in RGB become grey: (19595 R + 38470 G + 7471 B)/2¹⁶ rounded (ITU-R 601, as Pillow's
	// mode L)
	Grey       bool
	Invert     bool   // every value v becomes 255 − v, after all else
	Background string // white, black, grey or #rrggbb behind transparent pixels; "": transparent pictures are an error
	Reduce16   bool   // 16-bit values v become round(v/257); else they are an error
	// path of the file that gives folders their labels; "": sorted names, or numbers where all are
	// named by such
	Classes string
}

// Size is a size in pixels.
type Size struct{ Height, Width int }

// String is "256", or "224x160" for a height of 224.
func (s Size) String() string {
	if s.Height == 0 {
		return strconv.Itoa(s.Width)
	}
	return strconv.Itoa(s.Height) + "x" + strconv.Itoa(s.Width)
}

// parseSize reads what Size.String writes.
func parseSize(text string) (Size, error) {
	height, width, both := strings.Cut(text, "x")
	if !both {
		height, width = "1", text
	}
	h, err := strconv.Atoi(height)
	w, err2 := strconv.Atoi(width)
	if err != nil || err2 != nil || h < 1 || w < 1 || h > maxSide || w > maxSide {
		return Size{}, fmt.Errorf("size %q; expected one side, as 224, or HEIGHTxWIDTH, as 224x160, each of 1 to %d "+
			"pixels", text, maxSide)
	}
	if !both {
		h = 0
	}
	return Size{h, w}, nil
}

// maxSide bounds the sides that images are resized and cropped to.
const maxSide = 1 << 14

// Prepare is the handle on the same images after p, which replaces what was prepared before.
// An error names a field that is wrong, or that the set has no use for.
func (d *Dataset) Prepare(p Preparation) (*Dataset, error) {
	whole := d.base
	if whole.plain != nil {
		whole = whole.plain
	}
	if whole.preparation.JPEG != "" && p.JPEG == "" {
		p.JPEG = picture.LibJPEG
	}
	err := p.check(whole)
	if p.JPEG != whole.preparation.JPEG && err == nil {
		whole, err = openBase(whole.name, p.JPEG)
	}
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", whole.name, err)
	}
	if p == whole.preparation {
		return d.derive(whole, d.selections, d.changes), nil
	}
	if p.Resize != (Size{}) && p.Filter == "" {
		p.Filter = "bilinear"
	}
	prepared := *whole
	prepared.plain, prepared.preparation, prepared.records = whole, p, newLazy[records]()
	if path, ok := strings.CutPrefix(whole.name, folderPrefix); ok {
		prepared.read = func(ctx context.Context) (*records, error) { return readFolder(ctx, path, p) }
	} else {
		prepared.read = func(ctx context.Context) (*records, error) {
			r, err := whole.records.get(ctx, whole.read)
			if err != nil {
				return nil, err
			}
			if r, err = p.records(ctx, r); err != nil {
				return nil, fmt.Errorf("dataset: %s: %w", whole.name, err)
			}
			return r, nil
		}
	}
	return d.derive(&prepared, d.selections, d.changes), nil
}

// Preparation is how the images are prepared, with the filter that a resize has.
func (d *Dataset) Preparation() Preparation { return d.base.preparation }

func (p Preparation) check(of *base) error {
	folder := strings.HasPrefix(of.name, folderPrefix)
	for _, s := range []Size{p.Resize, p.Crop} {
		if s == (Size{}) {
			continue
		}
		if _, err := parseSize(s.String()); err != nil {
			return err
		}
	}
	switch {
	case p.Filter != "" && !slices.Contains(picture.Filters, p.Filter):
		return fmt.Errorf("filter %q; expected one of %s", p.Filter, strings.Join(picture.Filters, ", "))
	case p.Filter != "" && p.Resize == (Size{}):
		return fmt.Errorf("filter %s without a size to resize to", p.Filter)
	case p.RGB && p.Grey:
		return errors.New("channels=rgb and channels=grey; expected one of them")
	case p.JPEG != "" && of.preparation.JPEG == "":
		return errors.New("a decoder of JPEG pictures, of a set without pictures")
	case p.JPEG != "" && !picture.IsJPEGDecoder(p.JPEG):
		return fmt.Errorf("jpeg=%s: no such decoder; expected %s, or %s of earlier versions", p.JPEG, picture.LibJPEG,
			beforeLibJPEG)
	case !folder && (p.Background != "" || p.Reduce16 || p.Classes != ""):
		return errors.New("a background, 16 bits and a file of classes are for folders of pictures")
	case strings.ContainsAny(p.Classes, ",[]"):
		return fmt.Errorf("file of classes %q; expected a path without comma and square brackets, which the name of "+
			"the set could not hold", p.Classes)
	}
	_, err := parseColor(p.Background)
	return err
}

var colors = map[string]color.RGBA{"white": {255, 255, 255, 255}, "black": {0, 0, 0, 255}, "grey": {128, 128, 128, 255}}

// parseColor gives nil for no colour.
func parseColor(text string) (*color.RGBA, error) {
	if text == "" {
		return nil, nil
	}
	if c, ok := colors[text]; ok {
		return &c, nil
	}
	digits, ok := strings.CutPrefix(text, "#")
	v, err := strconv.ParseUint(digits, 16, 32)
	if !ok || err != nil || len(digits) != 6 {
		return nil, fmt.Errorf("background %q; expected white, black, grey (128) or #rrggbb", text)
	}
	return &color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}, nil
}

// parts are the parts of the canonical name, which set reads.
func (p Preparation) parts() []string {
	var parts []string
	add := func(set bool, part string) {
		if set {
			parts = append(parts, part)
		}
	}
	add(p.JPEG != "", "jpeg="+p.JPEG)
	add(p.Border > 0, "border="+strconv.Itoa(p.Border))
	add(p.Resize != Size{}, "resize="+p.Resize.String())
	add(p.Filter != "", "filter="+p.Filter)
	add(p.Crop != Size{}, "crop="+p.Crop.String())
	add(p.RGB, "channels=rgb")
	add(p.Grey, "channels=grey")
	add(p.Invert, "invert")
	add(p.Background != "", "background="+p.Background)
	add(p.Reduce16, "depth=8")
	add(p.Classes != "", "classes="+p.Classes)
	return parts
}

// set takes a part of a canonical name; known is whether it is one of a preparation.
func (p *Preparation) set(part string) (known bool, err error) {
	key, value, _ := strings.Cut(part, "=")
	switch key {
	case "resize":
		p.Resize, err = parseSize(value)
	case "border":
		if p.Border, err = strconv.Atoi(value); err != nil || p.Border < 1 || p.Border > maxSide {
			err = fmt.Errorf("border %q; expected a number of pixels from 1", value)
		}
	case "crop":
		p.Crop, err = parseSize(value)
	case "filter":
		p.Filter = value
	case "jpeg":
		p.JPEG = value
	case "background":
		p.Background = value
	case "classes":
		p.Classes = value
	case "channels":
		if p.RGB, p.Grey = value == "rgb", value == "grey"; !p.RGB && !p.Grey {
			err = errors.New("expected channels=rgb or channels=grey")
		}
	case "invert":
		if p.Invert = part == "invert"; !p.Invert {
			return true, errors.New("expected invert, without a value")
		}
		return true, nil
	case "depth":
		if p.Reduce16 = value == "8"; !p.Reduce16 {
			err = errors.New("expected depth=8")
		}
	default:
		return false, nil
	}
	if err == nil && value == "" {
		err = fmt.Errorf("no value; expected %s=VALUE", key)
	}
	return true, err
}

// size of an image of height × width pixels: its size after resizing, and after cropping.
func (p Preparation) size(height, width int) (resized, final Size, err error) {
	height, width = height-2*p.Border, width-2*p.Border
	resized = Size{height, width}
	switch {
	case height < 1 || width < 1:
		return resized, resized, fmt.Errorf("%d×%d pixels have nothing within a border of %d", height+2*p.Border,
			width+2*p.Border, p.Border)
	case p.Resize.Height > 0:
		resized = p.Resize
	case p.Resize.Width > 0:
		resized.Height, resized.Width = picture.Cover(height, width, p.Resize.Width)
		if max(resized.Height, resized.Width) > maxSide {
			return resized, resized, fmt.Errorf("%d×%d pixels become %d×%d; expected sides of at most %d",
				height, width, resized.Height, resized.Width, maxSide)
		}
	}
	final = resized
	if p.Crop.Width > 0 {
		final = p.Crop
		if final.Height == 0 {
			final.Height = final.Width
		}
		if final.Height > resized.Height || final.Width > resized.Width {
			return resized, final, fmt.Errorf("%d×%d pixels are fewer than the %d×%d to crop to",
				resized.Height, resized.Width, final.Height, final.Width)
		}
	}
	return resized, final, nil
}

// image resizes and crops, makes grey and inverts.
func (p Preparation) image(im picture.Image) (picture.Image, error) {
	resized, final, err := p.size(im.Shape.Height, im.Shape.Width)
	if err != nil {
		return im, err
	}
	im = picture.Crop(im, im.Shape.Height-2*p.Border, im.Shape.Width-2*p.Border)
	im = picture.Resize(im, resized.Height, resized.Width, p.Filter)
	im = picture.Crop(im, final.Height, final.Width)
	if p.Grey && im.Shape.Channels == 3 {
		im = grey(im)
	}
	if p.Invert {
		im.Pixels = slices.Clone(im.Pixels)
		for i, v := range im.Pixels {
			im.Pixels[i] = 255 - v
		}
	}
	return im, nil
}

func grey(im picture.Image) picture.Image {
	out := picture.Image{Shape: im.Shape, Pixels: make([]uint8, len(im.Pixels)/3)}
	out.Shape.Channels = 1
	for i := range out.Pixels {
		p := im.Pixels[3*i:]
		out.Pixels[i] = uint8((19595*int(p[0]) + 38470*int(p[1]) + 7471*int(p[2]) + 1<<15) >> 16)
	}
	return out
}

// records prepares the images of a set whose images all have one size.
func (p Preparation) records(ctx context.Context, r *records) (*records, error) {
	_, final, err := p.size(r.shape.Height, r.shape.Width)
	if err != nil {
		return nil, err
	}
	out := &records{classes: r.classes, folders: r.folders, labels: r.labels, warnings: r.warnings,
		block: block{notes: r.notes, jpegs: r.jpegs}}
	out.shape = pixel.Shape{Height: final.Height, Width: final.Width, Channels: r.shape.Channels}
	if p.RGB && r.shape.Channels == 1 {
		out.shape.Channels = 3
	}
	if p.Grey && out.shape.Channels == 3 {
		out.shape.Channels = 1
	}
	if r.decode != nil {
		out.decode = func(ctx context.Context, ids []int) (*block, error) {
			b, err := r.images(ctx, ids)
			if err != nil {
				return nil, err
			}
			pixels, err := p.pixels(ctx, b.pixels, r.shape, out.shape)
			return &block{shape: out.shape, notes: b.notes, jpegs: b.jpegs, pixels: pixels}, err
		}
		out.stamp, out.oneFile, out.listing = r.stamp, r.oneFile, r.listing
		return out, nil
	}
	if err := checkRoom(len(r.labels), out.shape); err != nil {
		return nil, err
	}
	out.pixels, err = p.pixels(ctx, r.pixels, r.shape, out.shape)
	return out, err
}

// pixels prepares images of one shape.
func (p Preparation) pixels(ctx context.Context, whole []uint8, from, to pixel.Shape) ([]uint8, error) {
	out := make([]uint8, 0, len(whole)/from.Len()*to.Len())
	for image := range slices.Chunk(whole, from.Len()) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		im, err := p.image(picture.Image{Pixels: image, Shape: from})
		if err != nil {
			return nil, err
		}
		out = appendImage(out, im.Pixels, from.Channels < to.Channels)
	}
	return out, nil
}

// appendImage adds the values of an image, three times each where grey expands to RGB.
func appendImage(to, values []uint8, expand bool) []uint8 {
	if !expand {
		return append(to, values...)
	}
	for _, v := range values {
		to = append(to, v, v, v)
	}
	return to
}

// checkRoom refuses sets that would fill the memory.
func checkRoom(images int, shape pixel.Shape) error {
	if int64(shape.Len()) > maxBytes/int64(images) {
		return fmt.Errorf("%d images of %v do not fit into %d bytes", images, shape, int64(maxBytes))
	}
	if err := host.Room(int64(images) * int64(shape.Len())); err != nil {
		return fmt.Errorf("%d images of %v: %w", images, shape, err)
	}
	return nil
}
