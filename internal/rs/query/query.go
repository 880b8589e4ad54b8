// Package query derives claims from the counts of a closed ledger that its own lines do not state: certified top-k,
// the two-sided radius, ℓ∞ radii, and the accuracy of a whole set. No network is called.
//
// All bounds use the looks that the header announced before the first noise sample, and what each spends of α. So
// they hold at every look, whatever stopped an image. A question with a share s splits that α: (1−s)·α for the lower
// bound on the class, s·α for the upper bounds on those that compete with it. The share must be chosen before the
// counts are seen.
package query

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/ledger"
)

// Question is a question about every image.
type Question struct {
	// TopK is 1: the class of the ledger is the most probable; or k > 1: the label is among the k most probable.
	TopK  int     `json:"top_k"`
	Share float64 `json:"share"` // of α for the classes that compete, in [0, 1); 0: all others together have 1−p
	LInf  bool    `json:"linf"`  // radii are in the ℓ∞ norm: r/√d of an image of d values
}

// Claim is the answer for one image: it is false with probability at most the α of the ledger.
type Claim struct {
	Image  int       `json:"image"`
	Label  int       `json:"label"`            // −1: unknown
	Class  int       `json:"class"`            // that is certified, or rs.Abstain
	Lower  float64   `json:"lower"`            // lower bound on its probability, of 15 decimals
	Uppers []float64 `json:"uppers,omitempty"` // with a share: upper bounds on the k largest others, descending
	Radius float64   `json:"radius"`           // of an open ball; unit: full range of a value
}

// Answer holds the claims on all images of a ledger.
type Answer struct {
	Question
	Header ledger.Header `json:"header"`
	Digest string        `json:"digest"` // of the ledger
	Claims []Claim       `json:"claims"`
}

// Ask derives the claims of a closed ledger.
//
// Errors: a ledger that cannot be read or is not closed; a shard by blocks; claims that do not follow from the
// counts; a k that is not in [1, classes); a share outside [0, 1), or above 0 under the rule betting; an image
// without values for ℓ∞ radii.
func Ask(ctx context.Context, path string, q Question) (*Answer, error) {
	s, err := ledgerio.Scan(path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	fail := func(format string, args ...any) (*Answer, error) {
		return nil, fmt.Errorf("ledger %s: "+format, append([]any{path}, args...)...)
	}
	h := s.Header()
	switch {
	case h.Shard != nil && h.Shard.By == ledger.ShardBlocks:
		return fail("a shard by blocks certifies no image by itself: merge all shards first")
	case q.TopK < 1 || q.TopK >= h.Model.Classes:
		return fail("the top %d of %d classes: expected 1 to %d", q.TopK, h.Model.Classes, h.Model.Classes-1)
	case !(q.Share >= 0 && q.Share < 1):
		return fail("the share of alpha is %v: expected a number of at least 0 and below 1", q.Share)
	case q.Share > 0 && h.Rule.Name == rs.Betting:
		return fail("the rule betting spends all of alpha on its targets: it leaves no share for bounds on other " +
			"classes")
	}
	plan, err := stopping.Of(h)
	if err != nil {
		return fail("%w", err)
	}
	unit := 1.0
	if q.LInf {
		s := h.Model.Shape
		if unit = math.Sqrt(float64(s.Height) * float64(s.Width) * float64(s.Channels)); !(unit >= 1) {
			return fail("images of %v have no values: no radius in the ℓ∞ norm", s)
		}
	}
	a := &Answer{Question: q, Header: h}
	var judged []ledger.Claim // what the ledger is to claim
	var images [][]ledger.Look
	counts := 0
	flush := func() error { // answers for the images that were read
		claims, follows := make([]Claim, len(images)), make([]ledger.Claim, len(images))
		err := q.claims(ctx, plan, h.Sigma, images, claims, follows)
		for i := range claims {
			if q.LInf {
				claims[i].Radius *= (1 - 0x1p-50) / unit // the factor pays for the roundings
			}
		}
		a.Claims, judged, images, counts = append(a.Claims, claims...), append(judged, follows...), images[:0], 0
		return err
	}
	for looks, err := range s.Images() {
		if err != nil {
			return nil, err
		}
		images = append(images, slices.Clone(looks))
		for _, l := range looks {
			counts += 1 + len(l.Counts)
		}
		if counts >= 1<<19 { // 8 MB
			if err := flush(); err != nil {
				return fail("%w", err)
			}
		}
	}
	if err := flush(); err != nil {
		return fail("%w", err)
	}
	at := 0
	for r, err := range s.All() {
		switch {
		case err != nil:
			return nil, err
		case r.Kind == ledgerio.ClaimLine:
			if r.Claim != judged[at] {
				return fail("image %d: its claim does not follow from its counts; certspec ledger verify says more",
					r.Claim.Image)
			}
			at++
		case r.Kind == ledgerio.DigestLine:
			a.Digest = r.Digest
		}
	}
	if a.Digest == "" {
		return fail("it is not closed: the same certify goes on with it, then ask again")
	}
	return a, nil
}

// claims answers for some images, and says what the ledger claims of them.
func (q Question) claims(ctx context.Context, plan *stopping.Plan, sigma float64, images [][]ledger.Look,
	claims []Claim, follows []ledger.Claim) error {
	errs := make([]error, len(images))
	var workers sync.WaitGroup
	each := len(images)/max(1, runtime.GOMAXPROCS(0)) + 1
	for from := 0; from < len(images); from += each {
		workers.Go(func() {
			for i := from; i < min(from+each, len(images)) && ctx.Err() == nil; i++ {
				claims[i], follows[i], errs[i] = q.claim(plan, sigma, images[i])
			}
		})
	}
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("image %d: %w", images[i][0].Image, err)
		}
	}
	return nil
}

