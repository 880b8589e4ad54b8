package corrupt

import (
	"slices"
	"strconv"

	"github.com/certspec/certspec/pixel"
)

// integers is a list of whole strengths, of which one changes nothing, or the least.
func (s Strengths) integers(unchanged int, build func() func(dst, src []uint8, theta int)) *list {
	from, to := int(s.from.Num().Int64()), int(s.to.Num().Int64())
	return &list{
		len:       to - from + 1,
		unchanged: min(max(unchanged, from), to) - from,
		theta:     func(i int) string { return strconv.Itoa(from + i) },
		spaced:    func(n int) []int { return equallySpaced(to-from+1, n) },
		build: func() func(dst, src []uint8, i int) {
			at := build()
			return func(dst, src []uint8, i int) { at(dst, src, from+i) }
		},
	}
}

// equallySpaced are n of the indices below length, rounded down.
func equallySpaced(length, n int) (at []int) {
	for k := range n {
		at = append(at, k*(length-1)/max(1, n-1))
	}
	return at
}

// brightnessLevels adds θ levels to every byte, clipped.
func brightnessLevels(s Strengths, _ pixel.Shape) (*list, error) {
	return s.integers(0, func() func(dst, src []uint8, theta int) {
		return func(dst, src []uint8, theta int) {
			var table [256]uint8
			for v := range table {
				table[v] = uint8(min(max(v+theta, 0), pixel.Steps))
			}
			for i, v := range src {
				dst[i] = table[v]
			}
		}
	}), nil
}

// jpegQualities is JPEG at every quality.
func jpegQualities(s Strengths, shape pixel.Shape) (*list, error) {
	if shape.Channels != 1 && shape.Channels != 3 {
		return nil, &SettingError{s.name, shape.String(), "images with 1 or 3 channels"}
	}
	return s.integers(100, func() func(dst, src []uint8, theta int) {
		made := map[int]operator{}
		return func(dst, src []uint8, theta int) {
			if made[theta] == nil {
				made[theta] = jpegAt(job{shape: shape}, theta)()
			}
			made[theta](dst, src, nil)
		}
	}), nil
}

// shifts moves an image by up to k pixels down and right, each way, in rings around no shift: by
// the larger of both distances, then down, then right, each ascending.
func shifts(s Strengths, shape pixel.Shape) (*list, error) {
	k := int(s.to.Num().Int64())
	if k >= min(shape.Height, shape.Width) {
		return nil, &SettingError{s.name, s.String() + " of images of " + shape.String(), "shifts below their sides"}
	}
	type step struct{ down, right int }
	ring := func(s step) int { return max(s.down, -s.down, s.right, -s.right) }
	var steps []step
	for down := -k; down <= k; down++ {
		for right := -k; right <= k; right++ {
			steps = append(steps, step{down, right})
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return ring(a) - ring(b) })
	row := shape.Width * shape.Channels
	return &list{
		len:   len(steps),
		theta: func(i int) string { return strconv.Itoa(steps[i].down) + "," + strconv.Itoa(steps[i].right) },
		spaced: func(int) (at []int) {
			for i, s := range steps {
				if s == (step{}) || max(s.down, -s.down) == k && max(s.right, -s.right) == k {
					at = append(at, i)
				}
			}
			return at
		},
		build: func() func(dst, src []uint8, i int) {
			return func(dst, src []uint8, i int) {
				for y := range shape.Height {
					from := min(max(y-steps[i].down, 0), shape.Height-1) * row
					for x := range shape.Width {
						at := from + min(max(x-steps[i].right, 0), shape.Width-1)*shape.Channels
						copy(dst[y*row+x*shape.Channels:][:shape.Channels], src[at:])
					}
				}
			}
		},
	}, nil
}
