package conformal

import (
	crand "crypto/rand"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/certspec/certspec/dataset/imageset"
)

// UnknownSeed draws a seed that nobody knows, so that no perturbation can depend on it.
func UnknownSeed() uint64 {
	var random [8]byte
	_, _ = crand.Read(random[:]) // which never fails
	return binary.LittleEndian.Uint64(random[:])
}

// CheckLabels is the error that some images have no label.
func CheckLabels(all *imageset.Index) error {
	unknown := 0
	for _, label := range all.Labels {
		if label < 0 {
			unknown++
		}
	}
	if unknown > 0 {
		return fmt.Errorf("%s: %d of %d images have no label; expected labels, by which sets are calibrated", all.Name,
			unknown, all.Len())
	}
	return nil
}

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
