package corrupt

import "github.com/certspec/certspec/internal/jpeg"

// jpegCompression encodes and decodes the image as baseline JPEG with 4:2:0 chroma (grey images
// without chroma), at quality q = 80, 65, 58, 50, 40.
//
// What is lost on that way is computed as libjpeg and libjpeg-turbo do by default, in the same
// integer arithmetic: their tables of colour conversion, the accurate integer DCT of Loeffler,
// Ligtenberg and Moschytz, standard tables scaled by quality, and chroma enlarged by their triangle
// filter. So the bytes equal Pillow's, which made the published data. The entropy coding in
// between loses nothing and is left out.
func jpegCompression(j job) func() operator {
	quality := [...]int{80, 65, 58, 50, 40}[j.Severity-1]
	return jpegAt(j, quality)
}

func jpegAt(j job, quality int) func() operator {
	luma, chroma := jpegTable(&jpegLuminance, quality), jpegTable(&jpegChrominance, quality)
	height, width := j.shape.Height, j.shape.Width
	return func() operator {
		y := newJPEGPlane(height, width)
		if j.shape.Channels == 1 {
			return func(dst, src []uint8, _ *stream) {
				for row := range height {
					copy(y.row(row), src[row*width:][:width])
				}
				y.code(luma)
				for row := range height {
					copy(dst[row*width:][:width], y.row(row))
				}
			}
		}
		cb, cr := newJPEGChroma(height, width), newJPEGChroma(height, width)
		return func(dst, src []uint8, _ *stream) {
			for row := range height {
				line, blue, red := y.row(row), cb.full[row*width:], cr.full[row*width:]
				for x := range width {
					line[x], blue[x], red[x] = jpeg.YCC(src[0], src[1], src[2])
					src = src[3:]
				}
			}
			y.code(luma)
			for _, c := range []*jpegChroma{cb, cr} {
				c.reduce()
				c.small.code(chroma)
				c.enlarge()
			}
			for row := range height {
				at := row * width
				jpeg.RGB(dst[3*at:], y.row(row), cb.full[at:], cr.full[at:])
			}
		}
	}
}

// jpegChroma is a plane of colour differences, and the same at half the size.
type jpegChroma struct {
	height, width int
	full          []uint8
	small         *jpegPlane
}

func newJPEGChroma(height, width int) *jpegChroma {
	return &jpegChroma{height, width, make([]uint8, height*width), newJPEGPlane((height+1)/2, (width+1)/2)}
}

// reduce takes the mean of each 2×2 pixels; halves are rounded down and up in turn.
func (c *jpegChroma) reduce() {
	for y := range c.small.height {
		upper := c.full[2*y*c.width:][:c.width]
		lower := c.full[min(2*y+1, c.height-1)*c.width:][:c.width]
		out := c.small.row(y)
		for x := range out {
			left, right := 2*x, min(2*x+1, c.width-1)
			bias := int32(1 + x&1)
			out[x] = uint8((int32(upper[left]) + int32(upper[right]) + int32(lower[left]) + int32(lower[right]) +
				bias) >> 2)
		}
	}
}

// enlarge interpolates back to the whole size.
func (c *jpegChroma) enlarge() {
	for y := range c.height {
		far := min(max(y/2-1+y%2*2, 0), c.small.height-1)
		jpeg.Larger(c.full[y*c.width:][:c.width], c.small.row(y/2), c.small.row(far))
	}
}
