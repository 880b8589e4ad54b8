package feedforward

import "golang.org/x/sys/cpu"

// fused and fused512 say which forms of the kernels run; a test turns them off.
var (
	fused    = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	fused512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL
)

//go:noescape
func tile512s(sums *[tileSums]rowLane, x []rowLane, w []float32, taps []tap, k int)

//go:noescape
func tile256s(sums *[tileSums]rowLane, x []rowLane, w []float32, taps []tap, k int)

//go:noescape
func tile512d(sums *[tileSums]lane, x []lane, w []float64, taps []tap, k int)

//go:noescape
func tile256d(sums *[tileSums]lane, x []lane, w []float64, taps []tap, k int)

//go:noescape
func dots512(sums *[3]lane, w, c, r, m []float64)

//go:noescape
func sums512(sums *[width]float64, g []rowLane, lines []bend)

//go:noescape
func bends512(sums *[width]float64, g []rowLane, lines []bend, gin []rowLane, fresh bool)

func tileSum(sums *[tileSums]rowLane, x []rowLane, w []float32, taps []tap, k int) {
	switch {
	case len(taps) == 0 || k == 0:
	case fused512:
		tile512s(sums, x, w, taps, k)
	case fused:
		tile256s(sums, x, w, taps, k)
	default:
		tilePlain(sums, x, w, taps, k)
	}
}

func tileSums64(sums *[tileSums]lane, x []lane, w []float64, taps []tap, k int) {
	switch {
	case len(taps) == 0 || k == 0:
	case fused512:
		tile512d(sums, x, w, taps, k)
	case fused:
		tile256d(sums, x, w, taps, k)
	default:
		tilePlain64(sums, x, w, taps, k)
	}
}

func dots(sums *[3]lane, w, c, r, m []float64) {
	if fused512 && len(w) >= Lanes {
		dots512(sums, w, c, r, m)
		return
	}
	dotsPlain(sums, w, c, r, m)
}

func addSums(sums *[width]float64, g []rowLane, lines []bend) {
	if fused512 && len(lines) > 0 {
		sums512(sums, g, lines)
		return
	}
	sumsPlain(sums, g, lines)
}

func bendRows(sums *[width]float64, g []rowLane, lines []bend, gin []rowLane, fresh bool) {
	if fused512 && len(lines) > 0 {
		bends512(sums, g, lines, gin, fresh)
		return
	}
	bendsPlain(sums, g, lines, gin, fresh)
}
