// Package gate decides whether a change of a network lowers its certified accuracy at a radius by more than is
// allowed.
//
// The old and the new network answer the same noise samples of an image, under one rule, so that each image gives a
// difference d: 1 if the old one is certified and correct at the radius and the new one is not, −1 the other way
// round, else 0. All noise has an address, so the differences of a set of N images are N fixed numbers. The estimand
// is their sum: the change of the certified count that two full runs with these samples would show. Only the order, a
// random permutation, is random.
package gate

import (
	"fmt"
	"math"
)

// Verdict is the finding on a change.
type Verdict string

// The verdicts.
const (
	Undecided Verdict = "undecided"
	Pass      Verdict = "pass" // at most the allowed drop
	Fail      Verdict = "fail" // more than it
)

// Test takes differences in a random order, and may stop after any of them. Each verdict is wrong with probability at
// most Level, at all stops together.
//
// Let S be the sum of all N differences and a the largest whole number up to drop·N. Under "S ≤ a" the next of the
// r = N−t differences left has a mean of at most m = (a − S_t)/r, as all orders are equally likely. So each factor
//
//	1 + f·(d − m)/(1 + m),   0 ≤ f < 1,
//
// is positive with a mean of at most 1, and their product a non-negative supermartingale that starts at 1. So is the
// average of the products for several f. It ever reaches 1/Level with probability at most Level (Ville 1939), and
// then S > a is shown: the change fails. "S ≥ a+1" is tested in the same way with −d (Waudby-Smith and Ramdas 2024,
// section 5, for betting without replacement). After all images S is known.
type Test struct {
	Images  int     `json:"images"`  // N
	Allowed int     `json:"allowed"` // a
	Level   float64 `json:"level"`
	Seen    int     `json:"seen"`
	Sum     int     `json:"sum"` // S_t
	verdict Verdict
	falls   [len(bets)]float64 // products against "S ≤ a", for each bet
	keeps   [len(bets)]float64 // against "S ≥ a+1"
	most    float64            // the largest average of falls so far
}

var bets = [...]float64{0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95}

// New begins a test.
//
// Errors: no images, a drop outside [0, 1), a level outside (0, ½).
func New(images int, drop, level float64) (*Test, error) {
	switch {
	case images < 1:
		return nil, fmt.Errorf("%d labelled images: expected at least 1", images)
	case !(drop >= 0 && drop < 1):
		return nil, fmt.Errorf("the drop is %v: expected a part of the images, at least 0 and below 1", drop)
	case !(level > 0 && level < 0.5):
		return nil, fmt.Errorf("the level is %v: expected a number above 0 and below 0.5", level)
	}
	allowed := int(math.Floor(drop * float64(images) * (1 + 1e-12)))
	t := &Test{Images: images, Allowed: allowed, Level: level, verdict: Undecided}
	for i := range bets {
		t.falls[i], t.keeps[i] = 1, 1
	}
	return t, nil
}

// Add takes the next difference, −1, 0 or 1, and gives the verdict. The first verdict stays.
func (t *Test) Add(d int) Verdict {
	t.add(d, t.Level)
	return t.verdict
}

// add is Add where the test fails at another level.
func (t *Test) add(d int, fails float64) {
	if t.verdict != Undecided || t.Seen == t.Images || d < -1 || d > 1 {
		return
	}
	left := float64(t.Images - t.Seen)
	t.bet(&t.falls, float64(d), float64(t.Allowed-t.Sum)/left)
	t.bet(&t.keeps, float64(-d), float64(t.Sum-t.Allowed-1)/left)
	t.most = max(t.most, average(&t.falls))
	t.Seen++
	t.Sum += d
	switch {
	case t.lost() || won(t.most, fails):
		t.verdict = Fail
	case t.Sum+t.Images-t.Seen <= t.Allowed || won(average(&t.keeps), t.Level):
		t.verdict = Pass
	}
}

// lost reports whether the differences left cannot save the change.
func (t *Test) lost() bool { return t.Sum-(t.Images-t.Seen) > t.Allowed }

// bet multiplies the products by their factors. A mean outside (−1, 1) allows no bet.
func (t *Test) bet(products *[len(bets)]float64, d, mean float64) {
	if mean <= -1 || mean >= 1 {
		return
	}
	for i, f := range bets {
		products[i] *= 1 + f*(d-mean)/(1+mean)
	}
}

func average(products *[len(bets)]float64) float64 {
	sum := 0.0
	for _, p := range products {
		sum += p
	}
	return sum / float64(len(bets))
}

// won reports whether a product shows its claim at a level; the room is for rounding.
func won(product, level float64) bool { return product >= (1+1e-9)/level }
