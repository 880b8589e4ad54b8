package dataset

import (
	"slices"
	"testing"
)

// The digests come from a second implementation of the drawing, in Python with exact
// integers, over the first 100 images of each split: they must be the same on every platform.
func TestSyntheticBytes(t *testing.T) {
	for seed, want := range map[uint64]string{
		trainSeed: "sha256:811ad37b45ca96b3f4befaa3831c29065174a95ac47931690e5608e1cf1d39ee",
		testSeed:  "sha256:11a70cc950b57b756e1e2b4f21c2fe478ce991d1d680d96fee4253a09a2e6e78",
	} {
		im := &Images{Shape: cifarShape}
		for i := range 100 {
			image := make([]uint8, cifarShape.Len())
			label := syntheticLabel(seed, i)
			drawSynthetic(image, label, newStream(seed, i))
			im.IDs, im.Labels, im.Pixels = append(im.IDs, i), append(im.Labels, label), append(im.Pixels, image...)
		}
		if got := im.ContentDigest(); got != want {
			t.Errorf("seed %d: digest %s; expected %s", seed, got, want)
		}
	}
}

func TestSyntheticClasses(t *testing.T) {
	d := mustOpen(t, "synthetic/test")
	im := mustLoad(t, d)
	if counts := im.ClassCounts(); !slices.Equal(counts, slices.Repeat([]int{1000}, 10)) {
		t.Errorf("classes have %v images; expected 1000 each", counts)
	}
	for _, s := range []Selection{Skip(10), Skip(20), Skip(50), MaxIndex(10)} {
		if im := mustLoad(t, d.Subset(s)); im.Warnings != nil {
			t.Errorf("%v", im.Warnings)
		}
	}
	if testing.Short() {
		return
	}
	train := mustLoad(t, mustOpen(t, "synthetic/train"))
	seen := map[string]bool{}
	for _, im := range []*Images{im, train} {
		for i := range im.Len() {
			seen[string(im.Image(i))] = true
		}
	}
	if len(seen) != train.Len()+im.Len() {
		t.Errorf("%d different images of %d", len(seen), train.Len()+im.Len())
	}
}

// A subset is drawn without the rest, and a prepared one as well: the same images as those of the whole set.
func TestSyntheticSubset(t *testing.T) {
	for _, prepared := range []string{"synthetic/test[resize=16]", "synthetic/test"} {
		if prepared == "synthetic/test" && testing.Short() {
			continue
		}
		whole, part := mustLoad(t, mustOpen(t, prepared)), mustOpen(t, prepared).Subset(Skip(2500))
		im := mustLoad(t, part)
		for i, id := range im.IDs {
			if !slices.Equal(im.Image(i), whole.Image(id)) || im.Labels[i] != whole.Labels[id] {
				t.Errorf("%q: image %d is not image %d of the whole set", prepared, i, id)
			}
		}
		if r, err := part.base.records.get(t.Context(), part.base.read); err != nil || im.Len() != 4 || r.pixels != nil || r.all.Load() != nil {
			t.Errorf("%q: the whole set was drawn for %d images, %v", prepared, im.Len(), err)
		}
	}
}
