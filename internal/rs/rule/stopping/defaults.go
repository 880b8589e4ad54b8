package stopping

// Abstain is the class of an image for which nothing is certified.
const Abstain = -1

// Defaults of rule.Settings.
const (
	DefaultAlpha      = 0.001
	DefaultMaxSamples = 100_000
	DefaultSelection  = 100 // of ISS 1,000
	DefaultBlock      = 100
)
