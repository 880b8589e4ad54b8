// Package rule says how many noise samples an image gets, and what is certified of it.
//
// Under every rule the class comes from the samples of the selection, which are drawn first and enter no bound. The
// claim on an image is false with probability at most α over the noise, whatever the model and the image are. How each
// rule spends that α is said at its name, and in the header of a ledger.
package rule

import "github.com/certspec/certspec/rs/ledger"

// Settings of a rule. Only Sigma has no default; betting needs Radii too.
type Settings struct {
	Rule       ledger.RuleName // default Staged
	Sigma      float64         // standard deviation of the noise, unit: full range of a value; > 0
	Alpha      float64         // bound on the probability that the claim on an image is false; default 0.001
	MaxSamples int             // most samples behind a bound, a multiple of Block; default 100,000, of Anytime 100,000,000
	// samples that choose the class, a multiple of Block; default 100, of ISS 1,000, rounded up to
	// a block
	Selection int
	Block     int       // samples in one call of the model; default 100
	Tolerance float64   // of Staged and ISS: radius given up for fewer samples, unit as Sigma; default 0.04·Sigma
	Relative  bool      // of ISS: Tolerance is a fraction of the radius, in (0, 1)
	Radii     []float64 // of Betting: the radii that are tested, ascending, unit as Sigma; 0 asks for the class alone
	Futility  float64   // of Betting: level of the test that stops hopeless images; default Alpha
	Shards    int       // of Anytime: parts of the run that spread their samples alone; 0: one
	// of Betting, without a ledger: an image whose chosen class is not its label is given up, and counts as abstained
	OnlyCorrect bool
}

// Fixed looks once, after MaxSamples noise samples, with a Clopper-Pearson bound of confidence 1−α:
// the procedure CERTIFY of Cohen, Rosenfeld and Kolter (2019).
//
// Budget: all of α at the one look.
const Fixed ledger.RuleName = "fixed"

// Staged looks after 100, 200, 400, … samples and last after MaxSamples, J looks in all, each with a Clopper-Pearson
// bound of confidence 1−α/J. By the union bound all J hold together with probability at least 1−α. So the largest
// radius over the looks is certified, and when to stop may depend on the data in any way. It stops when the radius
// would grow by at most Tolerance were the remaining samples to hit as often as those seen. So it stops for a hopeless
// image, whose upper bound is below ½, and where the radius would grow by at most Tolerance even if all remaining
// samples hit.
//
// A sample costs nothing in confidence, a look does: with MaxSamples = 100,000, α = 0.001 and eleven
// looks the largest radius is 3.737σ, with Fixed 3.811σ.
//
// Budget: α/J at each look.
const Staged ledger.RuleName = "staged"

// ISS, input-specific sampling, takes the selection for a pilot (Chen, Li, Li et al. 2022). The votes of its class give
// the number of fresh samples of the one look, at most MaxSamples. The radius is then expected to be at most Tolerance
// below that of MaxSamples noise samples. The bound is Clopper-Pearson at confidence 1−α, from the fresh samples alone:
// given the pilot their number is fixed. The program published with the method adds the pilot's samples to the bound.
// Clopper-Pearson does not cover that, since they chose n.
//
// With n̄ = MaxSamples, LCB the bound with a real number of hits and the radius R(p, n) = σ·Φ⁻¹(LCB(np, n, α)),
//
//	n*(p) = least multiple of the block with R(p, n) ≥ R(p, n̄) − Tolerance,
//	        or ≥ (1 − Tolerance)·R(p, n̄) where Relative.
//
// An image gets the largest n*(p) over the two-sided Clopper-Pearson interval of its pilot at confidence 1−α. It gets
// none, and an abstention, where that is 0 or the interval is below ½. The interval, and any inaccuracy of n*, affect
// the number of samples only.
//
// Budget: all of α at the one look.
const ISS ledger.RuleName = "iss"

// Betting decides whether the radius of an image is at least r, for one r or an ascending grid of them, and stops as
// soon as it knows. It looks after every block at first, later after every 5 % more samples, and last after MaxSamples.
// Radius r is certified at the first look where the test of p ≤ Φ(r/σ) has the wealth 1/α (bound.Betting), and all
// smaller radii are certified. One look may certify several. The radius of an image is the largest one certified. An
// image ends when all are certified, or at the last look. It also ends when the mirror image of the test says, at the
// level Futility, that the next radius is hopeless. The reason for the end affects the samples only.
//
// Budget: all of α at every look, since the test holds at all of them together, and all of α for every radius. For let
// p be the probability of the class, and r the smallest radius of the grid that is too large, p < Φ(r/σ). This r
// depends on model, image and class, and is not random, since the class comes from other samples. Radii are certified
// in ascending order, so a false claim on r or any larger radius needs r to be certified. Then the wealth of that one
// test must reach 1/α while p ≤ Φ(r/σ). By Ville's inequality that has probability at most α.
const Betting ledger.RuleName = "betting"

// Anytime has no plan of looks: an image may have any number of noise samples behind its bound. The bound is the lower
// end of a confidence sequence (bound.Mixture of strength 60), which holds at all numbers of samples together. So a run
// may be stopped and continued at any time, and may choose the next image by all that was seen; it takes the
// one of the largest Priority. The claim follows from the counts at the stop.
//
// Budget: all of α at all numbers of samples together, by Ville's inequality. The bound of an image fails at some time
// with probability at most α by its own noise alone.
const Anytime ledger.RuleName = "anytime"

// OptionError says which setting is out of range, and what was expected.
type OptionError struct{ Reason string }

func (e *OptionError) Error() string { return "rs: " + e.Reason }

// Outcome is the certificate of an image.
type Outcome struct {
	Class  int     `json:"class"`  // of the smoothed classifier, or −1: abstained
	K      int     `json:"k"`      // hits of the class, and
	N      int     `json:"n"`      // noise samples, of the look behind the bound
	Lower  float64 `json:"lower"`  // lower bound of the probability of the class
	Radius float64 `json:"radius"` // certified ℓ2 radius, unit: full range of a value; 0 on abstention
	// noise samples with an output that was not finite, or whose noise could not be drawn
	Misses int `json:"misses"`
	Passes int `json:"passes"` // noise samples in all, those of the selection included
}
