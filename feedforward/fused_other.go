//go:build !amd64

package feedforward

const fused = false

func tileSum(sums *[tileSums]rowLane, x []rowLane, w []float32, taps []tap, k int) {
	tilePlain(sums, x, w, taps, k)
}

func tileSums64(sums *[tileSums]lane, x []lane, w []float64, taps []tap, k int) {
	tilePlain64(sums, x, w, taps, k)
}

func dots(sums *[3]lane, w, c, r, m []float64) { dotsPlain(sums, w, c, r, m) }

func addSums(sums *[width]float64, g []rowLane, lines []bend) { sumsPlain(sums, g, lines) }

func bendRows(sums *[width]float64, g []rowLane, lines []bend, gin []rowLane, fresh bool) {
	bendsPlain(sums, g, lines, gin, fresh)
}
