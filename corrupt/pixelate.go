package corrupt

// pixelate reduces the image to a part c of each side with a box filter and enlarges it again, as
// Pillow does, in bytes; c = 0.95, 0.9, 0.85, 0.75, 0.65.
func pixelate(j job) func() operator {
	c := [...]float64{.95, .9, .85, .75, .65}[j.Severity-1]
	height, width := j.shape.Height, j.shape.Width*j.shape.Channels
	rows, columns := boxes(height, int(float64(height)*c)), boxes(j.shape.Width, int(float64(j.shape.Width)*c))
	// The columns of the reduced image, and those of the result in it, by the places of their bytes.
	var first, last, source []int
	for _, b := range columns {
		for c := range j.shape.Channels {
			first, last = append(first, b.first*j.shape.Channels+c), append(last, b.last*j.shape.Channels+c)
		}
	}
	for x := range width {
		source = append(source, middle(x/j.shape.Channels, len(columns), j.shape.Width)*j.shape.Channels+
			x%j.shape.Channels)
	}
	return func() operator {
		narrow, line := make([]uint8, height*len(first)), make([]uint8, len(first))
		return func(dst, src []uint8, _ *stream) {
			// Along the rows first, rounded to bytes.
			for y := range height {
				row, to := src[y*width:][:width], narrow[y*len(first):][:len(first)]
				for i, a := range first {
					to[i] = mean(row[a], row[last[i]])
				}
			}
			done := -1
			for y := range height {
				row := dst[y*width:][:width]
				of := middle(y, len(rows), height)
				if of == done {
					copy(row, dst[(y-1)*width:])
					continue
				}
				done = of
				a, b := narrow[rows[of].first*len(line):][:len(line)], narrow[rows[of].last*len(line):][:len(line)]
				for i := range line {
					line[i] = mean(a[i], b[i])
				}
				for x, from := range source {
					row[x] = line[from]
				}
			}
		}
	}
}

// middle is the pixel of a line of m in which the centre of the i-th of n lies: a box filter that enlarges takes it.
func middle(i, m, n int) int { return (2*i + 1) * m / (2 * n) }

// mean is (a + b)/2, halves up.
func mean(a, b uint8) uint8 { return uint8((uint(a) + uint(b) + 1) / 2) }

// box is the one or two neighbours, first and last, whose mean a reduced pixel is.
type box struct{ first, last int }

// boxes lists, for each of m pixels that a line of n is reduced to, m ≤ n < 2m, the old pixels
// whose centres are at most n/2m from its own centre, as Pillow finds them.
func boxes(n, m int) []box {
	scale := float64(n) / float64(m)
	list := make([]box, m)
	for i := range list {
		centre := float64((float64(i) + 0.5) * scale)
		b := box{n, 0}
		for k := max(int(centre-scale/2+0.5), 0); k < min(int(centre+scale/2+0.5), n); k++ {
			if at := (float64(k) - centre + 0.5) * (1 / scale); at > -0.5 && at <= 0.5 {
				b.first, b.last = min(b.first, k), max(b.last, k)
			}
		}
		list[i] = b
	}
	return list
}
