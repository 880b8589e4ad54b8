package kernel

import "golang.org/x/sys/cpu"

// fused and fused512 say which forms of the kernels run; a test turns them off.
var (
	fused    = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	fused512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL
)

//go:noescape
func tile512s(sums *[TileSums]RowLane, x []RowLane, w []float32, taps []Tap, k int)

//go:noescape
func tile256s(sums *[TileSums]RowLane, x []RowLane, w []float32, taps []Tap, k int)

//go:noescape
func tile512d(sums *[TileSums]Lane, x []Lane, w []float64, taps []Tap, k int)

//go:noescape
func tile256d(sums *[TileSums]Lane, x []Lane, w []float64, taps []Tap, k int)

//go:noescape
func dots512(sums *[3]Lane, w, c, r, m []float64)

//go:noescape
func sums512(sums *[Width]float64, g []RowLane, lines []Bend)

//go:noescape
func bends512(sums *[Width]float64, g []RowLane, lines []Bend, gin []RowLane, fresh bool)

func TileSum(sums *[TileSums]RowLane, x []RowLane, w []float32, taps []Tap, k int) {
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

func TileSums64(sums *[TileSums]Lane, x []Lane, w []float64, taps []Tap, k int) {
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

func dots(sums *[3]Lane, w, c, r, m []float64) {
	if fused512 && len(w) >= Lanes {
		dots512(sums, w, c, r, m)
		return
	}
	dotsPlain(sums, w, c, r, m)
}

func AddSums(sums *[Width]float64, g []RowLane, lines []Bend) {
	if fused512 && len(lines) > 0 {
		sums512(sums, g, lines)
		return
	}
	sumsPlain(sums, g, lines)
}

func BendRows(sums *[Width]float64, g []RowLane, lines []Bend, gin []RowLane, fresh bool) {
	if fused512 && len(lines) > 0 {
		bends512(sums, g, lines, gin, fresh)
		return
	}
	bendsPlain(sums, g, lines, gin, fresh)
}

// EachForm calls try with each form in turn, for tests.
func EachForm(try func(form string)) {
	was, wide := fused, fused512
	defer func() { fused, fused512 = was, wide }()
	try("AVX-512, where it is there")
	fused512 = false
	try("AVX2")
	fused = false
	try("plain")
}
