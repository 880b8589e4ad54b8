package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
)

// numbered is a set of n images of one pixel, with the given labels.
func numbered(t testing.TB, n, classes int, label func(i int) int) *Dataset {
	labels := make([]byte, n)
	for i := range labels {
		labels[i] = byte(label(i))
	}
	labels[0] = byte(classes - 1) // the number of classes follows from the labels
	dir := t.TempDir()
	images := testkit.Write(t, npyBytes("|u1", "False", fmt.Sprintf("(%d, 1, 1)", n), make([]byte, n)), dir, "images.npy")
	labelFile := testkit.Write(t, npyBytes("|u1", "False", fmt.Sprintf("(%d,)", n), labels), dir, "labels.npy")
	return mustOpen(t, "npy:"+images+","+labelFile)
}

// The numbers of images are from the published protocols: spec of the certification scripts of
// Cohen et al. (2019), where image i is taken iff i mod skip = 0 and the loop stops at i = max.
func TestSubsetsOfTheField(t *testing.T) {
	cifar := numbered(t, 10_000, 10, func(i int) int { return i / 1000 })
	imagenet := numbered(t, 50_000, 200, func(i int) int { return i % 200 })
	for _, c := range []struct {
		d           *Dataset
		selections  []Selection
		count, last int
	}{
		{cifar, []Selection{Skip(20)}, 500, 9980},
		{cifar, []Selection{Skip(50)}, 200, 9950},
		{imagenet, []Selection{Skip(143)}, 350, 349 * 143},
		{cifar, []Selection{MaxIndex(500), Skip(20)}, 25, 480},
		{cifar, []Selection{Skip(20), MaxIndex(500)}, 25, 480},
		{cifar, []Selection{Skip(20), MaxIndex(501)}, 26, 500},
		{cifar, []Selection{Range(100, 110)}, 10, 109},
		{cifar, []Selection{Range(9_999, 20_000)}, 1, 9_999},
		{cifar, []Selection{Skip(1)}, 10_000, 9_999},
		{cifar, []Selection{Skip(20), Count(500)}, 500, 9_980},
	} {
		im := mustLoad(t, c.d.Subset(c.selections...))
		if im.Len() != c.count || im.IDs[len(im.IDs)-1] != c.last {
			t.Errorf("%s: %d images up to id %d; expected %d up to %d", im.Name, im.Len(), im.IDs[len(im.IDs)-1], c.count, c.last)
		}
	}
}

// A choice of classes renumbers labels in its order, leaves the bytes of its images as they are, and goes on with other selections.
func TestOnly(t *testing.T) {
	whole := mustLoad(t, numbered(t, 100, 10, func(i int) int { return i % 10 }))
	im := mustLoad(t, numbered(t, 100, 10, func(i int) int { return i % 10 }).Subset(only("7", "2"), Count(4)))
	if !slices.Equal(im.Classes, []string{"7", "2"}) || im.Len() != 4 || len(im.Warnings) > 0 {
		t.Fatalf("%v, %d images, %v", im.Classes, im.Len(), im.Warnings)
	}
	if again, err := Open(im.Name); err != nil || again.String() != im.Name {
		t.Errorf("%q reads back as %v, %v", im.Name, again, err)
	}
	for i, id := range im.IDs {
		if was := whole.Labels[id]; was != []int{7, 2}[im.Labels[i]] {
			t.Errorf("image %d of class %d has the label %d", id, was, im.Labels[i])
		}
	}
	if counts := im.ClassCounts(); !slices.Equal(counts, []int{2, 2}) {
		t.Errorf("a balanced sample has %v of the classes", counts)
	}
}

func TestSubsetErrors(t *testing.T) {
	d := numbered(t, 100, 10, func(i int) int { return i % 10 })
	first, rest := d.Split(1, 7)
	for want, bad := range map[string]*Dataset{
		"skip is 0":                   d.Subset(Skip(0)),
		"skip is -3":                  d.Subset(Skip(-3)),
		"max_index is 0":              d.Subset(MaxIndex(0)),
		"count is 0":                  d.Subset(Count(0)),
		"count is 101; expected 1":    d.Subset(Count(101)),
		"count is 6; expected 1 to 5": d.Subset(Skip(20), Count(6)),
		"range is 5:5":                d.Subset(Range(5, 5)),
		"range is -1:5":               d.Subset(Range(-1, 5)),
		"no image is left":            d.Subset(Range(100, 200)),
		`there is no class "ten"`:     d.Subset(only("1", "ten")),
		`"1" stands there twice`:      d.Subset(only("1", "1")),
		`there is no class "3"`:       d.Subset(only("1", "2"), only("3")),
		"fraction is 1; expected":     first,
		"fraction is 1; expected a":   rest,
	} {
		if _, err := bad.Load(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v; expected %q", bad, err, want)
		}
	}
	nan, _ := d.Split(math.NaN(), 7)
	if _, err := nan.Load(t.Context()); err == nil {
		t.Error("a split by NaN loads")
	}
	if _, err := d.Load(t.Context()); err != nil {
		t.Errorf("bad subsets damage the set: %v", err)
	}
}

