package noise

import (
	"crypto/aes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// reference draws one value of a sample from all its 60 bits, block by block of the cipher, as the
// comments of Grid and gridStream define it.
func reference(g *Grid, at Address, length, number, i int, x int16) int16 {
	var message [48]byte
	copy(message[:], "grid/1")
	for j, field := range []uint64{at.Seed, at.Image, at.Block, 0} {
		binary.LittleEndian.PutUint64(message[16+8*j:], field)
	}
	secret := sha256.Sum256(message[:])
	cipher, err := aes.NewCipher(secret[:16])
	if err != nil {
		panic(err)
	}
	place := uint64(number*((length+7)/8)*8 + i)
	encrypt := func(top byte, counter uint64) (out [16]byte) {
		out[0] = top
		binary.BigEndian.PutUint64(out[8:], counter)
		cipher.Encrypt(out[:], out[:])
		return out
	}
	prefixes, suffixes := encrypt(0, place/8), encrypt(0x80, place)
	prefix := uint64(binary.LittleEndian.Uint16(prefixes[place%8*2:]))
	suffix := binary.LittleEndian.Uint64(suffixes[:]) >> 20
	k, ok := value(g, prefix<<44|suffix)
	if !ok {
		panic("noise_test: the cell of a threshold was drawn, which has a probability of 2⁻⁴⁹")
	}
	return int16(max(g.low, min(g.high, int(x)+k)))
}

func TestGridAgainstReference(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	sigmas := []float64{1e-6, 0.25, 0.01, 0.2, 1, largestSigma}
	if testing.Short() {
		sigmas = sigmas[:2]
	}
	for _, sigma := range sigmas {
		g := grid(t, sigma)
		for _, length := range []int{1, 3, 7, 8, 9, 784, 2047, 2048, 2049, 4100} {
			at := Address{Seed: random.Uint64(), Image: random.Uint64N(60000), Block: random.Uint64N(1000)}
			first := random.IntN(200)
			const number = 3
			image := make([]int16, length)
			for i := range image {
				image[i] = int16(g.low + random.IntN(g.high-g.low+1))
			}
			image[0] = int16(g.low)
			image[length-1] = int16(g.high)
			dst := make([]int16, number*length)
			failed, err := g.AddTo(dst, image, at, first, nil)
			if err != nil || len(failed) > 0 {
				t.Fatalf("σ = %g: failed noise samples %v, error %v", sigma, failed, err)
			}
			for j, got := range dst {
				c, i := j/length, j%length
				if want := reference(g, at, length, first+c, i, image[i]); got != want {
					t.Fatalf("σ = %g, %d values: value %d of noise sample %d is %d, want %d", sigma, length, i, first+c, got, want)
				}
			}
		}
	}
}

// However a block is cut, its samples are the same; the noise does not depend on the image.
func TestArrangement(t *testing.T) {
	const length, number = 85, 40
	g := grid(t, 0.1) // clamping would need a noise of ten standard deviations at these images
	at := Address{Seed: 7, Image: 3, Block: 11}
	black, white := make([]int16, length), slices.Repeat([]int16{255}, length)
	whole := make([]int16, number*length)
	if _, err := g.AddTo(whole, black, at, 0, nil); err != nil {
		t.Fatal(err)
	}
	parts := make([]int16, len(whole))
	for first := 0; first < number; {
		n := min(first%7+1, number-first)
		if _, err := g.AddTo(parts[first*length:(first+n)*length], white, at, first, nil); err != nil {
			t.Fatal(err)
		}
		first += n
	}
	for i := range parts {
		parts[i] -= 255
	}
	if !slices.Equal(whole, parts) {
		t.Error("noise samples drawn in parts, on another image, have other noise than those of a whole block")
	}
}

func TestConcurrentUse(t *testing.T) {
	want := draw(t, Address{Seed: 1}, 3)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if got := draw(t, Address{Seed: 1}, 3); !slices.Equal(got, want) {
				t.Error("the same address gives other noise in another goroutine")
			}
		})
	}
	group.Wait()
}

// draw is the noise of samples of a 32×32×3 image at σ = 0.3, which no other test uses first.
func draw(t *testing.T, at Address, number int) []int16 {
	g, err := NewGrid(0.3)
	if err != nil {
		t.Error(err)
		return nil
	}
	dst := make([]int16, number*3072)
	if _, err := g.AddTo(dst, make([]int16, 3072), at, 0, nil); err != nil {
		t.Error(err)
	}
	return dst
}

