package feedforward

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"slices"
)

// Digest is "sha256:" and the hexadecimal SHA-256 of what the network computes: the layers in their order, with kind, inputs,
// shape, options and weights as 64-bit numbers, and the preparation of images in front. Names are left out. Networks of equal digest
// give equal values and bounds.
func (n *Network) Digest() string {
	h := sha256.New()
	h.Write([]byte("certspec network 1\n"))
	for _, nd := range n.nodes {
		put(h, floats([]int{len(nd.op)}))
		h.Write([]byte(nd.op))
		for _, values := range append([][]float64{floats(nd.in), floats(nd.shape)}, nd.parameters...) {
			put(h, []float64{float64(len(values))})
			put(h, values)
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func put(h hash.Hash, values []float64) {
	var b []byte
	for part := range slices.Chunk(values, 1<<12) {
		b = b[:0]
		for _, v := range part {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		h.Write(b)
	}
}

func floats(values []int) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}

func (o ConvOptions) numbers() []float64 {
	return floats(slices.Concat(o.Kernel[:], o.Stride[:], o.Dilation[:], o.Pad[:], []int{o.Groups}))
}

func (p PoolOptions) numbers() []float64 {
	ceil := 0.0
	if p.CeilMode {
		ceil = 1
	}
	return append(p.ConvOptions.numbers(), ceil)
}

// Assumes says what rigorous bounds take for granted of an evaluation in float32, beyond IEEE arithmetic; "" where nothing.
func (n *Network) Assumes() string {
	for _, nd := range n.nodes {
		switch nd.op {
		case "Sigmoid", "Tanh", "LogSoftmax", "LogSumExp", "Softplus":
			return "sigmoid, tanh, exp and log in float32 are off by at most 2^-18; log-softmax subtracts the largest value first"
		}
	}
	return ""
}
