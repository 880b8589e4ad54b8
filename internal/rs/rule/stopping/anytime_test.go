package stopping

import (
	"math"
	"testing"

	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/rule"
)

// The approximation that decides where samples go is close to the radius that is claimed.
func TestExpectedIsNearTheClaim(t *testing.T) {
	plan, err := New(rule.Settings{Rule: rule.Anytime, Sigma: 1})
	if err != nil {
		t.Fatal(err)
	}
	mixture, err := bound.NewMixture(plan.alpha, anytimeStrength)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{100, 1000, 10_000, 1_000_000} {
		for _, share := range []float64{1, .999, .99, .9, .7, .55, .5, .2} {
			hits := int(share * float64(n))
			low, err := mixture.Lower(hits, n)
			if err != nil {
				t.Fatal(err)
			}
			want, err := bound.Radius(1, low)
			if err != nil {
				t.Fatal(err)
			}
			if got := plan.expected(float64(n-hits), float64(n)); math.Abs(got-want) > .02 {
				t.Errorf("%d of %d: %v, the claim is %v", hits, n, got, want)
			}
		}
	}
}

// The same bits on every platform: they are written down here, and the file is tested with and without fused multiply-add.
func TestPriorityHasTheSameBits(t *testing.T) {
	plan, err := New(rule.Settings{Rule: rule.Anytime, Sigma: .25})
	if err != nil {
		t.Fatal(err)
	}
	sum := uint64(0)
	for n := 100; n < 2_000_000; n += max(1, n/800) * 100 {
		for _, misses := range []int{0, 1, 2, n / 1000, n / 100, n / 10, n / 3, n / 2} {
			sum = sum*1099511628211 + math.Float64bits(plan.Priority(n-misses, n))
		}
	}
	if want := uint64(priorityBits); sum != want {
		t.Errorf("the bits of all priorities give %#x, want %#x", sum, want)
	}
}

// priorityBits was computed on amd64 without fused multiply-add (GOAMD64=v1).
const priorityBits = 0x48339a8f36c45f27

// A spread prefers what gains more, keeps a round at its size, and ends where nothing can be gained.
func TestSpread(t *testing.T) {
	plan, err := New(rule.Settings{Rule: rule.Anytime, Sigma: .25, MaxSamples: 1000})
	if err != nil {
		t.Fatal(err)
	}
	s, err := plan.NewSpread()
	if err != nil {
		t.Fatal(err)
	}
	s.Put(0, 200, 1000) // at MaxSamples
	s.Put(1, 10, 100)   // hopeless
	s.Put(2, 400, 400)
	s.Put(3, 100, 100)
	s.Put(4, 100, 100)
	round := s.Next()
	if len(round) != 3 || round[0].Image != 3 || round[1].Image != 4 || round[2] != (Share{2, 100}) {
		t.Errorf("the round is %v", round)
	}
	if round := s.Next(); round != nil {
		t.Errorf("%v is left", round)
	}
	for i := range 200 {
		s.Put(i, 100, 100)
	}
	if round := s.Next(); len(round) != RoundBlocks || round[0].Image != 0 || round[63].Image != 63 {
		t.Errorf("the round is %v", round)
	}
}