// Different addresses give unrelated noise: correlations of 10 samples (30,720 values) have a
// standard deviation of 1/√30720; a false alarm at six of them has a probability of 2e-9 for each of the pairs.
func TestAddressesAreIndependent(t *testing.T) {
	addresses := []Address{
		{}, {Seed: 1}, {Image: 1}, {Block: 1}, {Seed: 1, Image: 1}, {Image: 1, Block: 1},
		{Seed: 256}, {Image: 256}, {Block: 256}, {Seed: 1 << 63}, {Image: 1 << 63}, {Block: 1 << 63},
	}
	var noises [][]int16
	for _, at := range addresses {
		noises = append(noises, draw(t, at, 10))
	}
	noises = append(noises, draw(t, Address{}, 20)[10*3072:]) // the next samples of the same block
	shifted := append(slices.Clone(noises[0][1:]), noises[0][0])
	noises = append(noises, shifted) // and neighbours within a sample
	correlation := func(a, b []int16) float64 {
		var ab, aa, bb float64
		for i := range a {
			x, y := float64(a[i]), float64(b[i])
			ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
		}
		return ab / math.Sqrt(aa*bb)
	}
	for i := range noises {
		for j := range i {
			if r := correlation(noises[i], noises[j]); math.Abs(r) > 6/math.Sqrt(30720) {
				t.Errorf("noise of addresses %d and %d correlates: %g", j, i, r)
			}
		}
	}
}

// The law of a million values against exact masses: χ² over all values with an expectation of
// at least 10, tails joined. Fixed seed; the probability of a false alarm was 10⁻⁶ before it was fixed.
func TestChiSquare(t *testing.T) {
	for _, sigma := range []float64{0.01, 0.12, 0.25} {
		g := grid(t, sigma)
		const length, number = 1000, 1000
		dst := make([]int16, length*number)
		middle := slices.Repeat([]int16{128}, length)
		if _, err := g.AddTo(dst, middle, Address{Seed: 5, Image: 6, Block: 7}, 0, nil); err != nil {
			t.Fatal(err)
		}
		counts := map[int]int{}
		for _, z := range dst {
			counts[int(z)-128]++
		}
		var statistic, expected, observed float64
		cells, before := 0, 0.0
		for k := -g.reach; k <= g.reach; k++ {
			upTo := 1.0
			if k < g.reach {
				upTo = math.Ldexp(float64(g.cells[k+g.reach]), -wordBits)
			}
			expected += (upTo - before) * length * number
			observed += float64(counts[k])
			if expected >= 10 && (1-upTo)*length*number >= 10 || k == g.reach {
				statistic += (observed - expected) * (observed - expected) / expected
				expected, observed = 0, 0
				cells++
			}
			before = upTo
		}
		limit := distuv.ChiSquared{K: float64(cells - 1)}.Quantile(1 - 1e-6)
		if cells < 5 || statistic > limit {
			t.Errorf("σ = %g: χ² is %.1f over %d cells, limit %.1f", sigma, statistic, cells, limit)
		}
	}
}

// A sample with a value whose 60 bits are the cell of a threshold is reported, and no other one.
func TestFailedSamples(t *testing.T) {
	const length, number, first = 20, 6, 4
	at := Address{Seed: 1, Image: 2, Block: 3}
	identity := newGridStream(LawGrid, at, first, blocks(length))
	// The 60 bits of value 13 of sample first+2, and of value 0 of sample first+5.
	var cells []uint64
	for c := range number {
		place, prefixes := identity.prefixes(length)
		for i := range length {
			if c == 2 && i == 13 || c == 5 && i == 0 {
				prefix := uint64(binary.LittleEndian.Uint16(prefixes[2*i:]))
				suffix := []uint64{place + uint64(i)}
				identity.bits.suffixes(suffix)
				cells = append(cells, prefix<<suffixBits|suffix[0])
			}
		}
	}
	slices.Sort(cells)
	g := &Grid{low: -255, high: 510, reach: len(cells) / 2, cells: cells}
	g.prefixes()
	g.addDecided = g.addPlain
	failed, err := g.AddTo(make([]int16, number*length), make([]int16, length), at, first, []int{-1})
	if err != nil || !slices.Equal(failed, []int{-1, 2, 5}) {
		t.Errorf("failed noise samples %v, error %v, want 2 and 5 appended", failed, err)
	}
}

// The bytes of a block must never change for a version of the law, on any platform. The values are
// those of TestGridAgainstReference's law; the digest keeps them.
func TestGridStreamIsStable(t *testing.T) {
	g := grid(t, 0.25)
	image := make([]int16, 3072)
	for i := range image {
		image[i] = int16(i % 256)
	}
	dst := make([]int16, 100*len(image))
	if _, err := g.AddTo(dst, image, Address{Seed: 1, Image: 2, Block: 3}, 0, nil); err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	for _, z := range dst {
		hash.Write([]byte{byte(z), byte(uint16(z) >> 8)})
	}
	const want = "8e18d83e73e8d1fab51ee62b252bee19a652a12f97c10f17d1bbfb9f22449471"
	if got := hex.EncodeToString(hash.Sum(nil)); got != want {
		t.Errorf("digest of a block is %s, want %s", got, want)
	}
}

