package main

// jpeg gives an image as baseline JPEG of a quality leaves it, as libjpeg computes it by default:
// 4:2:0 chroma, the accurate integer DCT, smooth enlarging. Coding loses nothing and is left out.
func jpeg(image []byte, height, width, channels, quality int) []byte {
	if channels == 1 {
		return coded(image, height, width, quality, &luminance)
	}
	planes := [3][]byte{}
	for i := 0; i < len(image); i += 3 {
		r, g, b := int(image[i]), int(image[i+1]), int(image[i+2])
		planes[0] = append(planes[0], byte((19595*r+38470*g+7471*b+32768)>>16))
		planes[1] = append(planes[1], byte((-11059*r-21709*g+32768*b+128<<16+32767)>>16))
		planes[2] = append(planes[2], byte((32768*r-27439*g-5329*b+128<<16+32767)>>16))
	}
	planes[0] = coded(planes[0], height, width, quality, &luminance)
	h, w := (height+1)/2, (width+1)/2
	for c := 1; c < 3; c++ {
		at := func(y, x int) int { return int(planes[c][min(y, height-1)*width+min(x, width-1)]) }
		var small []byte
		for p := range h * w {
			y, x := p/w*2, p%w*2
			small = append(small, byte((at(y, x)+at(y, x+1)+at(y+1, x)+at(y+1, x+1)+1+x/2%2)/4))
		}
		small = coded(small, h, w, quality, &chrominance)
		low := func(y, x int) int { return int(small[min(max(y, 0), h-1)*w+min(max(x, 0), w-1)]) }
		for p := range planes[c] {
			y, x := p/width, p%width
			farY, farX := y/2-1+y%2*2, x/2-1+x%2*2 // the next nearest
			near, far := 3*low(y/2, x/2)+low(farY, x/2), 3*low(y/2, farX)+low(farY, farX)
			planes[c][p] = byte((3*near + far + 8 - x%2) / 16)
		}
	}
	var out []byte
	for p, luma := range planes[0] {
		y, b, r := int(luma), int(planes[1][p])-128, int(planes[2][p])-128
		out = append(out, clip(y+(91881*r+32768)>>16), clip(y+(-22554*b-46802*r+32768)>>16), clip(y+(116130*b+32768)>>16))
	}
	return out
}

// coded is a plane behind the DCT of its blocks of 8×8, quantised. The last row and column fill
// blocks up.
func coded(plane []byte, height, width, quality int, table *[64]int) []byte {
	out := make([]byte, len(plane))
	for p := range (height + 7) / 8 * ((width + 7) / 8) {
		top, left := p/((width+7)/8)*8, p%((width+7)/8)*8
		var block [64]int
		for i := range block {
			block[i] = int(plane[min(top+i/8, height-1)*width+min(left+i%8, width-1)]) - 128
		}
		along(&block, 1, false, 11)
		along(&block, 8, false, 15)
		for i, base := range table {
			percent := 200 - 2*quality
			if quality < 50 {
				percent = 5000 / quality
			}
			step := min(max((base*percent+50)/100, 1), 255)
			if block[i] < 0 {
				block[i] = -((4*step - block[i]) / (8 * step)) * step
			} else {
				block[i] = (4*step + block[i]) / (8 * step) * step
			}
		}
		along(&block, 8, true, 11)
		along(&block, 1, true, 18)
		for i, v := range block {
			if y, x := top+i/8, left+i%8; y < height && x < width {
				out[y*width+x] = clip(v + 128)
			}
		}
	}
	return out
}

// along transforms the eight lines of a block whose values stand step apart, by the rows of cosines
// or by its columns, and divides by 2^shift, rounding halves up.
func along(block *[64]int, step int, inverse bool, shift int) {
	for line := range 8 {
		var sums [8]int
		for i := range 8 {
			for k, at := 0, line*(9-step); k < 8; k, at = k+1, at+step {
				if inverse {
					sums[i] += cosines[k][i] * block[at]
				} else {
					sums[i] += cosines[i][k] * block[at]
				}
			}
		}
		for k, at := 0, line*(9-step); k < 8; k, at = k+1, at+step {
			block[at] = (sums[k] + 1<<(shift-1)) >> shift
		}
	}
}

// cosines is √8·2¹³ times the orthonormal DCT, as the sums of libjpeg's rounded constants come out.
var cosines = [8][8]int{
	{8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192},
	{11363, 9633, 6437, 2260, -2260, -6437, -9633, -11363},
	{10703, 4433, -4433, -10703, -10703, -4433, 4433, 10703},
	{9633, -2259, -11362, -6436, 6436, 11362, 2259, -9633},
	{8192, -8192, -8192, 8192, 8192, -8192, -8192, 8192},
	{6437, -11362, 2261, 9633, -9633, -2261, 11362, -6437},
	{4433, -10704, 10704, -4433, -4433, 10704, -10704, 4433},
	{2260, -6436, 9633, -11363, 11363, -9633, 6436, -2260},
}

// The tables of ITU-T T.81, annex K, at quality 50.
var luminance, chrominance = [64]int{
	16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87,
	80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92,
	95, 98, 112, 100, 103, 99,
}, func() (table [64]int) {
	for i := range table {
		table[i] = 99
	}
	for i, row := range [][]int{{17, 18, 24, 47}, {18, 21, 26, 66}, {24, 26, 56}, {47, 66}} {
		copy(table[8*i:], row)
	}
	return table
}()
