package intnet

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
)

// magic begins a file; the last byte is the version of the form.
const magic = "intnet\x00\x01"

// mostBytes is the largest file that is read.
const mostBytes = 1 << 29

// IsName tells from its ending whether a file is an integer network.
func IsName(path string) bool {
	return len(path) > len(ending) && path[len(path)-len(ending):] == ending
}

const ending = ".intnet"

// Read reads a file: the checked network, and the text behind it, which says how it was made.
func Read(path string) (*Network, []byte, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > mostBytes {
		return nil, nil, fmt.Errorf("integer network: %s has %d bytes; at most %d are read", path, info.Size(),
			mostBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("integer network: %w", err)
	}
	n, note, err := Decode(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return n, note, nil
}

// Encode writes a checked network, with a text that is not part of its identity.
func Encode(n *Network, note []byte) []byte {
	integers := n.integers()
	out := append([]byte(magic), binary.LittleEndian.AppendUint64(nil, uint64(len(integers)))...)
	return append(append(out, integers...), note...)
}

// seal computes the digest.
func (n *Network) seal() { n.digest = sha256.Sum256(n.integers()) }

// integers are all numbers of the network, little-endian.
func (n *Network) integers() []byte {
	var b []byte
	word := func(values ...int) {
		for _, v := range values {
			b = binary.LittleEndian.AppendUint32(b, uint32(int32(v)))
		}
	}
	half := func(values []int16) {
		for _, v := range values {
			b = binary.LittleEndian.AppendUint16(b, uint16(v))
		}
	}
	word(n.Height, n.Width, n.Channels, int(n.Low), int(n.High), int(n.Unit[0]), int(n.Unit[1]), len(n.Layers))
	half(n.Border)
	for i := range n.Layers {
		l := &n.Layers[i]
		word(int(l.Op), len(l.From))
		word(l.From...)
		switch l.Op {
		case MaxPool, Conv:
			word(l.Kernel[:]...)
			word(l.Stride[:]...)
			word(l.Pad[:]...)
		}
		switch l.Op {
		case Conv:
			wide := 0
			if l.Wide {
				wide = 1
			}
			word(l.Out, l.Groups, l.Shift, wide, l.Addend, l.Bits, len(l.Factor), len(l.Weight)/l.Out)
		case Dense:
			word(l.Out, len(l.Weight)/l.Out)
		case Add:
			word(l.Bits)
		}
		for _, v := range l.Bias {
			word(int(v))
		}
		half(l.Scale)
		half(l.Factor)
		if l.bytes() {
			for _, w := range l.Weight {
				b = append(b, byte(w))
			}
		} else {
			half(l.Weight)
		}
	}
	return b
}

// bytes tells whether weights are stored in a byte: those of a convolution behind the first layer.
func (l *Layer) bytes() bool { return l.Op == Conv && l.From[0] > 0 }

// Decode reads the bytes of a file and checks everything, see Check.
func Decode(data []byte) (n *Network, note []byte, err error) {
	rest, found := bytes.CutPrefix(data, []byte(magic))
	if !found {
		if bytes.HasPrefix(data, []byte(magic[:len(magic)-1])) {
			return nil, nil, errors.New("integer network: a later form of the file; a newer certspec reads it")
		}
		return nil, nil, errors.New("integer network: the file is none; certspec quantize --exact writes one")
	}
	if len(rest) < 8 {
		return nil, nil, errors.New("integer network: the file ends early")
	}
	size := binary.LittleEndian.Uint64(rest)
	rest = rest[8:]
	if size > uint64(len(rest)) {
		return nil, nil, fmt.Errorf("integer network: the file ends early: %d bytes of %d", len(rest), size)
	}
	r := reader{rest: rest[:size]}
	n = r.network()
	if r.err == nil && len(r.rest) > 0 {
		r.err = fmt.Errorf("%d bytes behind the last layer", len(r.rest))
	}
	if r.err != nil {
		return nil, nil, fmt.Errorf("integer network: %w", r.err)
	}
	if err := Check(n); err != nil {
		return nil, nil, err
	}
	return n, rest[size:], nil
}

// reader takes numbers from the front. Behind the first error it gives zeros.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) take(n int) []byte {
	if r.err == nil && n > len(r.rest) {
		r.err = fmt.Errorf("the file ends early: %d bytes are missing", n-len(r.rest))
	}
	if r.err != nil {
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) word() int {
	b := r.take(4)
	if b == nil {
		return 0
	}
	return int(int32(binary.LittleEndian.Uint32(b)))
}

// words is a list of count numbers; its memory is the file's.
func (r *reader) words(count int) []int {
	b := r.array(count, 4)
	out := make([]int, len(b)/4)
	for i := range out {
		out[i] = int(int32(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return out
}

func (r *reader) halves(count int) []int16 {
	b := r.array(count, 2)
	if len(b) == 0 {
		return nil
	}
	out := make([]int16, len(b)/2)
	for i := range out {
		out[i] = int16(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return out
}

// array is the bytes of count numbers of some size.
func (r *reader) array(count, size int) []byte {
	if r.err == nil && (count < 0 || count > mostBytes/size) {
		r.err = fmt.Errorf("a list of %d numbers", count)
	}
	if r.err != nil {
		return nil
	}
	return r.take(count * size)
}

// int16 is a word that fits it.
func (r *reader) int16() int16 {
	v := r.word()
	if r.err == nil && v != int(int16(v)) {
		r.err = fmt.Errorf("the number %d; expected %d to %d", v, math.MinInt16, math.MaxInt16)
	}
	return int16(v)
}

func (r *reader) network() *Network {
	n := &Network{Height: r.word(), Width: r.word(), Channels: r.word(), Low: r.int16(), High: r.int16(),
		Unit: [2]int32{int32(r.word()), int32(r.word())}}
	count := r.word()
	if r.err == nil && (count < 1 || count > mostLayers) {
		r.err = fmt.Errorf("%d layers; expected 1 to %d", count, mostLayers)
	}
	if r.err == nil && (n.Channels < 1 || n.Channels > mostChannels) {
		r.err = fmt.Errorf("images of %d channels", n.Channels)
	}
	n.Border = r.halves(n.Channels)
	for i := 0; i < count && r.err == nil; i++ {
		n.Layers = append(n.Layers, r.layer())
		if r.err != nil {
			r.err = fmt.Errorf("layer %d: %w", i+1, r.err)
		}
	}
	return n
}

func (r *reader) layer() (l Layer) {
	l.Op = Op(r.word())
	l.From = r.words(r.word())
	if r.err == nil && len(l.From) == 0 {
		r.err = errors.New("it reads nothing")
	}
	if r.err != nil {
		return l
	}
	switch l.Op {
	case MaxPool, Conv:
		w := r.words(8)
		if r.err != nil {
			return l
		}
		l.Kernel, l.Stride, l.Pad = [2]int(w), [2]int(w[2:]), [4]int(w[4:])
	}
	factors, each := 0, 0
	switch l.Op {
	case Conv:
		w := r.words(8)
		if r.err != nil {
			return l
		}
		l.Out, l.Groups, l.Shift, l.Wide, l.Addend, l.Bits = w[0], w[1], w[2], w[3] == 1, w[4], w[5]
		factors, each = w[6], w[7]
		if w[3] != 0 && w[3] != 1 || l.Addend < 0 {
			r.err = fmt.Errorf("a result of kind %d with value %d added", w[3], l.Addend)
		}
	case Dense:
		l.Out, each = r.word(), r.word()
	case Add:
		l.Bits, factors = r.word(), 2
	case MaxPool, SumPool, Concat:
		return l
	default:
		r.err = fmt.Errorf("operation %d; this program knows 1 to %d", l.Op, Dense)
	}
	if r.err == nil && (l.Op != Add && (l.Out < 1 || l.Out > mostChannels) || each < 0 || each > mostBytes) {
		r.err = fmt.Errorf("%d channels of %d products", l.Out, each)
	}
	for _, v := range r.words(l.Out) {
		l.Bias = append(l.Bias, int32(v))
	}
	if l.Op == Conv {
		l.Scale = r.halves(l.Out)
	}
	l.Factor = r.halves(factors)
	if !l.bytes() {
		l.Weight = r.halves(l.Out * each)
		return l
	}
	b := r.array(l.Out*each, 1)
	l.Weight = make([]int16, len(b))
	for i, v := range b {
		l.Weight[i] = int16(int8(v))
	}
	return l
}