func TestGridAllocatesPerBlockOnly(t *testing.T) {
	g := grid(t, 0.25)
	image, block := make([]int16, 784), make([]int16, 100*784)
	allocations := func(dst []int16) float64 {
		return testing.AllocsPerRun(5, func() {
			if _, err := g.AddTo(dst, image, Address{}, 0, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	if one, all := allocations(block[:784]), allocations(block); all > one {
		t.Errorf("a block of 100 noise samples takes %v allocations, one noise sample %v", all, one)
	}
}

func TestBadInput(t *testing.T) {
	check := func(name string, err error, argument string) {
		t.Helper()
		var input *InputError
		if !errors.As(err, &input) || input.Argument != argument {
			t.Errorf("%s: error %v, want one that names %s", name, err, argument)
		}
	}
	for _, sigma := range []float64{0, -0.25, math.NaN(), math.Inf(1), math.Inf(-1), maxGridSigma} {
		_, err := NewGrid(sigma)
		check(fmt.Sprintf("NewGrid(%g)", sigma), err, "sigma")
		if sigma != maxGridSigma {
			_, err = NewGaussian(sigma)
			check(fmt.Sprintf("NewGaussian(%g)", sigma), err, "sigma")
		}
	}
	g := grid(t, 0.25)
	for _, x := range []int16{-256, 511, math.MinInt16, math.MaxInt16} {
		_, err := g.AddTo(make([]int16, 3), []int16{0, 0, x}, Address{}, 0, nil)
		check(fmt.Sprintf("image value %d", x), err, "image value 2")
	}
	for _, name := range []string{"grid/2", "Grid", "normal", "approx-grid"} {
		_, err := ParseLaw(name)
		check(name, err, "noise law")
	}
	for name, want := range map[string]Law{"": LawGrid, "grid": LawGrid, "grid/1": LawGrid, "gaussian": LawGaussian, "gaussian/1": LawGaussian} {
		if got, err := ParseLaw(name); got != want || err != nil {
			t.Errorf("ParseLaw(%q) = %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestMisusePanics(t *testing.T) {
	g := grid(t, 0.25)
	gaussian, err := NewGaussian(0.25)
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(){
		"half an image":               func() { _, _ = g.AddTo(make([]int16, 7), make([]int16, 2), Address{}, 0, nil) },
		"empty image":                 func() { _, _ = g.AddTo(nil, nil, Address{}, 0, nil) },
		"negative noise sample":       func() { _, _ = g.AddTo(make([]int16, 2), make([]int16, 2), Address{}, -1, nil) },
		"half a real image":           func() { gaussian.AddTo(make([]float32, 7), make([]int16, 2), Address{}, 0) },
		"negative noise sample, real": func() { gaussian.AddTo(make([]float32, 2), make([]int16, 2), Address{}, -1) },
		"law with a long name":        func() { key("a law of more than sixteen bytes", Address{}, 0) },
	} {
		func() {
			defer func() {
				if message, _ := recover().(string); len(message) < 6 || message[:6] != "noise:" {
					t.Errorf("%s: no panic that begins with the package's name, but %q", name, message)
				}
			}()
			call()
		}()
	}
}

func BenchmarkGrid(b *testing.B) {
	for _, length := range []int{784, 3072} {
		for _, sigma := range []float64{0.25, 0.5} {
			b.Run(fmt.Sprintf("values=%d/sigma=%g", length, sigma), func(b *testing.B) {
				g := grid(b, sigma)
				image, dst := make([]int16, length), make([]int16, 100*length)
				block := uint64(0)
				for b.Loop() {
					block++
					if _, err := g.AddTo(dst, image, Address{Block: block}, 0, nil); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(100*b.N), "ns/sample")
			})
		}
	}
}

// The normal draws of math/rand/v2 of the same length, for comparison.
func BenchmarkNormFloat64(b *testing.B) {
	for name, source := range map[string]rand.Source{"PCG": rand.NewPCG(1, 2), "ChaCha8": rand.NewChaCha8([32]byte{})} {
		for _, length := range []int{784, 3072} {
			b.Run(fmt.Sprintf("%s/values=%d", name, length), func(b *testing.B) {
				random := rand.New(source)
				dst := make([]float32, 100*length)
				for b.Loop() {
					for i := range dst {
						dst[i] = float32(random.NormFloat64())
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(100*b.N), "ns/sample")
			})
		}
	}
}

func BenchmarkNewGrid(b *testing.B) {
	for _, sigma := range []float64{0.25, 0.5, 1} {
		b.Run(fmt.Sprintf("sigma=%g", sigma), func(b *testing.B) {
			for b.Loop() {
				newGrid(sigma)
			}
		})
	}
}
