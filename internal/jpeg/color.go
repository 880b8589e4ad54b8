package jpeg

// clip is the byte nearest to v.
func clip(v int32) uint8 {
	if uint32(v) > 255 {
		return uint8(^(v >> 31))
	}
	return uint8(v)
}

// YCC makes luma and colour differences of a pixel.
func YCC(red, green, blue uint8) (y, cb, cr uint8) {
	r, g, b := int32(red), int32(green), int32(blue)
	return uint8((19595*r + 38470*g + 7471*b + 1<<15) >> 16),
		uint8((-11059*r - 21709*g + 32768*b + 128<<16 + 1<<15 - 1) >> 16),
		uint8((32768*r - 27439*g - 5329*b + 128<<16 + 1<<15 - 1) >> 16)
}

// RGB makes the pixels of a row, three bytes each, of their luma and colour differences.
func RGB(out, y, cb, cr []uint8) {
	cb, cr, out = cb[:len(y)], cr[:len(y)], out[:3*len(y)]
	for x, luma := range y {
		l, b, r := int32(luma), int32(cb[x])-128, int32(cr[x])-128
		pixel := (*[3]uint8)(out[3*x:])
		pixel[0] = clip(l + (91881*r+1<<15)>>16)
		pixel[1] = clip(l + (-22554*b-46802*r+1<<15)>>16)
		pixel[2] = clip(l + (116130*b+1<<15)>>16)
	}
}

// Wider interpolates a row to twice the width: 3/4 of the nearer pixel, 1/4 of the next, halves
// rounded down and up in turn.
func Wider(out, row []uint8) {
	before, here := int32(row[0]), int32(row[0])
	for x := range row {
		after := int32(row[min(x+1, len(row)-1)])
		out[2*x] = uint8((3*here + before + 1) >> 2)
		if 2*x+1 < len(out) {
			out[2*x+1] = uint8((3*here + after + 2) >> 2)
		}
		before, here = here, after
	}
}

// Taller interpolates between two rows: 3/4 of the nearer, 1/4 of the other, which lies below or above.
func Taller(out, near, far []uint8, below bool) {
	bias := int32(1)
	if below {
		bias = 2
	}
	far, out = far[:len(near)], out[:len(near)]
	for x, v := range near {
		out[x] = uint8((3*int32(v) + int32(far[x]) + bias) >> 2)
	}
}

// Larger interpolates two rows to one of twice the width, between them: 9/16, 3/16, 3/16 and 1/16
// of the four neighbours of a pixel.
func Larger(out, near, far []uint8) {
	far = far[:len(near)]
	before := 3*int32(near[0]) + int32(far[0])
	here := before
	for x := range near {
		after := here
		if x+1 < len(near) {
			after = 3*int32(near[x+1]) + int32(far[x+1])
		}
		out[2*x] = uint8((3*here + before + 8) >> 4)
		if 2*x+1 < len(out) {
			out[2*x+1] = uint8((3*here + after + 7) >> 4)
		}
		before, here = here, after
	}
}
