//go:build !goexperiment.simd || !amd64

package noise

func (g *Grid) addDecided(dst, image []int16, prefixes []byte, open []uint16) []uint16 {
	return g.addDecidedFrom(0, 0, dst, image, prefixes, open)
}
