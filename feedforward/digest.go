package feedforward

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"strings"
)

// Digest is "sha256:" and the hexadecimal SHA-256 of what the network computes. It covers the layers in their order,
// with kind, inputs, shape, options and weights as 64-bit numbers, and the preparation of images in front. Names are
// left out. Networks of equal digest give equal values and bounds.
func (n *Network) Digest() string {
	h := sha256.New()
	h.Write([]byte("certspec network 1\n"))
	for _, nd := range n.nodes {
		put(h, list{floats([]int{len(nd.op)}), 1})
		h.Write([]byte(nd.op))
		for _, l := range append([]list{{floats(nd.in), 1}, {floats(nd.shape), 1}}, nd.parameters...) {
			put(h, list{[]float64{float64(len(l.values) * l.times)}, 1})
			put(h, l)
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func put(h hash.Hash, l list) {
	w := bufio.NewWriterSize(h, 1<<15)
	for _, v := range l.values {
		for range l.times {
			w.Write(binary.LittleEndian.AppendUint64(w.AvailableBuffer(), math.Float64bits(v)))
		}
	}
	w.Flush()
}

func (p PoolOptions) numbers() []float64 {
	ceil := 0.0
	if p.CeilMode {
		ceil = 1
	}
	return append(p.window().numbers(), ceil)
}

// Assumes names the assumptions of rigorous bounds on an evaluation in float32 beyond IEEE arithmetic, and that a file
// computes in float64, whose rounding they cover as well. It is "" without any.
func (n *Network) Assumes() string {
	var all []string
	if n.double {
		all = append(all, "the file computes in float64, whose rounding errors are smaller")
	}
	for _, nd := range n.nodes {
		switch nd.op {
		case "Sigmoid", "Tanh", "LogSoftmax", "LogSumExp", "Softplus":
			all = append(all,
				"sigmoid, tanh, exp and log in float32 are off by at most 2^-18; log-softmax subtracts the largest "+
					"value first")
			return strings.Join(all, "; ")
		}
	}
	return strings.Join(all, "; ")
}
