package intnet

import (
	"fmt"
	"math"
	"slices"
)

// Limits of what is read. They keep sizes far from overflow, and the cost of a file near its length.
const (
	mostLayers   = 4096
	mostSide     = 1 << 14 // height, width, kernel, stride
	mostChannels = 1 << 16
	mostValue    = 1 << 26 // numbers of one value
	mostValues   = 1 << 27 // of all values together
	mostUnit     = 64      // exponent of the unit of logits: every logit is then finite in float32
)

// Check looks at everything that kernels rely on, and makes the network ready for use: shapes, ranges of all
// parameters, and that no sum can overflow an int32, channel by channel with the bias.
func Check(n *Network) error {
	if err := n.check(); err != nil {
		return fmt.Errorf("integer network: %w", err)
	}
	return nil
}

func (n *Network) check() error {
	switch {
	case n.Height < 1 || n.Width < 1 || n.Channels < 1 || n.Height > mostSide || n.Width > mostSide ||
		n.Channels > mostChannels || n.Height*n.Width*n.Channels > mostValue:
		return fmt.Errorf("images of %d × %d × %d; expected 1 to %d values", n.Height, n.Width, n.Channels, mostValue)
	case n.Low > n.High:
		return fmt.Errorf("pixels from %d to %d", n.Low, n.High)
	case len(n.Border) != n.Channels:
		return fmt.Errorf("%d values beyond the edges for %d channels", len(n.Border), n.Channels)
	case slices.Min(n.Border) < n.Low || slices.Max(n.Border) > n.High:
		return fmt.Errorf("values %v beyond the edges; expected %d to %d", n.Border, n.Low, n.High)
	case n.Unit[0] < 1 || n.Unit[1] < -1000 || n.Unit[1] > mostUnit:
		return fmt.Errorf("the unit of logits is %d·2^%d; expected a positive number of 2^−1000 to 2^%d", n.Unit[0],
			n.Unit[1], mostUnit)
	case len(n.Layers) < 1 || len(n.Layers) > mostLayers:
		return fmt.Errorf("%d layers; expected 1 to %d", len(n.Layers), mostLayers)
	}
	n.values = []value{{n.Height, n.Width, n.Channels, Grid, max(int64(n.High), -int64(n.Low))}}
	numbers := 0
	for i := range n.Layers {
		l := &n.Layers[i]
		v, err := n.layer(l, i == len(n.Layers)-1)
		if err != nil {
			return fmt.Errorf("layer %d (%v): %w", i+1, l.Op, err)
		}
		if numbers += v.size(); numbers > mostValues {
			return fmt.Errorf("layer %d (%v): the network is too large: an image has %d numbers to here; at most %d",
				i+1, l.Op, numbers, mostValues)
		}
		n.values = append(n.values, v)
	}
	if err := n.affordable(); err != nil {
		return err
	}
	n.seal()
	return nil
}

// source is a value that a layer reads, of one of these kinds.
func (n *Network) source(number int, kinds ...Kind) (value, error) {
	if number < 0 || number >= len(n.values) {
		return value{}, fmt.Errorf("reads value %d, which no layer before it gives", number)
	}
	v := n.values[number]
	if !slices.Contains(kinds, v.kind) {
		return v, fmt.Errorf("reads value %d of %v; expected %v", number, v.kind, kinds)
	}
	return v, nil
}

// layer checks one layer and finds what it gives.
func (n *Network) layer(l *Layer, last bool) (v value, err error) {
	if last != (l.Op == Dense) {
		return v, fmt.Errorf("expected one dense layer, at the end")
	}
	switch reads := len(l.From); {
	case l.Op == Concat && (reads < 2 || reads > mostLayers), l.Op == Add && reads != 2,
		l.Op != Concat && l.Op != Add && reads != 1:
		return v, fmt.Errorf("reads %d values", reads)
	}
	switch l.Op {
	case Conv:
		return n.checkConv(l)
	case Add:
		a, err := n.source(l.From[0], Byte)
		if err != nil {
			return v, err
		}
		if b, err := n.source(l.From[1], Byte); err != nil || a != b {
			return v, fmt.Errorf("adds %v and %v (%v); expected bytes of one shape", a, b, err)
		}
		return a, l.checkSum(2)
	case MaxPool:
		in, err := n.source(l.From[0], Byte)
		if err != nil {
			return v, err
		}
		v, err = l.window(in)
		v.channels = in.channels
		return v, l.room(v, err)
	case SumPool:
		in, err := n.source(l.From[0], Byte)
		if err != nil {
			return v, err
		}
		v = value{1, 1, in.channels, Sums, 255 * int64(in.height*in.width)}
		if v.top > math.MaxInt32 {
			return v, fmt.Errorf("the sum of %d × %d bytes can overflow", in.height, in.width)
		}
		return v, nil
	case Concat:
		for i, from := range l.From {
			in, err := n.source(from, Byte)
			if err != nil {
				return v, err
			}
			if i > 0 && (in.height != v.height || in.width != v.width) {
				return v, fmt.Errorf("joins %d × %d and %d × %d", v.height, v.width, in.height, in.width)
			}
			in.channels += v.channels
			v = in
			if err := l.room(v, nil); err != nil {
				return v, err
			}
		}
		return v, nil
	case Dense:
		in, err := n.source(l.From[0], Byte, Sums)
		if err != nil {
			return v, err
		}
		if l.Out < 1 || l.Out > mostChannels || len(l.Bias) != l.Out || len(l.Weight) != l.Out*in.size() {
			return v, fmt.Errorf("%d weights and %d biases for %d classes of %v", len(l.Weight), len(l.Bias), l.Out,
				in)
		}
		return value{1, 1, l.Out, Sums, math.MaxInt32}, l.checkSums(in.top)
	}
	return v, fmt.Errorf("unknown; this program knows %v to %v", Conv, Dense)
}

