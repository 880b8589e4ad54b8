package intnet

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// at is the number of a value at a place and channel in whole numbers of any size, found from the formulas of the page
// by going back through the network.
func at(n *Network, image []int16, number, y, x, c int) *big.Int {
	v := n.values[number]
	if number == 0 {
		return big.NewInt(int64(image[(y*v.width+x)*v.channels+c]))
	}
	l := &n.Layers[number-1]
	in, sum := n.values[l.From[0]], new(big.Int)
	cut := func(a *big.Int, low, high int64) *big.Int {
		return big.NewInt(min(max(low, clampInt64(a)), high))
	}
	floor := func(a *big.Int, bits int) *big.Int { // ⌊a/2^bits⌋, by division
		return new(big.Int).Div(a, new(big.Int).Lsh(big.NewInt(1), uint(bits)))
	}
	rounded := func(a *big.Int, m int64) *big.Int { // ⌊a·m/2^15 + 1/2⌋
		return floor(a.Add(a.Mul(a, big.NewInt(2*m)), big.NewInt(1<<15)), 16)
	}
	addend := func(number int, factor []int16) *big.Int {
		r := at(n, image, number, y, x, c)
		if n.values[number].kind == Wide {
			return r
		}
		return rounded(r.Mul(r, big.NewInt(128)), int64(factor[0]))
	}
	ended := func(a *big.Int) *big.Int { return cut(rounded(cut(a, -32768, 32767), 1<<(15-l.Bits)), 0, 255) }
	switch l.Op {
	case Add:
		return ended(sum.Add(addend(l.From[0], l.Factor), addend(l.From[1], l.Factor[1:])))
	case Concat:
		for _, from := range l.From {
			if c < n.values[from].channels {
				return at(n, image, from, y, x, c)
			}
			c -= n.values[from].channels
		}
	case SumPool:
		for i := range in.height * in.width {
			sum.Add(sum, at(n, image, l.From[0], i/in.width, i%in.width, c))
		}
		return sum
	case Dense:
		for i := range in.size() {
			p := at(n, image, l.From[0], i/in.channels/in.width, i/in.channels%in.width, i%in.channels)
			sum.Add(sum, p.Mul(p, big.NewInt(int64(l.Weight[c*in.size()+i]))))
		}
		return sum.Add(sum, big.NewInt(int64(l.Bias[c])))
	}
	for k := range l.Kernel[0] * l.Kernel[1] {
		iy, ix := y*l.Stride[0]-l.Pad[0]+k/l.Kernel[1], x*l.Stride[1]-l.Pad[1]+k%l.Kernel[1]
		inside := iy >= 0 && iy < in.height && ix >= 0 && ix < in.width
		if l.Op == MaxPool {
			if inside {
				if p := at(n, image, l.From[0], iy, ix, c); p.Cmp(sum) > 0 {
					sum = p
				}
			}
			continue
		}
		each := in.channels / l.Groups
		for i := range each {
			p, from := new(big.Int), c/(l.Out/l.Groups)*each+i
			if inside {
				p = at(n, image, l.From[0], iy, ix, from)
			} else if in.kind == Grid {
				p.SetInt64(int64(n.Border[from]))
			}
			sum.Add(sum, p.Mul(p, big.NewInt(int64(l.Weight[(c*l.Kernel[0]*l.Kernel[1]+k)*each+i]))))
		}
	}
	if l.Op == MaxPool {
		return sum
	}
	a := rounded(cut(floor(sum.Add(sum, big.NewInt(int64(l.Bias[c]))), l.Shift), -32768, 32767), int64(l.Scale[c]))
	switch {
	case l.Wide:
		return a
	case l.Addend > 0:
		return ended(a.Add(a, addend(l.Addend, l.Factor)))
	}
	return cut(a, 0, 255)
}

func clampInt64(a *big.Int) int64 {
	if !a.IsInt64() {
		return int64(a.Sign()) << 62
	}
	return a.Int64()
}

// The definition has the values of the formulas in whole numbers without limits: nothing overflows on the way.
func TestDefinitionInBigIntegers(t *testing.T) {
	checked := 0
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 3))
		n := draw(random, seed%2 == 0)
		image := images(random, n, 1)
		values := [][]int32{nil}
		for _, v := range image {
			values[0] = append(values[0], int32(v))
		}
		for i := range n.Layers {
			values = append(values, n.define(i, values))
		}
		if !slices.Equal(values[len(n.Layers)], n.Define(image)) {
			t.Fatal("Define is not its layers")
		}
		for number, v := range n.values {
			if number > 0 && n.values[n.Layers[number-1].From[0]].kind != Grid && number < len(n.values)-1 &&
				seed%4 > 0 {
				continue // deep values cost much
			}
			for range 3 {
				y, x, c := random.IntN(v.height), random.IntN(v.width), random.IntN(v.channels)
				if cost(n, number) > 2e5 {
					continue
				}
				checked++
				got := int64(values[number][(y*v.width+x)*v.channels+c])
				if want := at(n, image, number, y, x, c); !want.IsInt64() || want.Int64() != got {
					t.Fatalf("seed %d: value %d (%v) at %d, %d, channel %d is %d; want %v", seed, number, v, y, x, c,
						got, want)
				}
			}
		}
	}
	if checked < 300 {
		t.Errorf("%d numbers were compared", checked)
	}
}

// cost is about how many products at computes for one number.
func cost(n *Network, number int) float64 {
	if number == 0 {
		return 1
	}
	l := &n.Layers[number-1]
	in := n.values[l.From[0]]
	each := 1.0
	switch l.Op {
	case Conv:
		each = float64(l.Kernel[0] * l.Kernel[1] * in.channels / l.Groups)
	case MaxPool:
		each = float64(l.Kernel[0] * l.Kernel[1])
	case SumPool:
		each = float64(in.height * in.width)
	case Dense:
		each = float64(in.size())
	}
	sum := 0.0
	for _, from := range l.From {
		sum = max(sum, each*cost(n, from))
	}
	if l.Addend > 0 {
		sum += cost(n, l.Addend)
	}
	return sum
}

// Rounding follows the page at every 16-bit number and the ends of the multipliers: halves up.
func TestRounding(t *testing.T) {
	for _, m := range []int64{1, 2, 3, 127, 16384, 20001, 32766, 32767} {
		for a := int64(-32768); a <= 32767; a++ {
			want := new(big.Int).Div(big.NewInt(2*a*m+1<<15), big.NewInt(1<<16)).Int64()
			if got := scaled(int32(a), int16(m)); int64(got) != want {
				t.Fatalf("%d·%d is %d; want %d", a, m, got, want)
			}
		}
	}
}
