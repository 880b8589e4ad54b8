package quantize

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/intnet"
)

const (
	bins       = 4096
	mostWeight = 127   // of bytes
	gridWeight = 2047  // of pixels
	mostReach  = 127   // κ of noise whose pixels, from −255κ to 255(κ+1), fit int16
	lastWeight = 8191  // of the last layer, where it has fewer than manyInputs
	manyInputs = 1024  // bytes of so many inputs take weights of a byte, too, at half the products
	bitsOfSums = 4     // behind the point, where scales allow
	mostFactor = 16384 // above it the two roundings of a sum show
	reserve    = 1 << 28
)

// Seen holds ranges that noise samples show of a network: how large sums and results become. It is the same in
// whatever order samples come.
type Seen struct {
	Samples int             `json:"samples"`
	Largest map[int]numbers `json:"largest"` // |value| of each channel, by layer
	Results map[int]*counts `json:"results"` // values above 0, by layer
}

type numbers []float64

// counts is a histogram of bins from 0 to 2^Top.
type counts struct {
	Top     int         `json:"top"`
	N       [bins]int64 `json:"n"`
	Largest float64     `json:"largest"`
}

// NewSeen begins without samples.
func NewSeen() *Seen { return &Seen{Largest: map[int]numbers{}, Results: map[int]*counts{}} }

// Add counts a sample: the values of all layers (feedforward.Network.Values).
func (p *Plan) Add(seen *Seen, values [][]float64) error {
	seen.Samples++
	for i := range p.steps {
		s := &p.steps[i]
		if s.node >= 0 {
			each := len(values[s.node]) / s.Out
			largest := seen.Largest[s.node]
			if largest == nil {
				largest = make(numbers, s.Out)
				seen.Largest[s.node] = largest
			}
			for at, v := range values[s.node] {
				if v-v != 0 {
					return fmt.Errorf("quantize: layer %q gives %v; expected finite values", p.layers[s.node].Name, v)
				}
				largest[at/each] = max(largest[at/each], math.Abs(v))
			}
		}
		if s.sum >= 0 {
			c := seen.Results[s.sum]
			if c == nil {
				c = &counts{Top: -20}
				seen.Results[s.sum] = c
			}
			for _, v := range values[s.sum] {
				c.add(v)
			}
		}
	}
	return nil
}

func (c *counts) add(v float64) {
	if !(v > 0) {
		return
	}
	for v >= math.Ldexp(1, c.Top) {
		c.double()
	}
	c.N[int(math.Ldexp(v, -c.Top)*bins)]++
	c.Largest = max(c.Largest, v)
}

// double joins bins in pairs.
func (c *counts) double() {
	for i := range bins / 2 {
		c.N[i] = c.N[2*i] + c.N[2*i+1]
	}
	clear(c.N[bins/2:])
	c.Top++
}

// Merge adds what other samples told.
func (s *Seen) Merge(other *Seen) {
	s.Samples += other.Samples
	for node, more := range other.Largest {
		if s.Largest[node] == nil {
			s.Largest[node] = slices.Clone(more)
			continue
		}
		for i, v := range more {
			s.Largest[node][i] = max(s.Largest[node][i], v)
		}
	}
	for node, more := range other.Results {
		c := s.Results[node]
		if c == nil {
			c = &counts{Top: more.Top}
			s.Results[node] = c
		}
		c.merge(*more)
	}
}

func (c *counts) merge(more counts) {
	for c.Top < more.Top {
		c.double()
	}
	for more.Top < c.Top {
		more.double()
	}
	for i, n := range more.N {
		c.N[i] += n
	}
	c.Largest = max(c.Largest, more.Largest)
}

// step is the step of bytes with the least mean squared error, among 81 ranges up to the largest value.
func (c *counts) step() float64 {
	if c.Largest == 0 {
		return 1. / 255
	}
	best, least := 0.0, math.Inf(1)
	width := math.Ldexp(1./bins, c.Top)
	for i := range 81 {
		step := c.Largest * (.2 + .01*float64(i)) / 255
		sum := 0.0
		for b, n := range c.N {
			if n == 0 {
				continue
			}
			v := (float64(b) + .5) * width
			off := min(math.Floor(v/step+.5), 255)*step - v
			sum += float64(float64(n) * float64(off*off))
		}
		if sum < least {
			best, least = step, sum
		}
	}
	return best
}