// window checks kernel, stride and padding, and finds height and width of the result.
func (l *Layer) window(in value) (v value, err error) {
	for i := range 2 {
		k, s, before, behind := l.Kernel[i], l.Stride[i], l.Pad[i], l.Pad[i+2]
		size := [2]int{in.height, in.width}[i]
		switch {
		case k < 1 || k > mostSide || s < 1 || s > mostSide:
			return v, fmt.Errorf("kernel %v, stride %v; expected 1 to %d", l.Kernel, l.Stride, mostSide)
		case before < 0 || before >= k || behind < 0 || behind >= k:
			return v, fmt.Errorf("padding %v; expected 0 or more, and less than the kernel %v", l.Pad, l.Kernel)
		case before+size+behind < k:
			return v, fmt.Errorf("kernel %v does not fit into %v with padding %v", l.Kernel, in, l.Pad)
		}
	}
	return value{height: (l.Pad[0]+in.height+l.Pad[2]-l.Kernel[0])/l.Stride[0] + 1,
		width: (l.Pad[1]+in.width+l.Pad[3]-l.Kernel[1])/l.Stride[1] + 1, kind: Byte, top: 255}, nil
}

// room refuses a value that is too large.
func (l *Layer) room(v value, err error) error {
	if err == nil && (v.channels < 1 || v.channels > mostChannels || v.height*v.width > mostValue/v.channels) {
		err = fmt.Errorf("gives %v; at most %d channels and %d numbers are computed", v, mostChannels, mostValue)
	}
	return err
}

func (n *Network) checkConv(l *Layer) (v value, err error) {
	in, err := n.source(l.From[0], Grid, Byte)
	if err != nil {
		return v, err
	}
	if v, err = l.window(in); err != nil {
		return v, err
	}
	v.channels = l.Out
	if err = l.room(v, nil); err != nil {
		return v, err
	}
	if l.Groups < 1 || in.channels%l.Groups != 0 || l.Out%l.Groups != 0 {
		return v, fmt.Errorf("%d groups of %d channels in and %d out", l.Groups, in.channels, l.Out)
	}
	patch := l.Kernel[0] * l.Kernel[1] * (in.channels / l.Groups)
	if len(l.Bias) != l.Out || len(l.Scale) != l.Out || len(l.Weight)%l.Out != 0 || len(l.Weight)/l.Out != patch {
		return v, fmt.Errorf("%d weights, %d biases and %d multipliers for %d channels of %d products",
			len(l.Weight),
			len(l.Bias), len(l.Scale), l.Out, patch)
	}
	if i := slices.IndexFunc(l.Weight, func(w int16) bool { return w < -127 || w > 127 }); i >= 0 && in.kind == Byte {
		return v, fmt.Errorf("weight %d is %d; expected −127 to 127 on bytes", i, l.Weight[i])
	}
	if l.Shift < 0 || l.Shift > 24 {
		return v, fmt.Errorf("a shift of %d; expected 0 to 24", l.Shift)
	}
	if i := slices.IndexFunc(l.Scale, func(m int16) bool { return m < 1 }); i >= 0 {
		return v, fmt.Errorf("multiplier %d is %d; expected 1 to 32767", i, l.Scale[i])
	}
	if err := l.checkSums(in.top); err != nil {
		return v, err
	}
	if l.Wide {
		v.kind, v.top = Wide, 1<<15
	}
	if l.Addend == 0 {
		if l.Bits != 0 || len(l.Factor) != 0 {
			return v, fmt.Errorf("adds nothing, in %d bits by %d factors", l.Bits, len(l.Factor))
		}
		return v, nil
	}
	other, err := n.source(l.Addend, Byte, Wide)
	if err != nil {
		return v, err
	}
	if l.Wide || other.height != v.height || other.width != v.width || other.channels != v.channels {
		return v, fmt.Errorf("adds %v to %v; expected bytes of the same shape as the result", other, v)
	}
	factors := 0
	if other.kind == Byte {
		factors = 1
	}
	return v, l.checkSum(factors)
}

// checkSum checks how a sum of two values becomes bytes.
func (l *Layer) checkSum(factors int) error {
	if len(l.Factor) != factors {
		return fmt.Errorf("%d factors of addends; expected %d", len(l.Factor), factors)
	}
	for _, m := range l.Factor {
		if m < 1 {
			return fmt.Errorf("the factor %d of an addend; expected 1 to 32767", m)
		}
	}
	if l.Bits < 1 || l.Bits > 14 {
		return fmt.Errorf("a sum with %d bits behind the point; expected 1 to 14", l.Bits)
	}
	return nil
}

// checkSums refuses a channel whose sum can leave int32 where inputs are at most top in absolute value.
func (l *Layer) checkSums(top int64) error {
	each := len(l.Weight) / l.Out
	for o := range l.Out {
		most := int64(0) // at most 2^41 · 2^15, as weights and their number are bounded
		for _, w := range l.Weight[o*each : (o+1)*each] {
			most += max(int64(w), -int64(w))
		}
		bias := max(int64(l.Bias[o]), -int64(l.Bias[o]))
		if bias > math.MaxInt32 || top > 0 && most > (math.MaxInt32-bias)/top {
			return fmt.Errorf("the sum of channel %d can overflow: |bias| is %d, and weights of %d together meet "+
				"inputs of up to %d; expected at most 2147483647", o, bias, most, top)
		}
	}
	return nil
}
