package intnet

import "math"

// saturate cuts to an int16, as packing instructions do.
func saturate(x int32) int32 { return min(max(x, math.MinInt16), math.MaxInt16) }

// scaled is a·m/2^15, rounded to nearest, halves up: one instruction on lanes of 16 bits. Both fit int16, and m > 0.
func scaled(a int32, m int16) int32 { return (a*int32(m) + 1<<14) >> 15 }

func toByte(x int32) int32 { return min(max(x, 0), 255) }

// Define computes the logits of an image of height × width × channels values, as the function is defined: without
// vectors or tricks. Every other way must give the same.
func (n *Network) Define(image []int16) []int32 {
	values := make([][]int32, len(n.values))
	values[0] = make([]int32, len(image))
	for i, v := range image {
		values[0][i] = int32(v)
	}
	for i := range n.Layers {
		values[i+1] = n.define(i, values)
	}
	return values[len(n.Layers)]
}

// define is one layer.
func (n *Network) define(layer int, values [][]int32) []int32 {
	l, in, out := &n.Layers[layer], n.values[n.Layers[layer].From[0]], n.values[layer+1]
	x, y := values[l.From[0]], make([]int32, out.size())
	switch l.Op {
	case Conv:
		n.conv(l, in, out, x, values, y)
	case Add:
		b := values[l.From[1]]
		for i := range y {
			y[i] = l.sum(scaled(x[i]<<7, l.Factor[0]), scaled(b[i]<<7, l.Factor[1]))
		}
	case MaxPool:
		l.windows(in, out, func(at, from, c int) {
			y[at*out.channels+c] = max(y[at*out.channels+c], x[from*in.channels+c])
		})
	case SumPool:
		for i, v := range x {
			y[i%in.channels] += v
		}
	case Concat:
		for at := range out.height * out.width {
			to := y[at*out.channels:]
			for _, from := range l.From {
				c := n.values[from].channels
				to = to[copy(to, values[from][at*c:(at+1)*c]):]
			}
		}
	case Dense:
		for o := range y {
			y[o] = l.Bias[o]
			for i, w := range l.Weight[o*len(x) : (o+1)*len(x)] {
				y[o] += x[i] * int32(w)
			}
		}
	}
	return y
}

// sum ends a layer that adds: a and b in units of 1/2^Bits of a step.
func (l *Layer) sum(a, b int32) int32 {
	return toByte((saturate(a+b)<<(15-l.Bits) + 1<<14) >> 15)
}

// windows calls f for every place of the result, every place of the input in its window, and every channel.
func (l *Layer) windows(in, out value, f func(at, from, channel int)) {
	for y := range out.height {
		for x := range out.width {
			for ky := range l.Kernel[0] {
				for kx := range l.Kernel[1] {
					iy, ix := y*l.Stride[0]+ky-l.Pad[0], x*l.Stride[1]+kx-l.Pad[1]
					if iy < 0 || ix < 0 || iy >= in.height || ix >= in.width {
						continue
					}
					for c := range in.channels {
						f(y*out.width+x, iy*in.width+ix, c)
					}
				}
			}
		}
	}
}

func (n *Network) conv(l *Layer, in, out value, x []int32, values [][]int32, y []int32) {
	group, outs := in.channels/l.Groups, l.Out/l.Groups
	for at := range out.height * out.width {
		top, left := at/out.width*l.Stride[0]-l.Pad[0], at%out.width*l.Stride[1]-l.Pad[1]
		for o := range l.Out {
			sum := l.Bias[o]
			first := o / outs * group // channel
			w := l.Weight[o*l.Kernel[0]*l.Kernel[1]*group:]
			for iy := top; iy < top+l.Kernel[0]; iy++ {
				for ix := left; ix < left+l.Kernel[1]; ix++ {
					inside := iy >= 0 && ix >= 0 && iy < in.height && ix < in.width
					switch {
					case inside:
						pixel := x[(iy*in.width+ix)*in.channels+first:][:group]
						for c, weight := range w[:len(pixel)] {
							sum += pixel[c] * int32(weight)
						}
					case in.kind == Grid:
						for c, v := range n.Border[first : first+group] {
							sum += int32(v) * int32(w[c])
						}
					}
					w = w[group:]
				}
			}
			a := scaled(saturate(sum>>l.Shift), l.Scale[o])
			i := at*l.Out + o
			switch {
			case l.Wide:
				y[i] = a
			case l.Addend == 0:
				y[i] = toByte(a)
			case n.values[l.Addend].kind == Wide:
				y[i] = l.sum(a, values[l.Addend][i])
			default:
				y[i] = l.sum(a, scaled(values[l.Addend][i]<<7, l.Factor[0]))
			}
		}
	}
}
