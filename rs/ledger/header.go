package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/rs/noise"
)

// Format and Version begin the header of every ledger that this package begins. It reads and goes on with those of
// every version from 1 on. Version 2 has the rules "iss" and "betting", and shards. In version 3 the identity of the
// model covers what computes (see classifier.Identity). Before, it covered whole files, with the times of training in
// them. Nothing else is new.
const (
	Format  = "certspec-ledger"
	Version = 3
)

// headerBegin stands at the beginning of every ledger.
const headerBegin = `{"format":"` + Format + `","version":`

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

// encode is the header as its line, the newline included.
func (h Header) encode() ([]byte, error) {
	if err := h.check(); err != nil {
		return nil, fmt.Errorf("ledger: header: %w", err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(h); err != nil {
		return nil, fmt.Errorf("ledger: header: %w", err)
	}
	return b.Bytes(), nil
}

// decodeHeader reads the first line. Two readers of one line must see the same header, whatever
// they do with a key that comes twice, in another case, or that they do not know: so it has one
// form only, the bytes that encode gives of it.
func decodeHeader(file string, line []byte) (Header, error) {
	bad := func(format string, args ...any) (Header, error) {
		return Header{}, &FormatError{file, 1, fmt.Sprintf(format, args...)}
	}
	rest, ok := bytes.CutPrefix(line, []byte(headerBegin))
	version, digits := parseInt(rest)
	if !ok || digits == 0 {
		return bad("not the header of a ledger, which begins with %s", headerBegin)
	}
	if version < 1 {
		return bad("format version %d, want 1 to %d", version, Version)
	}
	if version > Version {
		return Header{}, &VersionError{file, version}
	}
	var h Header
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&h); err != nil {
		return bad("header: %v", err)
	}
	again, err := h.encode()
	if err != nil {
		return bad("%s", strings.TrimPrefix(err.Error(), "ledger: "))
	}
	if at, want, have := journal.FirstByte(bytes.TrimSuffix(again, newline), line); at >= 0 {
		return bad("header: at byte %d it has %s, want %s: every known key stands there once, in its order and "+
			"case, and nothing else does", at, journal.Quote(have), journal.Quote(want))
	}
	return h, nil
}

// These limits keep numbers far from the largest integer, so that no sum or product of them overflows.
const (
	mostSamples = 1 << 40
	mostImages  = 1 << 40
	mostShards  = 1 << 30
)

// MaxClasses is the largest number of classes of a model that a ledger is of: a line may count each of them.
const MaxClasses = 1_000_000

// check refuses what the rest of the file cannot be read with.
func (h Header) check() error {
	switch {
	case h.Model.Classes < 1 || h.Model.Classes > MaxClasses:
		return fmt.Errorf("%d classes, want 1 to %d", h.Model.Classes, MaxClasses)
	case h.Block < 1 || h.Block > mostSamples:
		return fmt.Errorf("block of %d noise samples, want at least 1", h.Block)
	case h.Data.Images < 0 || h.Data.Images > mostImages:
		return fmt.Errorf("%d images, want 0 to %d", h.Data.Images, mostImages)
	case h.Selection < 0 || h.Selection > mostSamples:
		return fmt.Errorf("selection of %d noise samples", h.Selection)
	case !(h.Sigma > 0) || math.IsInf(h.Sigma, 0):
		return fmt.Errorf("sigma %v, want a positive number", h.Sigma)
	case !(h.Alpha > 0 && h.Alpha < 1):
		return fmt.Errorf("alpha %v, want a number between 0 and 1", h.Alpha)
	}
	for _, text := range []string{h.Program.Version, h.Program.Commit, h.Model.Name, h.Model.Identity.Weights,
		h.Model.Identity.Engine, h.Model.Identity.EngineVersion,
		h.Model.Identity.InstructionSet, h.Data.Name, h.Data.Digest, string(h.Noise), string(h.Rule.Name),
		h.Rule.Budget, h.Order, h.Scores} {
		if !utf8.ValidString(text) {
			return fmt.Errorf("%s is not UTF-8", journal.Quote([]byte(text)))
		}
	}
	if h.Version < 2 && !h.plain() {
		return fmt.Errorf("version %d has no sizes, targets, futility, relative tolerance or shard", h.Version)
	}
	if err := h.Shard.check(); err != nil {
		return err
	}
	return h.Rule.check()
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
