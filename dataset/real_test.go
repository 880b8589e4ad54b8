package dataset

import (
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// needData skips a test where the real data are not on this machine.
func needData(t *testing.T, name string) *Images {
	t.Helper()
	if os.Getenv(dataVariable) == "" {
		t.Skipf("%s is not set: the test needs %s", dataVariable, name)
	}
	return mustLoad(t, mustOpen(t, name))
}

func sum(values []uint8) (total int) {
	for _, v := range values {
		total += int(v)
	}
	return total
}

// Counts, sums and first labels were read from the files by a few lines of Python
// (gzip, bytes); the sum of MNIST's test images is the mean 0.1325 that is known of it.
func TestRealIDX(t *testing.T) {
	for _, c := range []struct {
		name   string
		count  int
		sum    int
		first  int // sum of the first image
		labels []int
		counts []int
	}{
		{"mnist/test", 10_000, 264_923_200, 18_454, []int{7, 2, 1, 0, 4, 1, 4, 9, 5, 9},
			[]int{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}},
		{"fashionmnist/test", 10_000, 573_469_082, 83_873, nil, slices.Repeat([]int{1000}, 10)},
		{"fashionmnist/train", 60_000, 3_431_114_169, 0, nil, slices.Repeat([]int{6000}, 10)},
	} {
		t.Run(c.name, func(t *testing.T) {
			im := needData(t, c.name)
			if im.Len() != c.count || im.Shape.String() != "28×28×1" || sum(im.Pixels) != c.sum {
				t.Errorf("%d images of %v, sum %d; expected %d, sum %d", im.Len(), im.Shape, sum(im.Pixels), c.count, c.sum)
			}
			if !slices.Equal(im.ClassCounts(), c.counts) {
				t.Errorf("classes have %v images; expected %v", im.ClassCounts(), c.counts)
			}
			// The order of FashionMNIST's records differs between copies.
			if c.labels != nil && (!slices.Equal(im.Labels[:10], c.labels) || sum(im.Image(0)) != c.first) {
				t.Errorf("labels begin with %v, first sum is %d; expected %v, %d", im.Labels[:10], sum(im.Image(0)), c.labels, c.first)
			}
		})
	}
}

// The SHA-256 of all pixels, and the first label of the last class, equal those of the pictures in bytewise
// order of their paths as Pillow 12.3.0 decodes them; internal/external compares the test images with an
// installed Pillow.
func TestRealJPEG(t *testing.T) {
	for name, want := range map[string]string{
		"cifar10-jpeg/test":  "5a6aa8185204d80b65d3dfb540696dadd5f10d185ded226a96665d3e0fc6259f",
		"cifar10-jpeg/train": "bf3aabd52be912dae02a0435296c4dab5289524b57f55cd162dc4796935a611b",
	} {
		im := needData(t, name)
		if !slices.Equal(im.ClassCounts(), slices.Repeat([]int{im.Len() / 10}, 10)) || im.Name != name+"[jpeg=libjpeg-turbo]" {
			t.Errorf("%d images of %s, classes %v", im.Len(), im.Name, im.ClassCounts())
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(im.Pixels)); got != want {
			t.Errorf("%s: pixels %s; Pillow's are %s", name, got, want)
		}
	}
}

// Images that a file recorded before names said the decoder are decoded as then: the digest is the one in the
// card of the network cifar10-resnet20-s025, which Go 1.26 decoded.
func TestRealJPEGOfGo(t *testing.T) {
	needData(t, "cifar10-jpeg/test[count=1]")
	d, err := OpenLike("cifar10-jpeg/test", "cifar10-jpeg/test[skip=20]")
	if err != nil || d.String() != "cifar10-jpeg/test[jpeg=go1.26]" {
		t.Fatalf("%v, %v", d, err)
	}
	im, err := d.Load(t.Context())
	if !strings.HasPrefix(runtime.Version(), "go1.26") {
		if err == nil || !strings.Contains(err.Error(), "build it with Go 1.26, or take jpeg=libjpeg-turbo") {
			t.Errorf("built by %s: %v", runtime.Version(), err)
		}
		return
	}
	if err != nil || im.Digest != "sha256:448aac618a02311436468d052407fcf6045f302002755440595d43070a8ecb18" {
		t.Errorf("%v, %v", im, err)
	}
}
