package noise

import (
	"math"
	"sort"
	"testing"
)

// referenceCells holds ⌊2⁶⁰·Φ((2k+1)/(510σ))⌋, from mpmath 1.4.1 at 80 digits by erfc; σ is
// the float64 nearest to the decimal.
var referenceCells = []struct {
	sigma float64
	k     int
	cell  uint64
}{
	{0.01, 0, 666072280777601508},
	{0.01, -1, 486849223829245467},
	{0.01, 1, 832193516468208689},
	{0.01, -2, 320727988138638286},
	{0.01, 2, 964480762143586373},
	{0.01, -3, 188440742463260602},
	{0.01, 7, 1151036661254016600},
	{0.01, -8, 1884843352830375},
	{0.01, 15, 1152921503907231707},
	{0.01, -16, 699615268},
	{0.01, 22, 1152921504606846975},
	{0.01, -23, 0},
	{0.1, 0, 585478784916915017},
	{0.1, -1, 567442719689931958},
	{0.1, 1, 603500988688157373},
	{0.1, -2, 549420515918689602},
	{0.1, 25, 970004450530410122},
	{0.1, -26, 182917054076436853},
	{0.1, 76, 1151365178137154185},
	{0.1, -77, 1556326469692790},
	{0.1, 153, 1152921503598962199},
	{0.1, -154, 1007884776},
	{0.1, 221, 1152921504606846973},
	{0.1, -222, 2},
	{0.25, 0, 580068159508144259},
	{0.25, -1, 572853345098702716},
	{0.25, 1, 587282086354625109},
	{0.25, -2, 565639418252221866},
	{0.25, 63, 968908292660777483},
	{0.25, -64, 184013211946069492},
	{0.25, 191, 1151385098221727414},
	{0.25, -192, 1536406385119561},
	{0.25, 382, 1152921503469388863},
	{0.25, -383, 1137458112},
	{0.25, 554, 1152921504606846974},
	{0.25, -555, 1},
	{0.5, 0, 578264469775074844},
	{0.5, -1, 574657034831772131},
	{0.5, 1, 581871793765329522},
	{0.5, -2, 571049710841517453},
	{0.5, 127, 970004450530410138},
	{0.5, -128, 182917054076436837},
	{0.5, 382, 1151365178137154186},
	{0.5, -383, 1556326469692789},
	{0.5, 765, 1152921503496538781},
	{0.5, -766, 1110308194},
	{0.5, 1109, 1152921504606846974},
	{0.5, -1110, 1},
	{1.0, 0, 577362612772925534},
	{1.0, -1, 575558891833921441},
	{1.0, 1, 579166319842558673},
	{1.0, -2, 573755184764288302},
	{1.0, 255, 970550920626038732},
	{1.0, -256, 182370583980808243},
	{1.0, 765, 1151375167492735355},
	{1.0, -766, 1546337114111620},
	{1.0, 1530, 1152921503483043700},
	{1.0, -1531, 1123803275},
	{1.0, 2218, 1152921504606846974},
	{1.0, -2219, 1},
	{3.0, 0, 576761372631151849},
	{3.0, -1, 576160131975695126},
	{3.0, 1, 577362612772925534},
	{3.0, -2, 575558891833921441},
	{3.0, 765, 970186726402345150},
	{3.0, -766, 182734778204501825},
	{3.0, 2295, 1151368514455365234},
	{3.0, -2296, 1552990151481741},
	{3.0, 4590, 1152921503473958339},
	{3.0, -4591, 1132888636},
	{3.0, 6655, 1152921504606846974},
	{3.0, -6656, 1},
}

func TestThresholdCells(t *testing.T) {
	for _, c := range referenceCells {
		if testing.Short() && c.sigma > 0.5 {
			continue
		}
		g := grid(t, c.sigma)
		if got := g.cells[c.k+g.reach]; got != c.cell {
			t.Errorf("σ = %g: the threshold of k = %d is in cell %d, want %d", c.sigma, c.k, got, c.cell)
		}
	}
}

