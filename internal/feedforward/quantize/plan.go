package quantize

import (
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/parts"
	"github.com/certspec/certspec/internal/intnet"
)

// Plan is a network on its way to one of integers (package intnet): its layers with weights in real numbers,
// batch normalisation folded, and which of them share a scale.
type Plan struct {
	height, width, channels int

	layers []parts.Layer
	users  []int // of each layer
	refs   []ref
	steps  []step
	groups []int // of each step: one that has the same scale
}

// ref is the result of a layer: where its numbers stand, or what is still to be computed.
type ref struct {
	shape []int
	// image or bytes: the place in the value of each number; −1: a zero of a border; nil: all in order. Places of
	// bytes are channel by channel, of the image pixel by pixel.
	from  []int32
	value int       // 0: the image; i: what step i−1 gives
	unit  []float64 // of the image: a number is unit·pixel + shift
	shift []float64

	product *product // a convolution or dense layer, scaled
	sum     []ref    // of two
	mean    bool     // over each channel of the value
	node    int      // the layer whose values these are
}

// product is a convolution; a dense layer has a kernel of the size of its input.
type product struct {
	of     ref // image or bytes
	window parts.Window
	groups int
	w, b   []float64 // out × channels/groups × kernel; out
	shape  []int     // of the result of a convolution
	dense  bool
	means  bool // the inputs are means
}

// step is a layer to be of integers.
type step struct {
	intnet.Layer
	w, b         []float64 // out × kernel × channels/groups, per unit of the input: a pixel or real bytes
	border       []float64 // pixels
	node         int       // values of the product; −1: none
	sum          int       // values before ReLU; −1: as those of another step
	target       int       // of a wide step: the step that adds it
	area         float64   // of means: what sums are divided by
	height, wide int       // of the result
}

// NewPlan finds the integer form of a network that takes height × width × channel. Errors name the layer that has none.
func NewPlan(layers []parts.Layer) (*Plan, error) {
	if s := layers[0].Shape; len(s) != 3 {
		return nil, fmt.Errorf("quantize: the network takes %v; expected images", s)
	}
	p := &Plan{height: layers[0].Shape[0], width: layers[0].Shape[1], channels: layers[0].Shape[2], layers: layers,
		users: make([]int, len(layers))}
	for _, l := range layers {
		for _, in := range l.In {
			p.users[in]++
		}
	}
	size := p.height * p.width * p.channels
	image := ref{shape: layers[0].Shape, unit: make([]float64, size), shift: make([]float64, size)}
	for i := range image.unit {
		image.unit[i] = 1. / 255
	}
	p.refs = []ref{image}
	for i := range layers[1:] {
		l := &layers[i+1]
		r, err := p.layer(i+1, l)
		if err == nil && i+2 == len(layers) {
			err = p.finish(r)
		}
		if err != nil {
			return nil, fmt.Errorf("quantize: layer %q (%s) has no form in integers: %w", l.Name, l.Op, err)
		}
		r.shape, r.node = l.Shape, i+1
		p.refs = append(p.refs, r)
	}
	return p, nil
}

var errOrder = fmt.Errorf("it reads a result that is not cut off at 0; expected a ReLU between layers")

func (r *ref) stored() bool { return r.product == nil && r.sum == nil && !r.mean }
func (r *ref) image() bool  { return r.stored() && r.value == 0 }

func (p *Plan) layer(number int, l *parts.Layer) (ref, error) {
	in := p.refs[l.In[0]]
	switch {
	case l.Move != nil:
		return in.moved(l.Move)
	case l.Scale != nil:
		return p.scaled(in, l.Scale, l.Shape)
	case l.Conv != nil:
		return in.convolved(l.Conv, l.Shape)
	case l.Dense != nil:
		return in.dense(l.Dense)
	case l.ReLU:
		return p.rectified(in)
	case l.Max != nil:
		return p.pooled(number, in, l)
	case l.Average != nil:
		return p.averaged(in, l)
	case l.Sign != nil:
		if len(l.In) == 1 && l.Sign[0] == 1 {
			return in, nil
		}
		return p.added(l)
	case l.Concat != nil:
		return p.joined(number, l)
	}
	return ref{}, fmt.Errorf("expected Conv, Gemm, BatchNormalization, Relu, pools, Add, Concat, or moves of values")
}

