package figure

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// PNGScale is the number of PNG pixels to one pixel of a page, which has 96 to the inch.
const PNGScale = 2

// PNG is the drawing as a PNG picture on white.
func PNG(width, height vg.Length, paint func(draw.Canvas)) ([]byte, error) {
	var b bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, indexed(drawn(width, height, paint)))
	return b.Bytes(), err
}

func drawn(width, height vg.Length, paint func(draw.Canvas)) image.Image {
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(96*PNGScale), vgimg.UseBackgroundColor(color.White))
	paint(draw.New(c))
	return c.Image()
}

// indexed is a drawing with a palette, a byte a pixel: its most frequent colours, and of those that soften edges as many that none is farther than a little from
// what stands for it. A picture of which no colour takes half, as heat maps and photographs, or for which 256 colours do not do, is given back as it is.
func indexed(picture image.Image) image.Image {
	bounds := picture.Bounds()
	counts := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[at(x, y)]++
		}
	}
	all := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	if 2*counts[all[0]] < bounds.Dx()*bounds.Dy() {
		return picture
	}
	for _, distance := range []int{0, 4, 8, 12, 16} {
		palette, index := cover(all, distance)
		if palette == nil {
			continue
		}
		out := image.NewPaletted(bounds, palette)
		for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
			for x := bounds.Min.X; x < bounds.Max.X; x++ {
				out.SetColorIndex(x, y, index[at(x, y)])
			}
		}
		return out
	}
	return picture
}

// cover is a palette in which every colour has one at most so far in each channel, the earlier ones first; nil: 256 do not do.
func cover(colours []color.RGBA, distance int) (color.Palette, map[color.RGBA]uint8) {
	var palette color.Palette
	index := map[color.RGBA]uint8{}
	far := func(a, b uint8) bool { d := int(a) - int(b); return d > distance || d < -distance }
	for _, c := range colours {
		k := slices.IndexFunc(palette, func(p color.Color) bool {
			q := p.(color.RGBA)
			return !far(c.R, q.R) && !far(c.G, q.G) && !far(c.B, q.B) && c.A == q.A
		})
		if k < 0 {
			if k = len(palette); k == 256 {
				return nil, nil
			}
			palette = append(palette, c)
		}
		index[c] = uint8(k)
	}
	return palette, index
}
