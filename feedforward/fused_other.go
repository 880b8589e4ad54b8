//go:build !amd64

package feedforward

const fused = false

// The kernels are the plain forms.
var (
	tileSum, tileSums64 = tilePlain, tilePlain64
	addSums, bendRows   = sumsPlain, bendsPlain
)

func dots(sums *[3]lane, w, c, r, m []float64) { dotsPlain(sums, w, c, r, m) }
