package spectral

import "fmt"

// legacy is NumPy's legacy generator (RandomState, MT19937), as far as shuffles need it: published index lists were
// drawn with it.
type legacy struct {
	state [624]uint32
	next  int
}

// newLegacy is the generator after seed(seed): init_genrand of Matsumoto and Nishimura (1998).
func newLegacy(seed uint32) *legacy {
	g := &legacy{next: 624}
	g.state[0] = seed
	for i := 1; i < len(g.state); i++ {
		g.state[i] = 1812433253*(g.state[i-1]^g.state[i-1]>>30) + uint32(i)
	}
	return g
}

// Uint32 is the next 32 bits.
func (g *legacy) Uint32() uint32 {
	if g.next == len(g.state) {
		for i := range g.state {
			y := g.state[i]&0x80000000 | g.state[(i+1)%624]&0x7fffffff
			g.state[i] = g.state[(i+397)%624] ^ y>>1 ^ y&1*0x9908b0df
		}
		g.next = 0
	}
	y := g.state[g.next]
	g.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// Permutation is a permutation of 0 … n−1, as numpy.random.permutation(n).
func (g *legacy) Permutation(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	mask := uint32(0)
	for mask < uint32(max(n-1, 0)) {
		mask = mask<<1 | 1
	}
	for i := n - 1; i > 0; i-- {
		for mask>>1 >= uint32(i) {
			mask >>= 1
		}
		j := g.Uint32() & mask
		for j > uint32(i) {
			j = g.Uint32() & mask
		}
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// Pair is the first and the last image of a path, by their places in a data set.
type Pair [2]int

// FourierPairs draws pairs of different images without replacement: the first 2·pairs entries of
// newLegacy(0).Permutation(images), two by two, as the released code of Fridovich-Keil et al. (2022) does for its
// amplitude and phase paths (5,000 of 10,000 images of CIFAR-10).
func FourierPairs(images, pairs int) ([]Pair, error) {
	if images < 2 {
		return nil, &InputError{"number of images", fmt.Sprint(images), "at least 2, for a pair"}
	}
	if pairs < 1 || 2*pairs > images {
		return nil, &InputError{"number of pairs", fmt.Sprint(pairs), fmt.Sprintf("1 to %d, half of the images",
			images/2)}
	}
	return twoByTwo(newLegacy(0).Permutation(images)[:2*pairs], nil, nil), nil
}

// twoByTwo makes pairs of the entries of a list, which are places in first and second where these are given.
func twoByTwo(list, first, second []int) []Pair {
	pairs := make([]Pair, len(list)/2)
	for k := range pairs {
		pairs[k] = Pair{list[2*k], list[2*k+1]}
		if first != nil {
			pairs[k] = Pair{first[list[2*k]], second[list[2*k+1]]}
		}
	}
	return pairs
}

// pixelPairs draws pairs for paths in pixel space, each class and each two classes being given as many: within
// the classes in their order, then between the classes i < k in lexicographic order, the first image being of class i.
// The indices follow the released code of Fridovich-Keil et al. (2022), which draws one permutation of the
// places in a class for each: with 200 pairs, CIFAR-10 has 2,000 within and 9,000 between. Where classes are not of
// equal size, the smaller of the two is permuted.
func pixelPairs(labels []int, classes, pairs int) (within, between []Pair, err error) {
	places := make([][]int, classes)
	for i, label := range labels {
		if label < 0 || label >= classes {
			return nil, nil, &InputError{fmt.Sprintf("label of image %d", i), fmt.Sprint(label), fmt.Sprintf("0 to %d",
				classes-1)}
		}
		places[label] = append(places[label], i)
	}
	for class, p := range places {
		if len(p) < 2 {
			return nil, nil, &InputError{fmt.Sprintf("number of images of class %d", class), fmt.Sprint(len(p)),
				"at least 2, for a pair within the class"}
		}
		if pairs < 1 || 2*pairs > len(p) {
			return nil, nil, &InputError{"number of pairs", fmt.Sprint(pairs),
				fmt.Sprintf("1 to %d, half of the images of class %d", len(p)/2, class)}
		}
	}
	g := newLegacy(0)
	for _, p := range places {
		within = append(within, twoByTwo(g.Permutation(len(p))[:2*pairs], p, p)...)
	}
	for i, p := range places {
		for _, q := range places[i+1:] {
			between = append(between, twoByTwo(g.Permutation(min(len(p), len(q)))[:2*pairs], p, q)...)
		}
	}
	return within, between, nil
}