func (r ref) moved(m *parts.Move) (ref, error) {
	if m.From == nil {
		return r, nil
	}
	if !r.stored() {
		for i, f := range m.From {
			if f != int32(i) {
				return r, fmt.Errorf("it moves numbers behind a layer without ReLU")
			}
		}
		return r, nil
	}
	from := make([]int32, len(m.From))
	var unit, shift []float64
	for i, f := range m.From {
		switch {
		case f >= 0 && r.from != nil:
			from[i] = r.from[f]
		case f >= 0:
			from[i] = f
		case m.Constant != 0 || r.image():
			return r, fmt.Errorf("it pads by %v; expected zeros behind a ReLU", m.Constant)
		default:
			from[i] = -1
		}
		if r.image() {
			unit, shift = append(unit, r.unit[f]), append(shift, r.shift[f])
		}
	}
	r.from, r.unit, r.shift = from, unit, shift
	return r, nil
}

func (p *Plan) scaled(r ref, l *parts.Scale, shape []int) (ref, error) {
	if r.image() {
		r.unit, r.shift = slices.Clone(r.unit), slices.Clone(r.shift)
		for i := range r.unit {
			s := l.S[i/l.Times]
			r.unit[i], r.shift[i] = r.unit[i]*s, r.shift[i]*s+l.T[i/l.Times]
		}
		return r, nil
	}
	if r.product == nil {
		return r, fmt.Errorf("it scales what no Conv or Gemm gives; expected it right behind one")
	}
	out := len(r.product.b)
	area := len(l.S) * l.Times / out
	q := *r.product
	q.w, q.b = slices.Clone(q.w), slices.Clone(q.b)
	for o := range out {
		s, t := l.S[o*area/l.Times], l.T[o*area/l.Times]
		for i := range area {
			if at := (o*area + i) / l.Times; l.S[at] != s || l.T[at] != t {
				return r, fmt.Errorf("it scales places of one channel differently")
			}
		}
		each := len(q.w) / out
		for i := range each {
			q.w[o*each+i] *= s
		}
		q.b[o] = q.b[o]*s + t
	}
	r.product = &q
	return r, nil
}

func (r ref) convolved(l *parts.Conv, shape []int) (ref, error) {
	if !r.stored() {
		return r, errOrder
	}
	b, k, d, window := l.B, l.Kernel, l.Dilation, l.Window
	if b == nil {
		b = make([]float64, len(l.W)/(r.shape[0]/l.Groups*k[0]*k[1]))
	}
	window.Kernel, window.Dilation = [2]int{(k[0]-1)*d[0] + 1, (k[1]-1)*d[1] + 1}, [2]int{1, 1}
	area := window.Kernel[0] * window.Kernel[1]
	w := make([]float64, len(l.W)/(k[0]*k[1])*area) // zeros between the weights of a dilated kernel
	for i, v := range l.W {
		w[i/(k[0]*k[1])*area+i/k[1]%k[0]*d[0]*window.Kernel[1]+i%k[1]*d[1]] = v
	}
	return ref{product: &product{of: r, window: window, groups: l.Groups, shape: shape, w: w, b: b}}, nil
}

