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
	err := png.Encode(&b, indexed(drawn(width, height, paint)))
	return b.Bytes(), err
}

func drawn(width, height vg.Length, paint func(draw.Canvas)) *image.RGBA {
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(96*PNGScale), vgimg.UseBackgroundColor(color.White))
	paint(draw.New(c))
	return c.Image().(*image.RGBA) // as vgimg makes it by itself
}

// indexed is a drawing with a palette, a byte a pixel: its most frequent colours, and of those that
// soften edges as many that none is farther than a little from what stands for it. A picture of
// which no colour takes half, as heat maps and photographs, or for which 256 colours do not do, is
// given back as it is.
func indexed(picture *image.RGBA) image.Image {
	counts := map[color.RGBA]int{}
	eachRun(picture, func(c color.RGBA, _, length int) { counts[c] += length })
	all := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G),
			cmp.Compare(a.B, b.B))
	})
	bounds := picture.Bounds()
	if 2*counts[all[0]] < bounds.Dx()*bounds.Dy() {
		return picture
	}
	for _, distance := range []int{0, 4, 8, 12, 16} {
		palette, index := cover(all, distance)
		if palette == nil {
			continue
		}
		out := image.NewPaletted(bounds, palette)
		eachRun(picture, func(c color.RGBA, from, length int) {
			k := index[c]
			for i := range length {
				out.Pix[from+i] = k
			}
		})
		return out
	}
	return picture
}

// eachRun visits pixels row by row, neighbours of one colour together.
func eachRun(picture *image.RGBA, visit func(c color.RGBA, from, length int)) {
	width := picture.Bounds().Dx()
	for y := range picture.Bounds().Dy() {
		row := picture.Pix[y*picture.Stride:][:4*width]
		from := 0
		for x := range width {
			at, next := row[4*x:4*x+4], 4*x+4
			if next == len(row) || [4]uint8(at) != [4]uint8(row[next:next+4]) {
				visit(color.RGBA{at[0], at[1], at[2], at[3]}, y*width+from, x+1-from)
				from = x + 1
			}
		}
	}
}

// cover is a palette in which every colour has one at most so far in each channel, the earlier ones
// first; nil: 256 do not do.
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
