package noise

import (
	"math"
	"math/big"

	"github.com/certspec/certspec/pixel"
)

// wordBits is the number of fair bits that decide one noise value.
const wordBits = 60

// farthest is a number of standard deviations with Φ(−farthest) < 2⁻⁶⁰.
const farthest = 9.2

// thresholdCells returns, for k = −reach … reach−1, the cell of the 60-bit grid that holds the
// upper end of value k,
//
//	⌊2⁶⁰·Φ((2k+1)/(510σ))⌋,
//
// exactly. The array is sorted; that of k stands at index k+reach.
func thresholdCells(sigma float64, reach int) []uint64 {
	cells := make([]uint64, 2*reach)
	const last = 1<<wordBits - 1
	deviation := pixel.Steps * sigma
	for k := range reach {
		cell := uint64(last)
		if float64(k)+0.5 < farthest*deviation {
			cell = normalCell(sigma, k)
		}
		cells[reach+k] = cell
		cells[reach-1-k] = last - cell // Φ(−x) = 1−Φ(x), and 2⁶⁰Φ(x) is no integer
	}
	return cells
}

// normalCell returns ⌊2⁶⁰·Φ((2k+1)/(510σ))⌋ for k ≥ 0 and an argument up to farthest. It
// raises the precision until both ends of the error interval have the same floor.
func normalCell(sigma float64, k int) uint64 {
	for precision := uint(256); ; precision *= 2 {
		phi := normalCDF(sigma, k, precision)
		// normalCDF is off by less than 2⁷⁵ units; 2⁸⁰ leaves room.
		err := new(big.Int).Lsh(big.NewInt(1), 80)
		low := new(big.Int).Sub(phi, err)
		high := new(big.Int).Add(phi, err)
		low.Rsh(low, precision-wordBits)
		high.Rsh(high, precision-wordBits)
		if low.Cmp(high) == 0 {
			return low.Uint64()
		}
	}
}

// normalCDF returns 2^precision·Φ(x) for x = (2k+1)/(510σ), by the series
//
//	Φ(x) = ½ + x/√(2π) · Σ_j (−x²/2)^j / (j! (2j+1)),
//
// in fixed point. Each of its at most 2⁹ terms is rounded by a few units, and an error is
// carried on by factors x²/(2j) whose product is at most exp(x²/2) < 2⁶²; the sum is off by
// less than 2⁷⁵ units.
func normalCDF(sigma float64, k int, precision uint) *big.Int {
	fraction, exponent := math.Frexp(sigma)
	// σ = mantissa·2^exponent
	mantissa := big.NewInt(int64(fraction * (1 << 53)))
	exponent -= 53
	scale := func(numerator, denominator *big.Int, shift int) *big.Int { // numerator/denominator·2^shift
		if shift >= 0 {
			return new(big.Int).Quo(numerator.Lsh(numerator, uint(shift)), denominator)
		}
		return new(big.Int).Quo(numerator, denominator.Lsh(denominator, uint(-shift)))
	}
	odd := big.NewInt(int64(2*k + 1))
	denominator := new(big.Int).Mul(big.NewInt(2*pixel.Steps), mantissa)
	square := func(x *big.Int) *big.Int { return new(big.Int).Mul(x, x) }
	halfSquare := scale(square(odd), square(denominator), int(precision)-2*exponent-1)
	x := scale(odd, denominator, int(precision)-exponent)

	term := new(big.Int).Lsh(big.NewInt(1), precision)
	sum := new(big.Int).Set(term)
	var part, divisor big.Int
	for j := int64(1); term.Sign() != 0; j++ {
		term.Mul(term, halfSquare)
		term.Rsh(term, precision)
		term.Quo(term, divisor.SetInt64(j))
		part.Quo(term, divisor.SetInt64(2*j+1))
		if j%2 == 1 {
			sum.Sub(sum, &part)
		} else {
			sum.Add(sum, &part)
		}
	}
	sum.Mul(sum, x)
	sum.Mul(sum.Rsh(sum, precision), inverseRootTwoPi(precision))
	sum.Rsh(sum, precision)
	return sum.Add(sum, new(big.Int).Lsh(big.NewInt(1), precision-1))
}

// inverseRootTwoPi returns 2^precision/√(2π), with π from Machin's formula,
// π = 16·arctan(1/5) − 4·arctan(1/239).
func inverseRootTwoPi(precision uint) *big.Int {
	const guard = 64
	one := new(big.Int).Lsh(big.NewInt(1), precision+guard)
	arctan := func(inverse int64) *big.Int {
		power := new(big.Int).Quo(one, big.NewInt(inverse))
		sum := new(big.Int).Set(power)
		square := big.NewInt(inverse * inverse)
		for j := int64(3); power.Sign() != 0; j += 2 {
			power.Quo(power, square)
			part := new(big.Int).Quo(power, big.NewInt(j))
			if j%4 == 3 {
				part.Neg(part)
			}
			sum.Add(sum, part)
		}
		return sum
	}
	twoPi := arctan(5)
	twoPi.Mul(twoPi, big.NewInt(32))
	twoPi.Sub(twoPi, new(big.Int).Mul(arctan(239), big.NewInt(8)))
	// √(one²·one²/(2π·one) / one) = one/√(2π)
	root := new(big.Int).Mul(one, one)
	root.Mul(root, one)
	root.Quo(root, twoPi).Sqrt(root)
	return root.Rsh(root, guard)
}