// claim answers for one image, with an ℓ2 radius, and says what the ledger claims of it.
func (q Question) claim(plan *stopping.Plan, sigma float64, looks []ledger.Look) (Claim, ledger.Claim, error) {
	first := looks[0]
	c := Claim{Image: first.Image, Label: first.Label, Class: rs.Abstain}
	out, err := plan.Judge(looks)
	if err != nil {
		return c, ledger.Claim{}, err
	}
	follows := stopping.Claim(out, first.Image)
	if q.TopK == 1 && q.Share == 0 { // the ledger says it
		c.Class, c.Lower, c.Radius = out.Class, out.Lower, out.Radius
		return c, follows, nil
	}
	class := selected(first)
	if q.TopK > 1 {
		class = first.Label
	}
	if class < 0 {
		if q.Share > 0 {
			c.Uppers = make([]float64, q.TopK)
		}
		return c, follows, nil
	}
	c, err = q.derive(plan, sigma, class, looks)
	return c, follows, err
}

// derive is the proof by the looks of an image, the selection first, for a class that they did not choose.
func (q Question) derive(plan *stopping.Plan, sigma float64, class int, looks []ledger.Look) (Claim, error) {
	c := Claim{Image: looks[0].Image, Label: looks[0].Label, Class: rs.Abstain}
	hits, others, samples := tally(looks, class, q.TopK, plan)
	lower, err := plan.ClassBound(hits, samples, 1-q.Share)
	if err != nil {
		return c, err
	}
	var uppers []int64 // in units of the last decimal
	for j := 0; j < q.TopK && q.Share > 0; j++ {
		rest, err := plan.ClassBound(others[j], samples, q.Share/float64(q.TopK))
		if err != nil {
			return c, err
		}
		uppers = append(uppers, one15-units(rest.Down()))
	}
	p := units(lower.Down())
	c.Lower = float64(p) / one15
	for _, u := range uppers {
		c.Uppers = append(c.Uppers, float64(u)/one15)
	}
	if z, ok := topRadius(p, uppers, q.TopK); ok {
		c.Class, c.Radius = class, sigma*z*(1-1e-9)
	}
	return c, nil
}

