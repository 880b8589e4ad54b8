// Package testkit holds what tests of several packages need: files that must be there, and drawn images.
package testkit

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/pixel"
)

// Read returns the content of a file, at a path of parts.
func Read(t testing.TB, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Write makes a file, and the folders above it.
func Write(t testing.TB, data []byte, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// Images draws n images of uniform values, with labels in turn and every other number as id.
func Images(name string, shape pixel.Shape, classes, n int, seed uint64) *imageset.Images {
	random := rand.New(rand.NewPCG(seed, 1))
	im := &imageset.Images{Name: name, Shape: shape, Pixels: make([]uint8, n*shape.Len())}
	for k := range classes {
		im.Classes = append(im.Classes, string(rune('a'+k)))
	}
	for i := range n {
		im.IDs, im.Labels = append(im.IDs, 2*i), append(im.Labels, i%classes)
	}
	for i := range im.Pixels {
		im.Pixels[i] = uint8(random.IntN(256))
	}
	im.Digest = im.ContentDigest()
	return im
}
