package corrupt

import "github.com/certspec/certspec/corrupt/internal/raster"

// elasticTransform moves three points near the corners by up to c pixels each way and warps the
// image with them (bilinear, mirrored about the outermost pixels), then displaces each pixel by
// fields of uniform noise, smoothed with standard deviation s and times A (mirrored about the
// edges); (A, s, c) = (0, 0, 2.56), (1.6, 6.4, 2.24), (2.56, 1.92, 1.92), (3.2, 1.28, 1.6), (3.2,
// 0.96, 0.96).
func elasticTransform(j job) func() operator {
	c := [...][3]float64{{0, 0, 2.56}, {1.6, 6.4, 2.24}, {2.56, 1.92, 1.92}, {3.2, 1.28, 1.6},
		{3.2, .96, .96}}[j.Severity-1]
	return elasticBy(j, j.pixels(c[0]), j.pixels(c[1]), j.pixels(c[2]))
}

func elasticBy(j job, amplitude, sigma, corner float64) func() operator {
	shape := j.shape
	grey := shape
	grey.Channels = 1
	return func() operator {
		smooth := newSmoother(grey, sigma, 3, raster.Mirrored)
		image, warped := make([]float64, shape.Len()), make([]float64, shape.Len())
		right, down := make([]float64, grey.Len()), make([]float64, grey.Len())
		field := func(f []float64, r *stream) {
			for i := range f {
				f[i] = r.between(-1, 1)
			}
			smooth.apply(f)
			for i := range f {
				f[i] = float64(f[i] * amplitude)
			}
		}
		return func(dst, src []uint8, r *stream) {
			toUnits(image, src)
			m := moveCorners(shape.Height, shape.Width, corner, r)
			for y := range shape.Height {
				for x := range shape.Width {
					sy, sx := m.apply(float64(y), float64(x))
					bilinear(warped[(y*shape.Width+x)*shape.Channels:][:shape.Channels], image, shape, sy, sx,
						raster.Reflect101)
				}
			}
			if amplitude > 0 {
				field(right, r)
				field(down, r)
				for y := range shape.Height {
					for x := range shape.Width {
						i := y*shape.Width + x
						bilinear(image[i*shape.Channels:][:shape.Channels], warped, shape, float64(y)+down[i],
							float64(x)+right[i], raster.Mirrored)
					}
				}
			} else {
				copy(image, warped)
			}
			truncateAll(dst, image)
		}
	}
}

// affine maps (y, x) to (yy·y + yx·x + y0, xy·y + xx·x + x0).
type affine struct{ yy, yx, y0, xy, xx, x0 float64 }

func (a affine) apply(y, x float64) (float64, float64) {
	return float64(a.yy*y) + float64(a.yx*x) + a.y0, float64(a.xy*y) + float64(a.xx*x) + a.x0
}

// moveCorners maps the places of three randomly moved points to where they were, which is how a warp is read.
func moveCorners(height, width int, reach float64, r *stream) affine {
	cy, cx, q := float64(height/2), float64(width/2), float64(min(height, width)/3)
	before := [3][2]float64{{cy + q, cx + q}, {cy + q, cx - q}, {cy - q, cx - q}}
	after := before
	for i := range after {
		after[i][0] += r.between(-reach, reach)
		after[i][1] += r.between(-reach, reach)
	}
	// Two edges of the triangle before and after give the linear part, the first point the rest.
	ay, ax := after[1][0]-after[0][0], after[1][1]-after[0][1]
	by, bx := after[2][0]-after[0][0], after[2][1]-after[0][1]
	det := float64(ay*bx) - float64(ax*by)
	row := func(k int) (along, across, rest float64) {
		u, v := before[1][k]-before[0][k], before[2][k]-before[0][k]
		along = (float64(u*bx) - float64(v*ax)) / det
		across = (float64(v*ay) - float64(u*by)) / det
		return along, across, before[0][k] - float64(along*after[0][0]) - float64(across*after[0][1])
	}
	var a affine
	a.yy, a.yx, a.y0 = row(0)
	a.xy, a.xx, a.x0 = row(1)
	return a
}
