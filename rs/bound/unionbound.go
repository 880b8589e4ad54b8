package bound

import (
	"fmt"
	"math"
)

// UnionBound is a sequence of Clopper-Pearson bounds that hold at all their looks together with
// probability at least 1−Alpha, whenever one stops. The looks come after
//
//	N = ⌈1.1^i⌉ trials, i = 11, 12, …, each size once,
//
// and the j-th of them, j ≥ 1, has the level 5α/((j+4)(j+5)); these sum to α. (The scheme of Voráček 2024.)
type UnionBound struct{ Alpha float64 }

func (UnionBound) Name() string { return "union-bound sequence" }

func (u UnionBound) String() string { return fmt.Sprintf("%s at α = %g", u.Name(), u.Alpha) }

// Look is one look of a sequence.
type Look struct {
	Trials int
	Alpha  float64 // level of the bound at this look
}

// Looks returns the looks of at most n trials. At each, Lower and Upper at its level hold.
//
// Errors: n outside [1, MaxTrials], α outside [1e-270, 1), as *InputError.
func (u UnionBound) Looks(n int) ([]Look, error) {
	if err := checkTrials(n); err != nil {
		return nil, err
	}
	const least = 1e-270 // leaves room for the division
	if !(u.Alpha >= least && u.Alpha < 1) {
		return nil, inputError("alpha", u.Alpha, fmt.Sprintf("a failure probability in (0, 1), not below %g", least))
	}
	const ratio = 1.1
	size := 1.0
	for range 11 {
		size *= ratio
	}
	var looks []Look
	for last := 0; size <= float64(n); size *= ratio {
		trials := int(math.Ceil(size))
		if trials == last || trials > n {
			continue
		}
		j := float64(len(looks) + 1)
		looks = append(looks, Look{trials, 5 * u.Alpha / ((j + 4) * (j + 5))})
		last = trials
	}
	return looks, nil
}

// Lower returns the lower bound after k hits in n trials, of which n is the size of a look.
//
// Errors: k outside [0, n], an n that is no look, those of Looks, as *InputError.
func (u UnionBound) Lower(k, n int) (Probability, error) {
	looks, err := u.Looks(n)
	if err != nil {
		return Probability{}, err
	}
	if len(looks) == 0 || looks[len(looks)-1].Trials != n {
		return Probability{}, inputError("n", n, "the size of a look, ⌈1.1^i⌉ with i ≥ 11")
	}
	return Lower(k, n, looks[len(looks)-1].Alpha)
}
