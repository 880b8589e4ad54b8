package intnet

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// noisy are images of pixels with noise of about a quarter of their range, then all of random values, in whole numbers
// that are the same on every machine.
func noisy(random *rand.Rand, n *Network, out []int16) {
	size := n.values[0].size()
	for at := range out {
		if at/size%8 == 7 {
			out[at] = n.Low + int16(random.IntN(int(n.High)-int(n.Low)+1))
			continue
		}
		v := 128 + random.IntN(100) - random.IntN(100)
		for range 4 {
			v += random.IntN(111) - 55
		}
		out[at] = min(max(int16(v), n.Low), n.High)
	}
}

// TestDigestOfLogits prints the digest of the logits of the network in INTNET on INTNET_SAMPLES noise samples, 1,000
// where nothing is said, by each kernel of INTNET_KERNEL, else by those with vectors, with its rate. It is the same on
// every machine.
func TestDigestOfLogits(t *testing.T) {
	path := os.Getenv("INTNET")
	if path == "" {
		t.Skip("INTNET names no network")
	}
	n, _, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	count := 1000
	if text := os.Getenv("INTNET_SAMPLES"); text != "" {
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	kernels := vectorKernels
	if name := os.Getenv("INTNET_KERNEL"); name != "" {
		kernels = []string{name}
	}
	var digests []string
	for _, kernel := range kernels {
		p, err := n.Program(kernel)
		if err != nil {
			t.Fatal(err)
		}
		random, digest, taken := rand.New(rand.NewPCG(1, 23)), sha256.New(), time.Duration(0)
		const part = 40
		x, logits := make([]int16, part*n.values[0].size()), make([]int32, part*n.Classes())
		for range (count + part - 1) / part {
			noisy(random, n, x)
			begun := time.Now()
			if err := p.Run(x, logits); err != nil {
				t.Fatal(err)
			}
			taken += time.Since(begun)
			if err := binary.Write(digest, binary.LittleEndian, logits); err != nil {
				t.Fatal(err)
			}
		}
		sum := string(digest.Sum(nil))
		digests = append(digests, sum)
		samples := (count + part - 1) / part * part
		t.Logf("%d samples by %s: %x, %.0f samples/s", samples, kernel, sum, float64(samples)/taken.Seconds())
	}
	if len(slices.Compact(slices.Clone(digests))) > 1 {
		t.Error("kernels give other logits")
	}
}