func TestMissingClassesWarn(t *testing.T) {
	d := numbered(t, 100, 10, func(i int) int { return i % 10 })
	im := mustLoad(t, d.Subset(Skip(20)))
	if len(im.Warnings) != 1 || !strings.Contains(im.Warnings[0], "8 of 10 classes have no image: 1, 2, 3, 4, 5, 6, 7, 8") {
		t.Errorf("warnings %q", im.Warnings)
	}
	if im = mustLoad(t, d); im.Warnings != nil {
		t.Errorf("the whole set warns: %q", im.Warnings)
	}
}

// Count and Split are balanced, nested, disjoint and exhaustive whatever the order of the classes.
func TestBalancedSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.SliceOfN(rapid.IntRange(-1, 4), 1, 200).Draw(t, "labels")
		if rapid.Bool().Draw(t, "sorted by class") {
			slices.Sort(labels)
		}
		ids := make([]int, len(labels))
		total := map[int]int{}
		for i, label := range labels {
			ids[i] = i
			total[label]++
		}
		n := rapid.IntRange(1, len(ids)).Draw(t, "n")
		apply := func(s Selection) []int {
			kept, err := s.apply(slices.Clone(ids), labels)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.IsSorted(kept) || len(slices.Compact(slices.Clone(kept))) != len(kept) {
				t.Fatalf("ids are not ascending: %v", kept)
			}
			return kept
		}
		checkShares := func(kept []int) {
			got := map[int]int{}
			for _, id := range kept {
				got[labels[id]]++
			}
			for class, m := range total {
				share := float64(len(kept)) * float64(m) / float64(len(ids))
				// With k classes, a class is off its share by less than 1/2 + k/2 images: its own
				// rounding and the others'.
				if math.Abs(float64(got[class])-share) > 0.5+float64(len(total))/2 {
					t.Fatalf("class %d has %d of %d images; its share is %.1f", class, got[class], len(kept), share)
				}
			}
		}
		sample := apply(Count(n))
		if len(sample) != n {
			t.Fatalf("%d images; expected %d", len(sample), n)
		}
		checkShares(sample)
		for _, id := range apply(Count(rapid.IntRange(1, n).Draw(t, "fewer"))) {
			if !slices.Contains(sample, id) {
				t.Fatalf("id %d is in the smaller count only", id)
			}
		}
		if len(ids) < 2 {
			return
		}
		fraction := rapid.Float64Range(0.01, 0.99).Draw(t, "fraction")
		seed := rapid.Uint64().Draw(t, "seed")
		first, rest := apply(portion(fraction, seed, 1)), apply(portion(fraction, seed, 2))
		if len(first) != int(math.Round(fraction*float64(len(ids)))) {
			t.Fatalf("%d of %d images in the first part; expected the fraction %v", len(first), len(ids), fraction)
		}
		if both := slices.Sorted(slices.Values(slices.Concat(first, rest))); !slices.Equal(both, ids) {
			t.Fatalf("the parts hold %v together", both)
		}
		checkShares(first)
		checkShares(rest)
	})
}

func TestCountOfBalancedClassesIsExact(t *testing.T) {
	for name, label := range map[string]func(int) int{
		"sorted":      func(i int) int { return i / 1000 },
		"interleaved": func(i int) int { return i % 10 },
	} {
		labels := make([]int, 10_000)
		ids := make([]int, len(labels))
		for i := range labels {
			labels[i], ids[i] = label(i), i
		}
		kept, err := Count(500).apply(ids, labels)
		if err != nil {
			t.Fatal(err)
		}
		counts := make([]int, 10)
		for _, id := range kept {
			counts[labels[id]]++
		}
		if want := slices.Repeat([]int{50}, 10); !slices.Equal(counts, want) {
			t.Errorf("%s: classes have %v images; expected %v", name, counts, want)
		}
	}
}

