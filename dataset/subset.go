package dataset

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	near "github.com/certspec/certspec/internal/nearest"
)

// Selection keeps some images of a set. Skip, MaxIndex and Range look at an image's id, its index in the base set. So
// their order does not matter, and the same id is the same image in every corruption and severity. Count and Split look
// at what is left. Only changes labels, too.
type Selection struct {
	text  string
	apply func(ids, labels []int) ([]int, error) // labels is indexed by id
	only  []string                               // in place of apply
}

// Skip keeps the image of id i iff i mod s = 0. Where the classes of a set stand in
// a regular order, a skip can leave classes out; Load then warns.
func Skip(s int) Selection {
	return Selection{text: "skip=" + strconv.Itoa(s), apply: func(ids, _ []int) ([]int, error) {
		if s < 1 {
			return nil, fmt.Errorf("skip is %d; expected at least 1", s)
		}
		return keep(ids, func(id int) bool { return id%s == 0 }), nil
	}}
}

// MaxIndex keeps the images of id < m. The published certification scripts call this
// "max": with skip 20, a max of 500 gives 25 images, not 500. (They ignore a max
// that is no multiple of skip; MaxIndex does not.)
func MaxIndex(m int) Selection {
	return Selection{text: "max_index=" + strconv.Itoa(m), apply: func(ids, _ []int) ([]int, error) {
		if m < 1 {
			return nil, fmt.Errorf("max_index is %d; expected at least 1", m)
		}
		return keep(ids, func(id int) bool { return id < m }), nil
	}}
}

// Range keeps the images of from ≤ id < to.
func Range(from, to int) Selection {
	return Selection{text: fmt.Sprintf("range=%d:%d", from, to), apply: func(ids, _ []int) ([]int, error) {
		if from < 0 || to <= from {
			return nil, fmt.Errorf("range is %d:%d; expected 0 ≤ from < to", from, to)
		}
		return keep(ids, func(id int) bool { return from <= id && id < to }), nil
	}}
}

// Count keeps n of the images that are left: a fixed, class-balanced sample, never a
// prefix of the file. Each class gets its share of n up to rounding; inside a class the
// choice follows a fixed pseudo-random order of the ids. A smaller count is a
// subset of a larger one.
func Count(n int) Selection {
	return Selection{text: "count=" + strconv.Itoa(n), apply: func(ids, labels []int) ([]int, error) {
		if n < 1 || n > len(ids) {
			return nil, fmt.Errorf("count is %d; expected 1 to %d, the number of images", n, len(ids))
		}
		return sorted(balanced(ids, labels, 0)[:n]), nil
	}}
}

// only keeps the images of some classes, which become all that the set has: their labels are 0, 1,
// … in this order.
func only(classes ...string) Selection {
	return Selection{text: "only=" + strings.Join(classes, ":"), only: classes}
}

// relabel keeps some classes of those that there are, and gives the labels that they have then, −1 for all others.
func relabel(only, classes []string, ids, labels []int) (kept, now []int, err error) {
	to := make([]int, len(classes))
	for i := range to {
		to[i] = -1
	}
	for label, name := range only {
		at := slices.Index(classes, name)
		switch {
		case at < 0:
			return nil, nil, fmt.Errorf("there is no class %q; the nearest is %q", name, near.Of(name, classes))
		case to[at] >= 0:
			return nil, nil, fmt.Errorf("the class %q stands there twice", name)
		}
		to[at] = label
	}
	now = make([]int, len(labels))
	for id, label := range labels {
		now[id] = -1
		if label >= 0 {
			now[id] = to[label]
		}
	}
	return keep(ids, func(id int) bool { return now[id] >= 0 }), now, nil
}

// random keeps n of the images that are left, drawn without regard to their labels: a function of
// the ids and the seed alone. As in a sample of images with unknown labels, the classes are not
// balanced.
func random(n int, seed uint64) Selection {
	return Selection{text: fmt.Sprintf("random=%d:%d", n, seed), apply: func(ids, _ []int) ([]int, error) {
		if n < 1 || n > len(ids) {
			return nil, fmt.Errorf("random is %d; expected 1 to %d, the number of images", n, len(ids))
		}
		order := slices.Clone(ids)
		key := func(id int) uint64 { return mix(mix(seed) ^ uint64(id)) }
		slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(a, b)) })
		return sorted(order[:n]), nil
	}}
}

// Split divides the set into two disjoint parts, e.g. for training and validation.
// The first holds the given fraction of the images, rounded to the nearest number; both
// are class-balanced. The parts are a function of the ids and the seed alone.
func (d *Dataset) Split(fraction float64, seed uint64) (first, rest *Dataset) {
	return d.Subset(portion(fraction, seed, 1)), d.Subset(portion(fraction, seed, 2))
}

func portion(fraction float64, seed uint64, number int) Selection {
	text := fmt.Sprintf("split=%s:%d:%d", strconv.FormatFloat(fraction, 'g', -1, 64), seed, number)
	return Selection{text: text, apply: func(ids, labels []int) ([]int, error) {
		if !(fraction > 0 && fraction < 1) {
			return nil, fmt.Errorf("split fraction is %v; expected a number between 0 and 1", fraction)
		}
		order := balanced(ids, labels, seed)
		cut := int(math.Round(fraction * float64(len(ids))))
		if number == 1 {
			return sorted(order[:cut]), nil
		}
		return sorted(order[cut:]), nil
	}}
}

func keep(ids []int, wanted func(id int) bool) []int {
	var kept []int
	for _, id := range ids {
		if wanted(id) {
			kept = append(kept, id)
		}
	}
	return kept
}

func sorted(ids []int) []int {
	slices.Sort(ids)
	return ids
}

// balanced orders ids so that every prefix holds each class in proportion, up to rounding:
// the r-th of the m images of a class, in the order of a keyed hash of the id, stands at
// the fraction (2r+1)/2m of the whole.
func balanced(ids, labels []int, seed uint64) []int {
	type place struct {
		id           int
		key          uint64
		rank2, count uint64 // 2r+1 and m
	}
	classes := map[int][]place{}
	for _, id := range ids {
		classes[labels[id]] = append(classes[labels[id]], place{id: id, key: mix(mix(seed) ^ uint64(id))})
	}
	places := make([]place, 0, len(ids))
	for _, class := range classes {
		slices.SortFunc(class, func(a, b place) int {
			return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
		})
		for r := range class {
			class[r].rank2, class[r].count = uint64(2*r+1), uint64(len(class))
		}
		places = append(places, class...)
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(
			cmp.Compare(a.rank2*b.count, b.rank2*a.count),
			cmp.Compare(a.key, b.key),
			cmp.Compare(a.id, b.id))
	})
	order := make([]int, len(places))
	for i, p := range places {
		order[i] = p.id
	}
	return order
}

// mix is the SplitMix64 step and finaliser (Steele, Lea, Flood: Fast Splittable Pseudorandom
// Number Generators, OOPSLA 2014): a bijection of 64-bit words.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
