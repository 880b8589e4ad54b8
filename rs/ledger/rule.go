package ledger

// RuleName is the name of a rule, e.g. "staged"; package rule knows them.
type RuleName string

// Rule says how many samples an image gets and how the failure probability α is spent. Its fields are what
// a reader needs to judge every look and every claim, without a table of its own.
type Rule struct {
	Name RuleName `json:"name"`
	// staged, iss: radius given up for fewer samples, unit: full range of a pixel value
	Tolerance float64  `json:"tolerance,omitempty"`
	Relative  bool     `json:"relative,omitempty"` // iss: Tolerance is a fraction of the radius instead
	Looks     []Level  `json:"looks"`
	Sizes     []Size   `json:"sizes,omitempty"`    // iss: samples of the one look, by the votes of the selection
	Targets   []Target `json:"targets,omitempty"`  // betting: radii that are tested, ascending
	Futility  float64  `json:"futility,omitempty"` // betting: level of the test that stops hopeless images
	Budget    string   `json:"budget"`             // how α is spent, in words
}

// Level is one planned look: a bound of confidence 1−Alpha after Samples noise samples, those of the selection not
// counted.
type Level struct {
	Samples int     `json:"copies"`
	Alpha   float64 `json:"alpha"`
}

// Size gives one look of Samples noise samples, or none where Samples is 0, to some images: their chosen class has at
// least Hits votes in the selection, and fewer than the next Size has.
type Size struct {
	Hits    int `json:"hits"`
	Samples int `json:"copies"`
}

// Target is a radius that is tested, and the probability that certifies it.
type Target struct {
	Radius      float64 `json:"radius"`      // unit: full range of a pixel value
	Probability string  `json:"probability"` // Φ(Radius/σ), a decimal, rounded up
}

// Shard says which part of a run a ledger holds.
type Shard struct {
	By    string `json:"by"`    // ShardImages or ShardBlocks; always set in a header
	Index int    `json:"index"` // from 0
	Count int    `json:"count"` // of all shards
}

// How a run is split. By images, shard i of n has the images whose position in the data is i modulo n. By
// blocks, it has of each image's B blocks, those of the selection first, the blocks ⌊i·B/n⌋ to ⌊(i+1)·B/n⌋.
const (
	ShardImages = "images"
	ShardBlocks = "blocks"
)