// Build makes the integers, from ranges by mean squared error. kappa is the range of the noise: pixels reach
// from −255κ to 255(κ+1). Errors: a layer whose scales lie too far apart.
func (p *Plan) Build(seen *Seen, kappa int) (*intnet.Network, error) {
	scales, err := p.scales(seen)
	if err != nil {
		return nil, err
	}
	n := &intnet.Network{Height: p.height, Width: p.width, Channels: p.channels}
	if kappa = p.reach(kappa); kappa > mostReach {
		return nil, fmt.Errorf("quantize: noise reaches %d times the range of a value; expected at most %d", kappa,
			mostReach)
	}
	n.Low, n.High = int16(-255*kappa), int16(255*(kappa+1))
	top := max(-float64(n.Low), float64(n.High))
	for i := range p.steps {
		s := &p.steps[i]
		l := s.Layer
		var err error
		switch {
		case l.Op == intnet.Dense:
			n.Unit, err = s.last(&l, scales[l.From[0]]/s.area, 255*s.area)
		case l.Op == intnet.Conv && l.From[0] == 0:
			border := make([]int16, len(s.border))
			for c, v := range s.border {
				border[c] = int16(min(max(math.Floor(v+.5), float64(n.Low)), float64(n.High)))
			}
			if n.Border != nil && !slices.Equal(n.Border, border) {
				return nil, fmt.Errorf("quantize: two layers read the image with other means, %v and %v in 1/255",
					n.Border, border)
			}
			n.Border = border
			err = p.convolution(&l, i, seen, scales, 1, top)
		case l.Op == intnet.Conv:
			err = p.convolution(&l, i, seen, scales, scales[l.From[0]], 255)
		case l.Op == intnet.Add:
			l.Factor, l.Bits, err = factors(scales[i+1], scales[l.From[0]], scales[l.From[1]])
		}
		if err != nil {
			return nil, fmt.Errorf("quantize: layer %d of integers (%v): %w", i+1, l.Op, err)
		}
		n.Layers = append(n.Layers, l)
	}
	return n, intnet.Check(n)
}

// reach is the largest κ for which the first layer keeps its weights, so that the file serves any σ it can.
func (p *Plan) reach(kappa int) int {
	terms := 0
	for i := range p.steps {
		if s := &p.steps[i]; s.Op == intnet.Conv && s.From[0] == 0 {
			terms = max(terms, len(s.w)/s.Out)
		}
	}
	for k := 63; k > kappa; k-- {
		if terms*gridWeight*255*(k+1) <= math.MaxInt32-reserve {
			return k
		}
	}
	return kappa
}

// scales are the steps of all values, 0 for the image; that of an int16 result is of the sum that takes it.
func (p *Plan) scales(seen *Seen) ([]float64, error) {
	all := map[int]*counts{}
	for i := range p.steps {
		if node := p.steps[i].sum; node >= 0 {
			c := seen.Results[node]
			if c == nil {
				return nil, fmt.Errorf("quantize: no sample of layer %q", p.layers[node].Name)
			}
			if all[p.groups[i]] == nil {
				all[p.groups[i]] = &counts{Top: c.Top}
			}
			all[p.groups[i]].merge(*c)
		}
	}
	byGroup := map[int]float64{}
	for group, c := range all {
		byGroup[group] = c.step()
	}
	scales := make([]float64, len(p.steps)+1)
	for i := range p.steps {
		scales[i+1] = byGroup[p.groups[i]]
	}
	for i := range p.steps {
		if to := p.steps[i].target; to >= 0 {
			scales[i+1] = scales[to+1]
		}
	}
	return scales, nil
}

// factors are the factors of addends of bytes, in units of 1/2^bits of a step of the result.
func factors(to float64, from ...float64) (m []int16, bits int, err error) {
	for bits = bitsOfSums; bits >= 1; bits-- {
		m = nil
		for _, f := range from {
			if v := math.Floor(256*f/to*math.Ldexp(1, bits) + .5); v <= math.MaxInt16 {
				m = append(m, int16(max(v, 1)))
			}
		}
		if len(m) == len(from) {
			return m, bits, nil
		}
	}
	return nil, 0, fmt.Errorf("an addend has steps of %.3g, the sum of %.3g; expected at most 60 times as large",
		slices.Max(from), to)
}

