package ledgerio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs/ledger"
)

// headerBegin stands at the beginning of every ledger.
const headerBegin = `{"format":"` + ledger.Format + `","version":`

// encodeHeader is the header as its line, the newline included.
func encodeHeader(h ledger.Header) ([]byte, error) {
	if err := checkHeader(h); err != nil {
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
func decodeHeader(file string, line []byte) (ledger.Header, error) {
	bad := func(format string, args ...any) (ledger.Header, error) {
		return ledger.Header{}, &ledger.FormatError{File: file, Line: 1, Reason: fmt.Sprintf(format, args...)}
	}
	rest, ok := bytes.CutPrefix(line, []byte(headerBegin))
	version, digits := parseInt(rest)
	if !ok || digits == 0 {
		return bad("not the header of a ledger, which begins with %s", headerBegin)
	}
	if version < 1 {
		return bad("format version %d, want 1 to %d", version, ledger.Version)
	}
	if version > ledger.Version {
		return ledger.Header{}, &ledger.VersionError{File: file, Version: version}
	}
	var h ledger.Header
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&h); err != nil {
		return bad("header: %v", err)
	}
	again, err := encodeHeader(h)
	if err != nil {
		return bad("%s", strings.TrimPrefix(err.Error(), "ledger: "))
	}
	if at, want, have := journal.FirstByte(bytes.TrimSuffix(again, newline), line); at >= 0 {
		return bad("header: at byte %d it has %s, want %s: every known key stands there once, in its order and "+
			"case, and nothing else does", at, journal.Quote(have), journal.Quote(want))
	}
	return h, nil
}

// announced checks, for whoever reads a ledger, what a header announces: looks that belong to a rule and spend at
// most α, and a seed that is derived where it is called so.
func announced(h ledger.Header) error {
	if _, err := stopping.Of(h); err != nil {
		return err
	}
	if want := DerivedSeed(h); !h.SeedChosen && h.Seed != want {
		return fmt.Errorf("the seed %d is called derived, but from model, data and settings follows %d: the seed, or one "+
			"of these, sigma say, was changed", h.Seed, want)
	}
	return nil
}

// These limits keep numbers far from the largest integer, so that no sum or product of them overflows.
const (
	mostSamples = 1 << 40
	mostImages  = 1 << 40
	mostShards  = 1 << 30
)

// MaxClasses is the largest number of classes of a model that a ledger is of: a line may count each of them.
const MaxClasses = 1_000_000

// checkHeader refuses what the rest of the file cannot be read with.
func checkHeader(h ledger.Header) error {
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
	if h.Version < 2 && !plain(h) {
		return fmt.Errorf("version %d has no sizes, targets, futility, relative tolerance or shard", h.Version)
	}
	if least := ledger.VersionOf(h.Noise); (h.Version == ledger.Version) != (least == ledger.Version) {
		return fmt.Errorf("noise %s in a ledger of version %d, want version %d", journal.Quote([]byte(h.Noise)),
			h.Version, least)
	}
	if err := checkShard(h.Shard); err != nil {
		return err
	}
	return checkRule(h.Rule)
}