func TestSplitDependsOnTheSeed(t *testing.T) {
	d := numbered(t, 1000, 10, func(i int) int { return i % 10 })
	a, _ := d.Split(0.5, 1)
	b, _ := d.Split(0.5, 2)
	same := 0
	ids := mustLoad(t, a).IDs
	for _, id := range mustLoad(t, b).IDs {
		if slices.Contains(ids, id) {
			same++
		}
	}
	// Two independent halves of 1000 share 250 on average, with a standard deviation of
	// √1000/4 ≈ 8; 50 away is a chance below 10⁻⁹.
	if same < 200 || same > 300 {
		t.Errorf("halves by two seeds share %d of 500 images; expected about 250", same)
	}
}

func TestMixIsSplitMix64(t *testing.T) {
	// The first outputs of SplitMix64 from state 1234567, as in Rosetta Code, "Pseudo-random
	// numbers/Splitmix64".
	state := uint64(1234567)
	for _, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423} {
		if got := mix(state); got != want {
			t.Errorf("mix(%d) = %d; expected %d", state, got, want)
		}
		state += 0x9e3779b97f4a7c15
	}
}

// The digest is computed here a second time, from its description.
func TestDigest(t *testing.T) {
	im := &Images{
		Shape:  pixel.Shape{Height: 1, Width: 2, Channels: 3},
		IDs:    []int{4, 9},
		Labels: []int{-1, 2},
		Pixels: []byte("abcdefghijkl"),
	}
	text := "certspec images 1\n"
	for _, v := range []int64{1, 2, 3, 2, 4, 9, -1, 2} {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], uint64(v))
		text += string(word[:])
	}
	text += "abcdefghijkl"
	if got, want := im.ContentDigest(), fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))); got != want {
		t.Errorf("digest %s; expected %s", got, want)
	}
	if im.Index(9) != 1 || im.Index(5) != -1 {
		t.Errorf("ids 9 and 5 stand at %d and %d; expected 1 and -1", im.Index(9), im.Index(5))
	}
}

func TestNamesOpenTheSameSubset(t *testing.T) {
	d := numbered(t, 100, 10, func(i int) int { return i % 10 })
	first, rest := d.Subset(Range(0, 90), Skip(3)).Split(0.3, math.MaxUint64)
	for _, d := range []*Dataset{first, rest, rest.Subset(MaxIndex(50), Count(3))} {
		again := mustOpen(t, d.String())
		if got, want := mustLoad(t, again).Digest, mustLoad(t, d).Digest; got != want || again.String() != d.String() {
			t.Errorf("%s opens %s with another digest", d, again)
		}
	}
	if got := strconv.Itoa(mustLoad(t, rest).Len()); got != "21" {
		t.Errorf("%s images in the second part of 30; expected 21", got)
	}
}

// Labels do not matter to a random sample: it is the same for any of them, its classes are not balanced, another seed draws others, and each image is
// drawn equally often.
func TestRandomIgnoresLabels(t *testing.T) {
	ids := func(d *Dataset, n int, seed uint64) []int {
		t.Helper()
		images, err := d.Subset(random(n, seed)).Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return images.IDs
	}
	a, b := numbered(t, 100, 2, func(i int) int { return i % 2 }), numbered(t, 100, 2, func(i int) int { return i / 50 })
	drawn := make([]int, 100)
	uneven := 0
	for seed := range uint64(400) {
		of := ids(a, 20, seed)
		if !slices.Equal(of, ids(b, 20, seed)) {
			t.Fatalf("seed %d: the labels matter", seed)
		}
		even := 0
		for _, id := range of {
			drawn[id]++
			even += 1 - id%2
		}
		if even != 10 {
			uneven++
		}
	}
	for id, n := range drawn { // 80 expected, with a deviation of 8
		if n < 40 || n > 120 {
			t.Errorf("image %d was drawn %d times of 400, 80 expected", id, n)
		}
	}
	if uneven < 250 { // hypergeometric: 10 of 20 with probability .2
		t.Errorf("the classes are balanced in %d of 400 samples", 400-uneven)
	}
	if _, err := a.Subset(random(101, 1)).Load(t.Context()); err == nil {
		t.Error("101 of 100 images")
	}
	for name, wanted := range map[string]string{"synthetic/test[random=7:3]": "", "synthetic/test[random=7]": "random=N:SEED", "synthetic/test[random=7:x]": "whole number"} {
		if _, err := Open(name); (err == nil) != (wanted == "") || err != nil && !strings.Contains(err.Error(), wanted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A set is listed once: a plan of a thousand models asks for each image set two thousand times.
func TestListIsKept(t *testing.T) {
	d := mustOpen(t, "synthetic/test[count=5]")
	a, err := d.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a.Warnings = append(a.Warnings, "mine")
	b, err := d.List(t.Context())
	if err != nil || &a.IDs[0] != &b.IDs[0] || len(b.Warnings) == len(a.Warnings) {
		t.Errorf("%+v, then %+v, %v", a, b, err)
	}
}
