package conformal

import (
	"fmt"
	"math/rand/v2"

	"github.com/certspec/certspec/dataset/imageset"
)

// Split draws n images to calibrate on, and leaves the others to test. attacked, which may be nil, are images that are
// tested in any case, and then alone. n is 0 for half of the images, or with attacked ones for all others. Images that
// are exchangeable stay so.
//
// Errors: fewer images than that takes.
func Split(all *imageset.Index, n int, attacked *Attacked, seed uint64) (calibration, test *imageset.Index,
	err error) {
	isTest := map[int]bool{}
	if attacked != nil {
		for _, image := range attacked.Images {
			isTest[image.Image] = true
		}
	}
	var pool, tested []int
	for _, at := range rand.New(rand.NewPCG(seed, 2)).Perm(all.Len()) {
		if isTest[all.IDs[at]] {
			tested = append(tested, at)
		} else {
			pool = append(pool, at)
		}
	}
	if n == 0 {
		if n = len(pool); attacked == nil {
			n = len(pool) / 2
		}
	}
	if n > len(pool) || n == len(pool) && attacked == nil || n < 1 {
		return nil, nil, fmt.Errorf("%d of %d images to calibrate on; expected at least 1, and some that are left "+
			"to test on", n, len(pool))
	}
	if attacked == nil {
		tested = pool[n:]
	}
	return all.Take(pool[:n]), all.Take(tested), nil
}
