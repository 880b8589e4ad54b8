package corrupt

import "github.com/certspec/certspec/pixel"

// unit holds the values of the bytes: byte/255.
var unit = func() (u [256]float64) {
	for b := range u {
		u[b] = float64(b) / pixel.Steps
	}
	return u
}()

// toUnits fills dst with the values of the bytes.
func toUnits(dst []float64, src []uint8) {
	for i, b := range src {
		dst[i] = unit[b]
	}
}

// truncated is ⌊255·clip(v, 0, 1)⌋, as the public generators write bytes.
func truncated(v float64) uint8 {
	if v >= 1 {
		return pixel.Steps
	}
	if v > 0 {
		return uint8(v * pixel.Steps)
	}
	return 0
}

// truncatedSteps is ⌊clip(v, 0, 255)⌋ of a value on the scale of bytes.
func truncatedSteps(v float64) uint8 {
	if v >= pixel.Steps {
		return pixel.Steps
	}
	if v > 0 {
		return uint8(v)
	}
	return 0
}

func truncateAll(dst []uint8, v []float64) {
	for i, v := range v {
		dst[i] = truncated(v)
	}
}

// luminance is the grey value of a colour, as by ITU-R BT.601.
func luminance(r, g, b float64) float64 {
	return float64(0.299*r) + float64(0.587*g) + float64(0.114*b)
}