// convolution makes the integers of a convolution whose inputs come in steps of unit and are at most top.
func (p *Plan) convolution(l *intnet.Layer, at int, seen *Seen, scales []float64, unit, top float64) (err error) {
	s, to, bits := &p.steps[at], scales[at+1], 0
	switch {
	case s.Wide || s.Addend > 0 && p.steps[s.Addend-1].Wide:
		bits = bitsOfSums
	case s.Addend > 0:
		if l.Factor, bits, err = factors(to, scales[s.Addend]); err != nil {
			return err
		}
	}
	if s.Addend > 0 {
		l.Bits = bits
	}
	each, most := len(s.w)/s.Out, float64(mostWeight)
	if s.border != nil {
		most = min(gridWeight, math.Floor((math.MaxInt32-reserve)/top/float64(each)))
	}
	if most < mostWeight {
		return fmt.Errorf("%d products of pixels up to %v in one sum; expected fewer", each, top)
	}
	steps, sum := make([]float64, s.Out), 0.0 // of the weights
	for o := range steps {
		largest := 0.0
		for _, w := range s.w[o*each : (o+1)*each] {
			largest = max(largest, math.Abs(w))
		}
		steps[o] = max(largest/most, math.Abs(s.b[o])/unit/reserve)
		if s.node >= 0 && steps[o] > 0 {
			sum = max(sum, seen.Largest[s.node][o]/(steps[o]*unit))
		} else if s.node < 0 {
			sum = max(sum, 255*most*float64(each))
		}
	}
	multiplier := func(o int) float64 { return steps[o] * unit / to * math.Ldexp(1, bits+15+l.Shift) }
	largest := func() float64 {
		m := 0.0
		for o := range steps {
			m = max(m, multiplier(o))
		}
		return m
	}
	// Sums beyond 1.5 times the largest that was seen saturate, and those of many steps of the result.
	for l.Shift = 1; l.Shift < 24 && 1.5*sum > math.Ldexp(math.MaxInt16, l.Shift); {
		l.Shift++
	}
	for l.Shift > 0 && largest() > mostFactor-384 {
		l.Shift--
	}
	if m := largest(); m > math.MaxInt16 {
		return fmt.Errorf("a unit of its sums is %.3g steps of its result; expected at most 1", math.Ldexp(m, -15))
	}
	half := 0.0
	if l.Shift > 0 {
		half = math.Ldexp(1, l.Shift-1)
	}
	for o := range steps {
		m := math.Ceil(max(multiplier(o), 1))
		if steps[o] == 0 {
			steps[o] = to // all weights and the bias are 0
		} else {
			steps[o] *= m / multiplier(o) // the step of weights follows: nothing is lost to rounding m
		}
		l.Scale = append(l.Scale, int16(min(m, math.MaxInt16)))
		for _, w := range s.w[o*each : (o+1)*each] {
			l.Weight = append(l.Weight, int16(min(max(math.Floor(w/steps[o]+.5), -most), most)))
		}
		l.Bias = append(l.Bias, int32(math.Floor(s.b[o]/(steps[o]*unit)+.5)+half))
	}
	return nil
}

// last makes the integers of the last layer, and the unit of logits.
func (s *step) last(l *intnet.Layer, unit, top float64) (out [2]int32, err error) {
	each, largest, sum := len(s.w)/s.Out, 0.0, 0.0
	for o := range s.Out {
		row := 0.0
		for _, w := range s.w[o*each : (o+1)*each] {
			row, largest = row+math.Abs(w), max(largest, math.Abs(w))
		}
		sum = max(sum, row)
	}
	step := largest / lastWeight
	if each >= manyInputs && top <= 255 {
		step = largest / mostWeight
	}
	if most := float64(math.MaxInt32 - reserve - each); sum > 0 {
		step = max(step, sum*top/most)
	}
	for _, b := range s.b {
		step = max(step, math.Abs(b)/unit/reserve)
	}
	step = cmp.Or(step, 1)
	for _, w := range s.w {
		l.Weight = append(l.Weight, int16(math.Floor(w/step+.5)))
	}
	for _, b := range s.b {
		l.Bias = append(l.Bias, int32(math.Floor(b/(step*unit)+.5)))
	}
	fraction, exponent := math.Frexp(step * unit)
	if !(fraction > 0 && fraction < 1) {
		return out, fmt.Errorf("a logit is in units of %.3g", step*unit)
	}
	return [2]int32{int32(math.Ldexp(fraction, 30)), int32(exponent - 30)}, nil
}

// ExactRecord says how an integer network was made, and how it differs from its source. It stands behind the integers.
type ExactRecord struct {
	Source     string    `json:"source"`             // digest of the network in real numbers
	Compared   string    `json:"compared,omitempty"` // with what its layers were
	Data       string    `json:"data"`               // whose noise samples gave the ranges
	DataDigest string    `json:"data_digest"`
	Images     int       `json:"images"`
	Sigma      float64   `json:"sigma"`
	Seed       uint64    `json:"seed"`
	Samples    int       `json:"samples"`     // further noise samples of these images, on which both answered
	OtherClass int       `json:"other_class"` // of them: those of another class
	Layers     int       `json:"layers"`
	Products   int64     `json:"products"` // multiply-adds of one image
	Low        int       `json:"low"`      // pixels that it takes, in 1/255
	High       int       `json:"high"`
	Classes    []string  `json:"classes,omitempty"`
	Trained    []Trained `json:"trained,omitempty"` // what the source learned from
}

// Trained is a data set.
type Trained struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	Images int    `json:"images"`
}
