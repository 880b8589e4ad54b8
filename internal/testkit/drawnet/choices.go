package drawnet

import "math/rand/v2"

// Choices is a sequence of small numbers that decides what is drawn. It comes from a seed, or from
// bytes, behind whose end every choice is 0. A choice of 0 is the plainest one: few bytes, or small
// ones, make a small network. The choices that were made are kept, so that a network that was drawn
// from a seed can be drawn again from bytes, and shrunk.
type Choices struct {
	random *rand.Rand // nil: from given
	given  []byte
	made   []byte
}

// FromSeed draws choices from a seed.
func FromSeed(seed uint64) *Choices {
	return &Choices{random: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
}

// FromBytes takes choices from bytes.
func FromBytes(given []byte) *Choices { return &Choices{given: given} }

// Made are the choices so far; FromBytes makes them again.
func (c *Choices) Made() []byte { return c.made }

// upTo chooses one of 0 … n−1, n at most 256.
func (c *Choices) upTo(n int) int {
	v := 0
	switch {
	case c.random != nil:
		v = c.random.IntN(n)
	case len(c.given) > 0:
		v, c.given = int(c.given[0])%n, c.given[1:]
	}
	c.made = append(c.made, byte(v))
	return v
}

// between chooses one of low … high.
func (c *Choices) between(low, high int) int { return low + c.upTo(high-low+1) }

// once is true once in n times.
func (c *Choices) once(n int) bool { return c.upTo(n) == n-1 }

// weighed chooses a place in a list with a probability in proportion to its weight.
func (c *Choices) weighed(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	v := c.upTo(sum)
	for i, w := range weights {
		if v -= w; v < 0 {
			return i
		}
	}
	return 0
}

// among chooses a value of a list.
func among[T any](c *Choices, list ...T) T { return list[c.upTo(len(list))] }

// numbers is a stream of random numbers behind one choice of 16 bits, for weights: a network has
// too many of them for a choice each.
func (c *Choices) numbers() *rand.Rand {
	return rand.New(rand.NewPCG(uint64(c.upTo(256)), uint64(c.upTo(256))))
}

// Shrink makes choices smaller as long as the network that they draw still fails, in at most so many
// tries: it leaves choices out and replaces them by smaller ones.
func Shrink(choices []byte, tries int, fails func(choices []byte) bool) []byte {
	best := append([]byte{}, choices...)
	attempt := func(candidate []byte) bool {
		if tries <= 0 {
			return false
		}
		tries--
		if !fails(candidate) {
			return false
		}
		best = candidate
		return true
	}
	for before := -1; before != score(best) && tries > 0; {
		before = score(best)
		for length := len(best) / 2; length > 0; length /= 2 {
			for at := 0; at+length <= len(best); {
				if !attempt(append(append([]byte{}, best[:at]...), best[at+length:]...)) {
					at += length
				}
			}
		}
		for at := 0; at < len(best); at++ {
			for _, v := range []byte{0, best[at] / 2, best[at] - 1} {
				if v < best[at] {
					candidate := append([]byte{}, best...)
					if candidate[at] = v; attempt(candidate) {
						break
					}
				}
			}
		}
	}
	return best
}

// score tells whether shrinking got on.
func score(choices []byte) int {
	sum := 256 * len(choices)
	for _, v := range choices {
		sum += int(v)
	}
	return sum
}