// Point masses, a distribution value and the variance (255σ)² + 1/12 − a term below 10⁻¹⁰⁰⁰,
// from mpmath 1.4.1.
func TestGridLaw(t *testing.T) {
	for _, c := range []struct {
		sigma                    float64
		zero, atMostZero, mass64 float64
		variance                 float64
		low, high                int16
	}{
		{0.25, .00625785396544, .503128926983, .00378073480753, 63.75*63.75 + 1./12, -255, 510},
		{0.5, .0031289510421, .501564475521, .00275858026153, 127.5*127.5 + 1./12, -765, 1020},
	} {
		g := grid(t, c.sigma)
		atMost := func(k int) float64 { return math.Ldexp(float64(g.cells[k+g.reach]), -wordBits) }
		mass := func(k int) float64 { return atMost(k) - atMost(k-1) }
		variance := 0.0
		for k := -g.reach + 1; k < g.reach; k++ {
			variance += float64(k*k) * mass(k)
		}
		for _, v := range []struct {
			name            string
			got, want, near float64
		}{
			{"P[K = 0]", mass(0), c.zero, 1e-14},
			{"P[K ≤ 0]", atMost(0), c.atMostZero, 1e-12},
			{"P[K = 64]", mass(64), c.mass64, 1e-14},
			{"variance", variance, c.variance, 1e-9},
		} {
			if math.Abs(v.got-v.want) > v.near {
				t.Errorf("σ = %g: %s = %.15g, want %.15g", c.sigma, v.name, v.got, v.want)
			}
		}
		if low, high := g.Limits(); low != c.low || high != c.high {
			t.Errorf("σ = %g: limits %d, %d, want %d, %d", c.sigma, low, high, c.low, c.high)
		}
	}
}

// value is the law of all 60 bits, as it is defined: the number of thresholds below u. It is
// undecided where u is the cell of one.
func value(g *Grid, u uint64) (k int, ok bool) {
	i := sort.Search(len(g.cells), func(i int) bool { return g.cells[i] >= u })
	return i - g.reach, i == len(g.cells) || g.cells[i] != u
}

var largestSigma = math.Nextafter(maxGridSigma, 0)

// A prefix of the table is decided exactly where all its 2⁴⁴ words have one value.
func TestPrefixTable(t *testing.T) {
	sigmas := []float64{1e-6, 0.25, 0.01, 0.12, 1, largestSigma}
	if testing.Short() {
		sigmas = sigmas[:2]
	}
	for _, sigma := range sigmas {
		g := grid(t, sigma)
		for prefix, got := range g.table {
			first, last := uint64(prefix)<<suffixBits, uint64(prefix+1)<<suffixBits-1
			low, lowOK := value(g, first)
			high, highOK := value(g, last)
			if decided := low == high && lowOK && highOK; decided != (got != undecided) || decided && low != int(got) {
				t.Fatalf("σ = %g: prefix %#04x has the entry %d, its words reach from %d to %d", sigma, prefix, got, low, high)
			}
		}
	}
}

// Around every threshold the value goes up by one, and the cell between is undecided.
func TestDecide(t *testing.T) {
	sigmas := []float64{1e-6, 0.25, 0.01, 0.12, 1, largestSigma}
	if testing.Short() {
		sigmas = sigmas[:2]
	}
	for _, sigma := range sigmas {
		g := grid(t, sigma)
		for _, cell := range g.cells {
			for u := max(cell, 1) - 1; u <= min(cell+1, 1<<wordBits-1); u++ {
				prefix := uint16(u >> suffixBits)
				if g.table[prefix] != undecided {
					continue
				}
				k, ok := g.decide(prefix, u&(1<<suffixBits-1))
				want, wantOK := value(g, u)
				if ok != wantOK || ok && k != want {
					t.Fatalf("σ = %g: decide(%#x) = %d, %t, want %d, %t", sigma, u, k, ok, want, wantOK)
				}
				if ok && u == cell {
					t.Fatalf("σ = %g: the cell %#x of a threshold is decided", sigma, u)
				}
			}
		}
	}
}

func grid(t testing.TB, sigma float64) *Grid {
	t.Helper()
	g, err := NewGrid(sigma)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
