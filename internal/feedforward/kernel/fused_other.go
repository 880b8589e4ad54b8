//go:build !amd64

package kernel

const fused = false

// The kernels are the plain forms.
var (
	TileSum, TileSums64 = tilePlain, tilePlain64
	AddSums, BendRows   = sumsPlain, bendsPlain
)

func dots(sums *[3]Lane, w, c, r, m []float64) { dotsPlain(sums, w, c, r, m) }

// EachForm calls try with each form in turn, for tests.
func EachForm(try func(form string)) { try("plain") }