func (r ref) dense(l *parts.Dense) (ref, error) {
	if !r.stored() && !r.mean {
		return r, errOrder
	}
	b := l.B
	if b == nil {
		b = make([]float64, len(l.W)/size(r.shape))
	}
	return ref{product: &product{of: r, groups: 1, w: l.W, b: b, dense: true, means: r.mean}}, nil
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// rectified makes bytes of what is still to be computed.
func (p *Plan) rectified(r ref) (ref, error) {
	switch {
	case r.stored() && r.value == 0:
		return r, fmt.Errorf("it cuts the image")
	case r.stored(), r.mean:
		return r, nil
	case r.product != nil:
		s, err := p.product(r)
		if err != nil {
			return r, err
		}
		s.sum = r.node
		return p.stored(s), nil
	}
	a, b := r.sum[0], r.sum[1]
	if a.stored() && b.stored() {
		return p.stored(step{Layer: intnet.Layer{Op: intnet.Add, From: []int{a.value, b.value}}, node: -1,
			sum: r.node, target: -1, height: p.steps[a.value-1].height, wide: p.steps[a.value-1].wide}), nil
	}
	// b is computed last: the one with more products
	if b.product == nil || a.product != nil && len(a.product.w) > len(b.product.w) {
		a, b = b, a
	}
	at := a.value
	if a.product != nil {
		s, err := p.product(a)
		if err != nil {
			return r, err
		}
		s.Wide, s.sum = true, -1
		at = p.stored(s).value
	}
	s, err := p.product(b)
	if err != nil {
		return r, err
	}
	s.Addend, s.sum = at, r.node
	out := p.stored(s)
	if a.product != nil {
		p.steps[at-1].target = out.value - 1
	}
	return out, nil
}

// stored adds a step.
func (p *Plan) stored(s step) ref {
	p.steps, p.groups = append(p.steps, s), append(p.groups, len(p.groups))
	return ref{value: len(p.steps)}
}

// share gives two steps one scale.
func (p *Plan) share(a, b int) {
	from, to := p.groups[a], p.groups[b]
	for i, g := range p.groups {
		if g == from {
			p.groups[i] = to
		}
	}
}

// product is the step of a convolution or dense layer.
func (p *Plan) product(r ref) (s step, err error) {
	q := r.product
	s = step{node: r.node, sum: -1, target: -1, height: 1, wide: 1}
	s.Op, s.From, s.Out, s.Groups, s.b = intnet.Conv, []int{q.of.value}, len(q.b), q.groups, slices.Clone(q.b)
	if q.means {
		if q.of, err = p.meanBytes(q.of); err != nil {
			return s, err
		}
		s.From[0] = q.of.value
		q = &product{of: q.of, groups: 1, w: q.w, b: q.b, dense: true}
	}
	inH, inW, inC := p.sizes(q.of)
	if !q.dense {
		s.Kernel, s.Stride, s.Pad = q.window.Kernel, q.window.Stride, q.window.Pad
		if err := p.unpadded(&q.of, &s); err != nil {
			return s, err
		}
		s.height, s.wide = q.shape[1], q.shape[2]
	} else {
		s.Kernel, s.Stride = [2]int{inH, inW}, [2]int{1, 1}
	}
	kernel, channels := s.Kernel[0]*s.Kernel[1], inC/s.Groups
	each := kernel * channels
	s.w = make([]float64, s.Out*each)
	// unit and shift of each channel of the image
	unit, shift, order := make([]float64, inC), make([]float64, inC), make([]int, inC)
	if q.of.value == 0 && !q.dense {
		if err := q.of.byChannel(inH, inW, unit, shift, order); err != nil {
			return s, err
		}
		s.border = make([]float64, inC)
		for c, pixel := range order {
			s.border[pixel] = -shift[c] / unit[c]
		}
	} else if q.of.value == 0 {
		s.border = make([]float64, inC)
	}
	for o := range s.Out {
		for i := range each {
			w := q.w[o*each+i]
			switch {
			case q.dense && q.of.value == 0: // to the place of the pixel
				at := i
				if q.of.from != nil {
					at = int(q.of.from[i])
				}
				s.b[o] += w * q.of.shift[i]
				s.w[o*each+at] += w * q.of.unit[i]
			case q.dense: // bytes stand channel by channel, and shall stand place by place
				at := i
				if q.of.from != nil {
					at = int(q.of.from[i])
				}
				if at >= 0 {
					s.w[o*each+at%kernel*channels+at/kernel] += w
				}
			default:
				c, k := i/kernel, i%kernel
				if q.of.value != 0 {
					s.w[o*each+k*channels+c] = w
					continue
				}
				if s.Groups > 1 && !slices.IsSorted(order) {
					return s, fmt.Errorf("groups on channels in another order")
				}
				channel := o/(s.Out/s.Groups)*channels + c
				s.b[o] += w * shift[channel]
				s.w[o*each+k*channels+order[channel]%channels] = w * unit[channel]
			}
		}
	}
	return s, nil
}

// sizes are height, width and channels of an image or of bytes.
func (p *Plan) sizes(r ref) (h, w, c int) {
	if r.value == 0 {
		return p.height, p.width, p.channels
	}
	s := &p.steps[r.value-1]
	return s.height, s.wide, p.out(r.value - 1)
}

// out is the number of channels that a step gives.
func (p *Plan) out(at int) int {
	s := &p.steps[at]
	switch s.Op {
	case intnet.Conv:
		return s.Out
	case intnet.Concat:
		n := 0
		for _, from := range s.From {
			n += p.out(from - 1)
		}
		return n
	}
	return p.out(s.From[0] - 1)
}

// byChannel finds what each channel of a tensor is of the image: channels first, all in order.
func (r *ref) byChannel(h, w int, unit, shift []float64, order []int) error {
	if len(r.shape) != 3 || r.shape[0] != len(unit) || r.shape[1] != h || r.shape[2] != w {
		return fmt.Errorf("it reads the image as %v; expected %d × %d × %d", r.shape, len(unit), h, w)
	}
	for i, u := range r.unit {
		c, at := i/(h*w), i%(h*w)
		from := i
		if r.from != nil {
			from = int(r.from[i])
		}
		if at == 0 {
			unit[c], shift[c], order[c] = u, r.shift[i], from%len(unit)
		}
		if from != at*len(unit)+order[c] || u != unit[c] || r.shift[i] != shift[c] {
			return fmt.Errorf("it reads pixels in another order, or scaled by their place")
		}
	}
	if !allDifferent(order) || slices.Contains(unit, 0) {
		return fmt.Errorf("it does not read every channel")
	}
	return nil
}

func allDifferent(order []int) bool {
	sorted := slices.Sorted(slices.Values(order))
	return len(slices.Compact(sorted)) == len(order)
}

// unpadded takes zeros around bytes, as a Pad layer puts them there, into the padding of the step that reads them.
func (p *Plan) unpadded(r *ref, s *step) error {
	if r.value == 0 || r.from == nil {
		return nil
	}
	h, w, c := p.sizes(*r)
	if len(r.shape) == 3 && r.shape[0] == c {
		for top := range r.shape[1] {
			for left := range r.shape[2] {
				if r.from[top*r.shape[2]+left] != 0 {
					continue
				}
				right := true
				for i, from := range r.from {
					ch, y, x := i/(r.shape[1]*r.shape[2]), i/r.shape[2]%r.shape[1]-top, i%r.shape[2]-left
					want := -1
					if y >= 0 && x >= 0 && y < h && x < w {
						want = (ch*h+y)*w + x
					}
					right = right && int(from) == want
				}
				bottom, behind := r.shape[1]-top-h, r.shape[2]-left-w
				if right && bottom >= 0 && behind >= 0 {
					s.Pad = [4]int{s.Pad[0] + top, s.Pad[1] + left, s.Pad[2] + bottom, s.Pad[3] + behind}
					return nil
				}
			}
		}
	}
	return fmt.Errorf("it reads numbers in another order")
}

// plain are bytes in their order.
func (r *ref) plain() bool {
	if !r.stored() || r.value == 0 {
		return false
	}
	for i, f := range r.from {
		if int(f) != i {
			return false
		}
	}
	return true
}

// rectifiedLater makes bytes of a result already now where a ReLU alone reads what a pool or Concat gives of it.
func (p *Plan) rectifiedLater(number int, r ref) (ref, error) {
	if r.stored() {
		if !r.plain() {
			return r, fmt.Errorf("it reads the image, or numbers in another order")
		}
		return r, nil
	}
	for _, l := range p.layers[number+1:] {
		if slices.Contains(l.In, number) && (!l.ReLU || p.users[number] != 1) {
			return r, errOrder
		}
	}
	shape := r.shape
	r, err := p.rectified(r)
	r.shape = shape
	return r, err
}

func (p *Plan) pooled(number int, r ref, l *parts.Layer) (ref, error) {
	r, err := p.rectifiedLater(number, r)
	if err != nil {
		return r, err
	}
	s := step{Layer: intnet.Layer{Op: intnet.MaxPool, From: []int{r.value}}, node: -1, sum: -1, target: -1,
		height: l.Shape[1], wide: l.Shape[2]}
	if err := s.window(l.Max, r.shape, l.Shape); err != nil {
		return r, err
	}
	out := p.stored(s)
	p.share(out.value-1, r.value-1)
	return out, nil
}

// window is that of a pool; padding behind follows from the size of the result.
func (s *step) window(w *parts.Window, in, out []int) error {
	if w.Dilation != [2]int{1, 1} {
		return fmt.Errorf("dilation %v; expected 1", w.Dilation)
	}
	s.Kernel, s.Stride, s.Pad = w.Kernel, w.Stride, w.Pad
	for i := range 2 {
		if (s.Pad[i]+in[i+1]+s.Pad[i+2]-s.Kernel[i])/s.Stride[i]+1 != out[i+1] {
			s.Pad[i+2] = max(0, (out[i+1]-1)*s.Stride[i]+s.Kernel[i]-s.Pad[i]-in[i+1])
		}
	}
	return nil
}

func (p *Plan) averaged(r ref, l *parts.Layer) (ref, error) {
	if !r.plain() {
		return r, errOrder
	}
	if l.Shape[1] == 1 && l.Shape[2] == 1 && l.Average.Kernel == [2]int{r.shape[1], r.shape[2]} &&
		l.Average.Pad == [4]int{} {
		return ref{value: r.value, mean: true}, nil
	}
	return p.depthwise(r, &l.Average.Window, l.Average.Divisor, l.Shape)
}

// depthwise is average pooling as a convolution, with the scale of its input.
func (p *Plan) depthwise(r ref, w *parts.Window, divisor []float64, shape []int) (ref, error) {
	s := step{Layer: intnet.Layer{Op: intnet.Conv, From: []int{r.value}, Out: shape[0], Groups: shape[0]}, node: -1,
		sum: -1, target: -1, height: shape[1], wide: shape[2], b: make([]float64, shape[0])}
	if err := s.window(w, r.shape, shape); err != nil {
		return r, err
	}
	if slices.Min(divisor) != slices.Max(divisor) {
		return r, fmt.Errorf("windows at the border are divided by other numbers; expected count_include_pad")
	}
	for range s.Out * s.Kernel[0] * s.Kernel[1] {
		s.w = append(s.w, 1/divisor[0])
	}
	out := p.stored(s)
	p.share(out.value-1, r.value-1)
	return out, nil
}

// meanBytes makes bytes of means.
func (p *Plan) meanBytes(r ref) (ref, error) {
	h, w, c := p.sizes(r)
	out, err := p.depthwise(ref{value: r.value, shape: []int{c, h, w}}, &parts.Window{Kernel: [2]int{h, w},
		Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}, []float64{float64(h * w)}, []int{c, 1, 1})
	out.shape = []int{c, 1, 1}
	return out, err
}

func (p *Plan) added(l *parts.Layer) (ref, error) {
	if len(l.In) != 2 || l.Sign[0] != 1 || l.Sign[1] != 1 {
		return ref{}, fmt.Errorf("%d terms with signs %v; expected two that are added", len(l.In), l.Sign)
	}
	out := ref{}
	for _, in := range l.In {
		r := p.refs[in]
		if r.product == nil && !r.plain() {
			return r, fmt.Errorf("it adds the image, means, a sum without ReLU, or numbers in another order")
		}
		out.sum = append(out.sum, r)
	}
	return out, nil
}

func (p *Plan) joined(number int, l *parts.Layer) (ref, error) {
	if l.Concat.Blocks != 1 || len(l.Shape) != 3 {
		return ref{}, fmt.Errorf("it does not join channels of images")
	}
	s := step{Layer: intnet.Layer{Op: intnet.Concat}, node: -1, sum: -1, target: -1, height: l.Shape[1],
		wide: l.Shape[2]}
	for _, in := range l.In {
		r, err := p.rectifiedLater(number, p.refs[in])
		if err != nil {
			return r, err
		}
		s.From = append(s.From, r.value)
	}
	if len(s.From) == 1 {
		return ref{value: s.From[0]}, nil
	}
	out := p.stored(s)
	for _, from := range s.From {
		p.share(out.value-1, from-1)
	}
	return out, nil
}

// finish adds the last layer.
func (p *Plan) finish(r ref) error {
	if r.mean || r.stored() && r.value != 0 { // the logits are means of channels, or bytes
		h, w, c := p.sizes(r)
		if !r.mean && h*w != 1 || !r.mean && !r.plain() {
			return fmt.Errorf("it gives %d × %d × %d numbers; expected logits", h, w, c)
		}
		weights := make([]float64, c*c)
		for i := range c {
			weights[i*c+i] = 1
		}
		r = ref{product: &product{of: r, groups: 1, w: weights, b: make([]float64, c), dense: true, means: r.mean}}
	}
	if r.product == nil {
		return fmt.Errorf("the logits are a sum, or the image; expected Gemm, or the mean of each channel")
	}
	q := r.product
	s := step{area: 1}
	if q.means {
		h, w, _ := p.sizes(q.of)
		p.stored(step{Layer: intnet.Layer{Op: intnet.SumPool, From: []int{q.of.value}}, node: -1, sum: -1, target: -1,
			height: 1, wide: 1})
		p.share(len(p.steps)-1, q.of.value-1)
		s.area, s.w, s.b = float64(h*w), slices.Clone(q.w), slices.Clone(q.b)
		s.From = []int{len(p.steps)}
	} else {
		full, err := p.product(r)
		switch {
		case err != nil:
			return err
		case full.From[0] == 0:
			return fmt.Errorf("the network has one layer; expected two or more")
		case full.height*full.wide != 1 || full.Groups != 1 || full.Pad != [4]int{}:
			return fmt.Errorf("it gives an image; expected logits")
		}
		h, w, c := p.sizes(q.of)
		if full.Kernel != [2]int{h, w} {
			return fmt.Errorf("it reads a part of %d × %d × %d; expected all of it", h, w, c)
		}
		s.w, s.b, s.From = full.w, full.b, full.From
	}
	s.Op, s.Out, s.node, s.sum, s.target = intnet.Dense, len(s.b), -1, -1, -1
	for _, v := range slices.Concat(s.w, s.b) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("a weight is %v", v)
		}
	}
	p.stored(s)
	return nil
}
