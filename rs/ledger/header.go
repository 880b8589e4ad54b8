package ledger

import (
	"fmt"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/rs/noise"
)

// Format and Version begin the header of every ledger that this package begins. It reads and goes on with those of
// every version from 1 on. Version 2 has the rules "iss" and "betting", and shards. In version 3 the identity of the
// model covers what computes (see classifier.Identity). Before, it covered whole files, with the times of training in
// them. Nothing else is new. Version 4 is of ledgers whose noise has a mode besides σ, see noise.Law; all others
// remain of version 3.
const (
	Format  = "certspec-ledger"
	Version = 4
)

// VersionOf is the version of a new ledger with a noise law.
func VersionOf(law noise.Law) int {
	if _, more := law.Grey(); more {
		return Version
	}
	return 3
}

// Header is the first line: all that the counts and claims depend on.
type Header struct {
	Format  string  `json:"format"`
	Version int     `json:"version"`
	Program Program `json:"program"` // that began the ledger; another may resume it

	Model classifier.Info `json:"model"`
	Data  Data            `json:"data"`
	// standard deviation of the noise, unit: full range of a pixel value
	Sigma      float64   `json:"sigma"`
	Noise      noise.Law `json:"noise"`       // with its version, e.g. "grid/1"
	Seed       uint64    `json:"seed,string"` // a string, since JSON numbers lose digits beyond 2^53
	SeedChosen bool      `json:"seed_chosen"` // by the user; else derived from model, data and settings
	Alpha      float64   `json:"alpha"`       // bound on the probability that the claim on an image is false
	// samples in the first blocks, which choose the class and enter no bound
	Selection int    `json:"selection"`
	Block     int    `json:"block"` // samples in a block: one call of the model
	Rule      Rule   `json:"rule"`
	Order     string `json:"order"`           // order of the images, e.g. "data"
	Shard     *Shard `json:"shard,omitempty"` // the part of the run that this ledger holds; nil: all
	// how scores were counted in the file beside the ledger, e.g. "uniform/1000"; empty: they were
	// not
	Scores string `json:"scores,omitempty"`
}

// Program names the software that began a ledger.
type Program struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
}

// Data names the images.
type Data struct {
	Name   string `json:"name"`
	Digest string `json:"digest"` // of decoded pixels and labels
	Images int    `json:"images"`
}

// SameRun is nil if a run with header run may add to the ledger in file, whose header is h. Else it is a *MismatchError
// that names the first field that differs. The program may differ. A seed that was derived is named only where nothing
// else differs, as any other field changes it.
func (h Header) SameRun(file string, run Header) error {
	run.Format, run.Version, run.Program = h.Format, h.Version, h.Program
	run.Data.Name = journal.SameData(h.Data.Name, h.Data.Digest, run.Data.Name, run.Data.Digest)
	other := run
	if !h.SeedChosen && !run.SeedChosen {
		other.Seed = h.Seed
	}
	for _, r := range []Header{other, run} {
		if name, a, b, differ := journal.FirstDifference(h, r); differ {
			return &MismatchError{File: file, Field: name, Ledger: a, Run: b}
		}
	}
	return nil
}

// MaxSamples is the largest number of noise samples n that bounds of an image may rest on; 0 without looks.
func (h *Header) MaxSamples() (n int) {
	if looks := h.Rule.Looks; len(looks) > 0 {
		n = looks[len(looks)-1].Samples
	}
	return n
}

// Settings are σ, n and α, as a figure says them.
func (h *Header) Settings() string {
	return fmt.Sprintf("σ = %g, n ≤ %s, α = %g", h.Sigma, printable.Count(h.MaxSamples()), h.Alpha)
}
