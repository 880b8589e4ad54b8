package feedforward

import "github.com/certspec/certspec/internal/feedforward/kernel"

// Lanes is the number of points that one evaluation takes side by side.
const Lanes = kernel.Lanes

// laneLinear is a linear with forms for points side by side: y = Wx + b, and gin += Wᵀg.
type laneLinear interface {
	forwardLanes(x, y []float64, s *kernel.Scratch)
	transposeLanes(g, gin []float64, s *kernel.Scratch)
}

// alike are layers that treat all values alike, side by side or not.
func alike(l layer) bool {
	switch l := l.(type) {
	case *activation, *sum, product:
		return true
	case *arrange:
		return l.from == nil
	}
	return false
}

func forwardLanes(l layer, in [][]float64, out []float64, s *kernel.Scratch) {
	switch l := l.(type) {
	case affine:
		if lin, ok := l.linear.(laneLinear); ok {
			lin.forwardLanes(in[0], out, s)
			return
		}
	case *arrange:
		if l.from == nil {
			break
		}
		for o, i := range l.from {
			if to := kernel.LaneOf(out, o); i >= 0 {
				*to = *kernel.LaneOf(in[0], int(i))
			} else {
				*to = kernel.Everywhere(l.constant)
			}
		}
		return
	}
	if alike(l) {
		clearOf(l, out)
		l.forward(in, out)
		return
	}
	one, alone := make([][]float64, len(in)), make([]float64, len(out)/Lanes)
	for j := range Lanes {
		for k, x := range in {
			one[k] = pointOf(x, j, one[k])
		}
		clear(alone)
		l.forward(one, alone)
		for i, v := range alone {
			out[i*Lanes+j] = v
		}
	}
}

// clearOf clears the outputs of layers that add to them.
func clearOf(l layer, out []float64) {
	if _, ok := l.(*sum); ok {
		clear(out)
	}
}

func backwardLanes(l layer, in [][]float64, out, g []float64, gin [][]float64, s *kernel.Scratch) {
	switch l := l.(type) {
	case affine:
		if lin, ok := l.linear.(laneLinear); ok {
			lin.transposeLanes(g, gin[0], s)
			return
		}
	case *arrange:
		if l.from == nil {
			break
		}
		for o, i := range l.from {
			if i >= 0 {
				kernel.AddLane(kernel.LaneOf(gin[0], int(i)), kernel.LaneOf(g, o))
			}
		}
		return
	}
	if alike(l) {
		l.backward(in, out, g, gin)
		return
	}
	one, grad := make([][]float64, len(in)), make([][]float64, len(in))
	same := make([]int, len(in))
	for k, x := range gin {
		for &gin[same[k]][0] != &x[0] {
			same[k]++
		}
	}
	var alone, direction []float64
	for j := range Lanes {
		for k, x := range in {
			if one[k] = pointOf(x, j, one[k]); same[k] < k { // an input that is read twice has one gradient
				grad[k] = grad[same[k]]
			} else {
				grad[k] = pointOf(gin[k], j, grad[k])
			}
		}
		alone, direction = pointOf(out, j, alone), pointOf(g, j, direction)
		l.backward(one, alone, direction, grad)
		for k, x := range gin {
			for i, v := range grad[k] {
				x[i*Lanes+j] = v
			}
		}
	}
}

// pointOf is the values of point j, in the slice given if it has the size.
func pointOf(x []float64, j int, to []float64) []float64 {
	if to == nil {
		to = make([]float64, len(x)/Lanes)
	}
	for i := range to {
		to[i] = x[i*Lanes+j]
	}
	return to
}