// selected is the class with the most votes of a selection, the smallest of equals; Abstain without votes.
func selected(l ledger.Look) int {
	class, votes := rs.Abstain, 0
	for _, c := range l.Counts {
		if c.N > votes {
			class, votes = int(c.Class), c.N
		}
	}
	return class
}

// tally gives, up to each look behind the selection, the hits of a class, and the noise samples that spoke against
// the j-th most frequent of the others, j < k. A miss speaks for all of them, since nobody knows which class it
// hides.
func tally(looks []ledger.Look, class, k int, plan *stopping.Plan) (hits []int, others [][]int, samples []int) {
	others = make([][]int, k)
	counts := map[int32]int{}
	misses := 0
	var sorted []int
	for _, l := range looks[1:] {
		misses += l.Misses
		for _, c := range l.Counts {
			counts[c.Class] += c.N
		}
		n := l.To*plan.Block() - plan.Selection()
		sorted = sorted[:0]
		for other, count := range counts {
			if int(other) != class {
				sorted = append(sorted, count)
			}
		}
		slices.Sort(sorted)
		for j := range k {
			against := n - misses
			if j < len(sorted) {
				against -= sorted[len(sorted)-1-j]
			}
			others[j] = append(others[j], against)
		}
		hits, samples = append(hits, counts[int32(class)]), append(samples, n)
	}
	return hits, others, samples
}

const one15 = 1_000_000_000_000_000 // the probability 1 in units of the last decimal of a bound

// units is a probability of 15 decimals in units of the last.
func units(p float64) int64 { return int64(math.Round(p * one15)) }

// topRadius is a ρ, rounded down, for which a class with probability at least p is among the k most probable on the
// ball of radius ρσ. For some t in 1..k it satisfies
//
//	t·Φ(Φ⁻¹(p) − ρ) ≥ Φ(Φ⁻¹(s_t) + ρ),   s_t = min(1−p, u_{k−t+1} + … + u_k),
//
// with u_1 ≥ … ≥ u_k upper bounds on the k largest other probabilities (Jia, Cao, Wang and Gong 2020, theorem 1). For
// if the class leaves the top k, k others are at least as probable as it is. The t rarest of these have together at
// most s_t at the image, and at most the right side at distance ρσ, by Neyman and Pearson. Without u only t = k is of
// use, and ρ is Φ⁻¹(p) + Φ⁻¹(k/(k+1)). It is not ok where nothing is certified. All are in units of the 15th decimal.
func topRadius(p int64, u []int64, k int) (z float64, ok bool) {
	const step = 60
	quantile := func(units int64) float64 { // rounded down; −Inf below the first unit, which certifies nothing
		if units <= 0 || units >= one15 {
			return math.Inf(-1)
		}
		q, err := bound.Quantile(bound.Probability{P: float64(units) / one15, Q: float64(one15-units) / one15})
		if err != nil {
			return math.Inf(-1)
		}
		return q
	}
	a, sum := quantile(p), int64(0)
	if math.IsInf(a, 0) {
		return 0, false
	}
	for t := 1; t <= k; t++ {
		rest := one15 - p
		if u != nil {
			sum += u[k-t]
			rest = min(rest, sum)
		} else if t < k {
			continue
		}
		b := -quantile(one15 - max(rest, 1))
		holds := func(z float64) bool { return float64(t)*phi(a-z) >= phi(b+z)*(1+1e-11) }
		if math.IsInf(b, 0) || !holds(0) {
			continue
		}
		low, high := 0.0, max(-b, a+6) // there Φ(b+ρ) is at least ½, and t·Φ(a−ρ) below it, for any k of use
		for range step {
			if middle := (low + high) / 2; holds(middle) {
				low = middle
			} else {
				high = middle
			}
		}
		z, ok = max(z, low), true
	}
	return z, ok
}

// phi is the normal distribution function.
func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
