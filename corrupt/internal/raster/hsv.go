package raster

import "math"

// ToHSV gives hue, saturation and value of a colour, all in [0, 1]; hue and saturation of a grey are 0.
func ToHSV(r, g, b float64) (h, s, v float64) {
	v = max(r, g, b)
	delta := v - min(r, g, b)
	if delta == 0 {
		return 0, 0, v
	}
	switch v { // of equal channels the last decides, as in scikit-image
	case b:
		h = 4 + (r-g)/delta
	case g:
		h = 2 + (b-r)/delta
	default:
		h = (g - b) / delta
	}
	h /= 6
	return h - math.Floor(h), delta / v, v
}

// FromHSV is the colour of a hue, saturation and value.
func FromHSV(h, s, v float64) (r, g, b float64) {
	h = float64(h * 6)
	sector := math.Floor(h)
	f := h - sector
	p := v * (1 - s)
	q := v * (1 - float64(f*s))
	t := v * (1 - float64((1-f)*s))
	switch int(sector) % 6 {
	case 0:
		return v, t, p
	case 1:
		return q, v, p
	case 2:
		return p, v, t
	case 3:
		return p, q, v
	case 4:
		return t, p, v
	}
	return v, p, q
}
