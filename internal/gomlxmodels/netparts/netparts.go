// Package netparts names the parts of networks that methods, engines and exports look for, and holds
// their constants.
package netparts

const (
	// Densities is the layer that gives ln p(x|in) and ln p(x|out), without the constant −d/2·ln 2π.
	Densities = "mixture"
	// MixtureComponents is the number of components of each mixture.
	MixtureComponents = 100
	// DiscriminatorHead is the layer of the network that gives h.
	DiscriminatorHead = "discriminator/head"
	// LeastLogP is the lower bound on the log-probabilities of a classifier in a posterior.
	LeastLogP = -100
	// NormEpsilon is added to the variance in batch normalisation.
	NormEpsilon = 1e-5
	// Denoised is the layer of a network with Architecture.Denoiser that gives the denoised images.
	Denoised = "denoiser/sum"
)

// MixtureSides are the two mixtures, in the order of their values.
var MixtureSides = []string{"in", "out"}
