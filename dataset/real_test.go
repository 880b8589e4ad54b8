package dataset

import (
	"math"
	"os"
	"slices"
	"testing"
)

// needData skips a test where the real data are not on this machine.
func needData(t *testing.T, name string) *Images {
	t.Helper()
	if os.Getenv(DataVariable) == "" {
		t.Skipf("%s is not set: the test needs %s", DataVariable, name)
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

// The reference values are those of Pillow 13.0.0, whose JPEG decoder smooths the
// subsampled colours, as ours does not; hence the tolerances.
func TestRealJPEG(t *testing.T) {
	im := needData(t, "cifar10-jpeg/test")
	if im.Len() != 10_000 || im.Shape.String() != "32×32×3" || !slices.Equal(im.ClassCounts(), slices.Repeat([]int{1000}, 10)) {
		t.Fatalf("%d images of %v, classes %v", im.Len(), im.Shape, im.ClassCounts())
	}
	mean := func(values []uint8) (m [3]float64) {
		for i, v := range values {
			m[i%3] += 3 * float64(v) / float64(len(values))
		}
		return m
	}
	near := func(what string, got, want [3]float64, tolerance float64) {
		t.Helper()
		for c := range 3 {
			if math.Abs(got[c]-want[c]) > tolerance {
				t.Errorf("%s: channel %d has mean %.3f; Pillow's is %.3f", what, c, got[c], want[c])
			}
		}
	}
	near("all", mean(im.Pixels), [3]float64{125.987, 123.691, 114.847}, 0.2)
	for _, c := range []struct {
		index, label int
		mean         [3]float64
		center       [3]float64 // the pixel at row 16, column 16
	}{
		{0, 0, [3]float64{152.264, 150.482, 161.747}, [3]float64{207, 203, 218}},
		{6123, 6, [3]float64{69.895, 67.289, 43.188}, [3]float64{145, 137, 100}},
		{9999, 9, [3]float64{138.150, 120.006, 117.710}, [3]float64{66, 35, 30}},
	} {
		values := im.Image(c.index)
		if im.Labels[c.index] != c.label {
			t.Errorf("image %d has label %d; expected %d", c.index, im.Labels[c.index], c.label)
		}
		near(im.Classes[c.label], mean(values), c.mean, 0.5)
		near(im.Classes[c.label]+" at the centre", mean(values[(16*32+16)*3:][:3]), c.center, 25)
	}
}

func TestRealJPEGTrain(t *testing.T) {
	im := needData(t, "cifar10-jpeg/train")
	if im.Len() != 50_000 || !slices.Equal(im.ClassCounts(), slices.Repeat([]int{5000}, 10)) {
		t.Errorf("%d images, classes %v", im.Len(), im.ClassCounts())
	}
}
