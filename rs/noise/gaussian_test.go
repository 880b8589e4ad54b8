package noise

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

func TestGaussian(t *testing.T) {
	g, err := NewGaussian(0.25)
	if err != nil {
		t.Fatal(err)
	}
	at := Address{Seed: 1, Image: 2, Block: 3}
	image := []int16{0, 128, 255, -100, 600}
	const number, first = 40, 3
	dst := make([]float32, number*len(image))
	g.AddTo(dst, image, at, first)
	for c := range number {
		var message [48]byte
		copy(message[:], "gaussian/1")
		for j, field := range []uint64{1, 2, 3, uint64(first + c)} {
			binary.LittleEndian.PutUint64(message[16+8*j:], field)
		}
		normal := rand.New(rand.NewChaCha8(sha256.Sum256(message[:])))
		for i, x := range image {
			noise := float64(0.25 * normal.NormFloat64())
			if got, want := dst[c*len(image)+i], float32(float64(x)/255+noise); got != want {
				t.Fatalf("value %d of noise sample %d is %v, want %v", i, first+c, got, want)
			}
		}
	}
}
