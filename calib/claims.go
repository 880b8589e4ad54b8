package calib

// Claims are bounds on the calibration error of certified images, one for each kind of claim. All take the noise
// samples of an image to be independent of each other and of the model.
type Claims struct {
	Attempted int     `json:"attempted"` // images that could have been certified, not only those that were
	Delta     float64 `json:"delta"`
	Fails     float64 `json:"fails"`    // bound on the probability that radius or interval of an image is false
	Failures  int     `json:"failures"` // certificates of the set that may be false (FailuresAtMost)
	// all images at once, with probability 1 − Delta, noise independent between images (JointCCE)
	Joint float64 `json:"joint_cce"`
	Gap   float64 `json:"gap"` // what Joint may be too large by
	// on average over the noise, weighted by the number of certified images (InExpectation)
	Expected   float64 `json:"expected"`
	Population float64 `json:"population"` // of images drawn like these, with probability 1 − 2·Delta (ForPopulation)
	CCE        float64 `json:"cce"`        // where all intervals hold (ExactCCE)
}

// Claim makes all claims about samples with certified intervals. attempted is the number of images that could have been
// certified. fails bounds the probability that the radius or the interval of one of them is false
// (confidence.Spending.Fails). delta is the probability with which the joint claim may fail. The claim for the
// population takes bins that were fixed before, and a model that was not chosen on these images.
//
// Errors: those of JointCCE, FailuresAtMost, InExpectation and ForPopulation.
func Claim(correct []bool, lower, upper []float64, bins *Bins, attempted int, fails, delta float64) (Claims, error) {
	c := Claims{Attempted: attempted, Delta: delta, Fails: fails}
	var err error
	if c.Failures, err = FailuresAtMost(attempted, fails, delta); err != nil {
		return c, err
	}
	j, err := JointCCE(correct, lower, upper, bins, c.Failures)
	if err != nil {
		return c, err
	}
	c.Joint, c.Gap, c.CCE = j.Upper, j.Gap(), j.CCE
	if c.Expected, err = InExpectation(j.CCE, len(correct), attempted, fails); err != nil {
		return c, err
	}
	c.Population, err = ForPopulation(j.Upper, len(correct), delta)
	return c, err
}
