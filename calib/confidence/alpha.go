package confidence

import "fmt"

// Spending says how the failure probability α of an image is divided between its radius, which fixes the
// prediction, and its scores.
type Spending string

const (
	// paper spends α on the radius and again α on the scores: a joint failure has a probability of at most 2α per
	// image. Nothing is claimed for many images at once: at α = 0.001, all of 2,000 independent intervals hold with
	// probability 0.135.
	paper Spending = "paper"
	// split spends half of α on each.
	split Spending = "split"
	// family is split with α divided by the number of images: all radii and intervals hold at once with a
	// probability of at least 1−α.
	family Spending = "family"
)

// Divide returns the failure probabilities of the radius and of the scores of each of a number of images.
//
// Errors: an unknown way; α outside (0, 1); fewer than one image; as *InputError.
func (s Spending) Divide(alpha float64, images int) (radius, scores float64, err error) {
	if !(alpha > 0 && alpha < 1) {
		return 0, 0, inputError("alpha", alpha, "a failure probability in (0, 1)")
	}
	if images < 1 {
		return 0, 0, inputError("images", images, "at least 1")
	}
	switch s {
	case paper:
		return alpha, alpha, nil
	case split:
		return alpha / 2, alpha / 2, nil
	case family:
		share := down(alpha / float64(images))
		return share / 2, share / 2, nil
	}
	return 0, 0, inputError("spending", fmt.Sprintf("%q", string(s)), "paper, split or family")
}

// Fails bounds the probability that the radius of an image or its interval is false, for an α in (0, 1). It is 2α for
// paper, α for split, and 0 for family, where all hold at once. It is an input of calib.Claim.
func (s Spending) Fails(alpha float64) float64 {
	switch s {
	case family:
		return 0
	case split:
		return alpha
	}
	return 2 * alpha
}

// Holds says in words what holds with which probability, for captions.
func (s Spending) Holds(alpha float64) string {
	switch s {
	case split:
		return fmt.Sprintf("radius and interval of an image hold together with probability at least %g; those of "+
			"all images do not with any stated probability", 1-alpha)
	case family:
		return fmt.Sprintf("all radii and intervals hold at once with probability at least %g", 1-alpha)
	}
	return fmt.Sprintf("radius and interval of an image each hold with probability at least %g; those of all images "+
		"do not at once with any stated probability", 1-alpha)
}
