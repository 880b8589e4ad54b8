package corrupt

import "math"

// zoomBlur is the mean of the image and of its enlargements by 1.00, 1.01, …, up to 1.06, 1.11,
// 1.15, 1.20, 1.25, as rounded by zoomFactor.
func zoomBlur(j job) func() operator {
	last := [...]int{6, 11, 15, 20, 25}[j.Severity-1]
	rows, columns := make([]zoom, last+1), make([]zoom, last+1)
	for i := range rows {
		factor := zoomFactor(i)
		rows[i], columns[i] = newZoom(j.shape.Height, factor), newZoom(j.shape.Width, factor)
	}
	width, channels := j.shape.Width, j.shape.Channels
	return func() operator {
		image, sum := make([]float64, j.shape.Len()), make([]float64, j.shape.Len())
		return func(dst, src []uint8, _ *stream) {
			toUnits(image, src)
			copy(sum, image)
			for i := range rows {
				enlarge(sum, image, rows[i], columns[i], width, channels)
			}
			for i, v := range sum {
				dst[i] = truncated(v / float64(last+2))
			}
		}
	}
}

// zoomFactor is 1 + i/100 as NumPy's arange makes it, which adds multiples of the rounded 1.01 − 1.
// So 26 pixels times the last factor, a little above 1.25, are 33, and not 32.5 rounded to 32, in
// the published data.
func zoomFactor(i int) float64 {
	one := 1.0
	step := one + 0.01 - one
	return one + float64(float64(i)*step)
}

// zoom is where the samples of an enlarged line are read: between at[i] and the next one, a fraction of the way.
type zoom struct {
	at       []int
	fraction []float64
}

// newZoom cuts ⌈n/factor⌉ samples from the middle of a line of n, resizes them linearly, corner on corner, to as many
// times the factor, and keeps the middle n of those.
func newZoom(n int, factor float64) zoom {
	cut := int(math.Ceil(float64(n) / factor))
	top := (n - cut) / 2
	large := int(math.RoundToEven(float64(cut) * factor))
	first := (large - n) / 2
	z := zoom{make([]int, n), make([]float64, n)}
	for i := range n {
		place := 0.0
		if large > 1 {
			place = float64(i+first) * float64(cut-1) / float64(large-1)
		}
		whole := min(int(place), max(cut-2, 0))
		z.at[i], z.fraction[i] = top+whole, place-float64(whole)
	}
	return z
}

// enlarge adds the enlarged image to sum.
func enlarge(sum, image []float64, rows, columns zoom, width, channels int) {
	stride := width * channels
	for y, at := range rows.at {
		upper, fy := image[at*stride:][:stride], rows.fraction[y]
		lower := upper
		if fy > 0 {
			lower = image[(at+1)*stride:][:stride]
		}
		out := sum[y*stride:][:stride]
		for x, at := range columns.at {
			fx, left := columns.fraction[x], at*channels
			right := left
			if fx > 0 {
				right += channels
			}
			for c := range channels {
				a := upper[left+c] + float64(fx*(upper[right+c]-upper[left+c]))
				b := lower[left+c] + float64(fx*(lower[right+c]-lower[left+c]))
				out[x*channels+c] += a + float64(fy*(b-a))
			}
		}
	}
}
