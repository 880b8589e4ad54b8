package intnet

import (
	"math"
	"math/rand/v2"
)

// draw makes a random network that Check takes: every operation, torn shapes, odd channels, groups, strides. With
// extreme, parameters lie at both ends of their types more often than not: weights of 16 bits at −32,768 and 32,767,
// biases and sums at ±(2³¹ − 1), multipliers and factors at 1 and 32,767, shifts at 0 and 24, bits at 1 and 14.
func draw(random *rand.Rand, extreme bool) *Network {
	between := func(low, high int) int { return low + random.IntN(high-low+1) }
	n := &Network{Height: between(1, 13), Width: between(1, 20), Channels: between(1, 4), Low: -255, High: 510,
		Unit: [2]int32{int32(between(1, 1<<20)), int32(-between(1, 30))}}
	if extreme && random.IntN(2) == 0 {
		n.Low, n.High = math.MinInt16, math.MaxInt16
	}
	for range n.Channels {
		n.Border = append(n.Border, int16(between(int(n.Low), int(n.High))))
	}
	weight := func(most int) int16 {
		least := -most
		if most == math.MaxInt16 {
			least = math.MinInt16
		}
		if extreme && random.IntN(2) == 0 {
			return []int16{int16(least), int16(most)}[random.IntN(2)]
		}
		return int16(between(least, most))
	}
	either := func(low, high int) int {
		if extreme && random.IntN(2) == 0 {
			return []int{low, high}[random.IntN(2)]
		}
		return between(low, high)
	}
	// bias is one of the largest that Check takes, or some
	bias := func(l *Layer, top int64, some int32) int32 {
		if !extreme || random.IntN(2) == 0 {
			return some
		}
		sum, each := int64(0), len(l.Weight)/l.Out
		for _, w := range l.Weight[len(l.Bias)*each : (len(l.Bias)+1)*each] {
			sum += max(int64(w), -int64(w))
		}
		return int32(math.MaxInt32-top*sum) * int32(2*random.IntN(2)-1)
	}
	factor := func() int16 {
		if extreme && random.IntN(3) == 0 {
			return []int16{1, 32767}[random.IntN(2)]
		}
		return int16(between(1, 32767))
	}
	values := []value{{n.Height, n.Width, n.Channels, Grid, max(int64(n.High), -int64(n.Low))}}
	of := func(ok func(v value) bool) []int {
		var list []int
		for i, v := range values {
			if ok(v) {
				list = append(list, i)
			}
		}
		return list
	}
	pick := func(list []int) int { return list[random.IntN(len(list))] }
	isByte := func(v value) bool { return v.kind == Byte }
	for layers := between(1, 7); ; {
		l := Layer{}
		bytes := of(isByte)
		kind := random.IntN(10)
		last := len(n.Layers) >= layers && len(bytes) > 0
		switch {
		case last:
			l.Op, l.From, l.Out = Dense, []int{pick(bytes)}, between(2, 12)
			if random.IntN(2) == 0 {
				n.Layers = append(n.Layers, Layer{Op: SumPool, From: l.From})
				in := values[l.From[0]]
				values = append(values, value{1, 1, in.channels, Sums, 255 * int64(in.height*in.width)})
				l.From = []int{len(values) - 1}
			}
			in := values[l.From[0]]
			most := int(min(32767, (math.MaxInt32-1<<20)/in.top/int64(in.size())))
			most = min(most, []int{127, 32639, 32767}[random.IntN(3)]) // one byte, two, and what two do not hold
			if most == 32767 && int64(in.size())*in.top > (math.MaxInt32-1<<20)>>15 {
				most--
			}
			for range l.Out * in.size() {
				l.Weight = append(l.Weight, weight(most))
			}
			for range l.Out {
				l.Bias = append(l.Bias, bias(&l, in.top, int32(between(-1<<20, 1<<20))))
			}
		case len(bytes) > 0 && kind == 0:
			from := pick(bytes)
			same := of(func(v value) bool { return v == values[from] })
			l = Layer{Op: Add, From: []int{from, pick(same)}, Factor: []int16{factor(), factor()}, Bits: either(1, 14)}
		case len(bytes) > 0 && kind == 1:
			from := pick(bytes)
			l = Layer{Op: Concat, From: []int{from}}
			for range between(1, 2) {
				l.From = append(l.From, pick(of(func(v value) bool {
					return v.kind == Byte && v.height == values[from].height && v.width == values[from].width
				})))
			}
		default:
			l.From = []int{pick(of(func(v value) bool { return v.kind == Byte || v.kind == Grid }))}
			in := values[l.From[0]]
			for i, size := range []int{in.height, in.width} {
				l.Kernel[i] = between(1, min(size, []int{1, 3, 3, 5, 20}[random.IntN(5)]))
				l.Stride[i] = between(1, 3)
				l.Pad[i], l.Pad[i+2] = random.IntN(l.Kernel[i]), random.IntN(l.Kernel[i])
			}
			if kind == 2 && in.kind == Byte {
				l.Op = MaxPool
				break
			}
			l.Op, l.Groups = Conv, 1
			if random.IntN(4) == 0 {
				for l.Groups = in.channels; random.IntN(2) == 0 && l.Groups%2 == 0; {
					l.Groups /= 2
				}
			}
			l.Out = l.Groups * between(1, max(1, 40/l.Groups))
			if add := of(func(v value) bool { return v.kind == Wide }); len(add) > 0 && random.IntN(2) == 0 {
				l.Addend = pick(add)
			} else if add := of(isByte); len(add) > 0 && random.IntN(2) == 0 {
				l.Addend = pick(add)
			}
			if a := values[l.Addend]; l.Addend > 0 { // the shape of the addend, by a kernel that fits
				l.Kernel[0], l.Kernel[1], l.Stride = max(1, in.height-a.height+1), max(1, in.width-a.width+1),
					[2]int{1, 1}
				l.Pad = [4]int{}
				if in.height < a.height || in.width < a.width {
					l.Addend = 0
				} else {
					l.Out, l.Groups = a.channels, 1
					l.Bits = either(1, 14)
					if a.kind == Byte {
						l.Factor = []int16{factor()}
					}
				}
			}
			l.Wide = l.Addend == 0 && random.IntN(5) == 0
			patch := l.Kernel[0] * l.Kernel[1] * in.channels / l.Groups
			most := 127
			if in.kind == Grid {
				widest := int64(2047)
				if extreme && int64(patch)*in.top <= (math.MaxInt32-1<<24)>>15 {
					widest = 32767
				}
				most = int(min(widest, (math.MaxInt32-1<<24)/in.top/int64(patch)))
			}
			for range l.Out * patch {
				l.Weight = append(l.Weight, weight(most))
			}
			spread := math.Sqrt(float64(patch)) * float64(most) * float64(min(in.top, 600))
			l.Shift = min(24, max(0, between(-3, 1)+int(math.Log2(spread/20000))))
			if extreme && random.IntN(4) == 0 {
				l.Shift = either(0, 24)
			}
			for range l.Out {
				l.Bias = append(l.Bias, bias(&l, in.top, int32((2*random.Float64()-1)*min(spread, 1<<24))))
				l.Scale = append(l.Scale, factor())
			}
		}
		n.Layers = append(n.Layers, l)
		if last {
			break
		}
		trial := &Network{Height: n.Height, Width: n.Width, Channels: n.Channels, Low: n.Low, High: n.High,
			values: values}
		v, err := trial.layer(&n.Layers[len(n.Layers)-1], false)
		if err != nil || v.size() > 40000 {
			n.Layers = n.Layers[:len(n.Layers)-1]
			continue
		}
		values = append(values, v)
	}
	if err := Check(n); err != nil {
		panic(err)
	}
	return n
}

// images are random ones for a network: values of the whole range, of its ends, and of the middle.
func images(random *rand.Rand, n *Network, count int) []int16 {
	out := make([]int16, count*n.Height*n.Width*n.Channels)
	low, high := int(n.Low), int(n.High)
	for i := range out {
		switch random.IntN(4) {
		case 0:
			out[i] = []int16{n.Low, n.High}[random.IntN(2)]
		case 1:
			out[i] = int16(low + random.IntN(high-low+1))
		default:
			out[i] = int16(random.IntN(min(256, high+1)))
		}
	}
	return out
}
