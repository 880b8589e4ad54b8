// Package ledger holds the record of a certification: the file from which every published number can be derived
// again. It knows the format only, no statistics; rs.ReadLedger reads a file.
//
// A ledger is UTF-8 text, one record per line, each ended by a newline:
//
//	{"format":"certspec-ledger","version":3,…}     the header: all that the counts depend on
//	20 7 0 1 0 3:98 7:2                             a look: image, label, from, to, misses, class:count …
//	~20 7 1 3 0 3:197 7:3                           provisional: work on a look that is not finished
//	claims 500                                      closes the ledger: the number of images
//	20 3 9843 10000 0.981112233445566 0.519201234   a claim: image, class, k, n, lower bound, radius
//	acr 0.428884 500                                average certified radius, labelled images
//	certified 0.25 300 500                          radius, images certified and correct at it, labelled images
//	sha256 <64 hexadecimal digits>                  of all bytes before this line
//
// A look counts the classes of the noise samples in the blocks [from, to) of one image. A block is a fixed number of
// samples, named in the header. The numbering of blocks starts again with every image. Counts stand in ascending order
// of the class and are positive; misses are samples whose output was not finite or whose noise could not be drawn.
// Counts and misses of a look sum to the samples in its blocks. A label of −1 is unknown; a class of −1 in a claim is
// an abstention. The looks of an image are contiguous, from block 0 on, and so are their lines.
//
// A ledger whose header names a shard holds a part of a run. A shard by images has some of the images, and claims on
// them. A shard by blocks has some of the blocks of every image, so its images need not begin at block 0. It has no
// claims: it closes with "claims 0" and its digest. Merged, the shards of a run have the bytes of the run.
//
// Provisional lines stand at the end of an unfinished ledger only. They save finished blocks of a look in progress
// across an interrupt, and are replaced when the work goes on. So an interrupted and resumed ledger ends with the bytes
// of an uninterrupted one.
//
// Bytes after the last newline, as a power cut leaves them, are no part of the ledger.
// Times are kept in a second file beside it, see TimesPath, so that ledgers compare byte for byte.
package ledger

import (
	"fmt"

	"github.com/certspec/certspec/internal/journal"
)

// Look is the outcome of the noise samples in the blocks [From, To) of one image.
type Look struct {
	Image    int
	Label    int // -1: unknown
	From, To int // blocks
	Misses   int
	Counts   []Count // ascending by class, every N > 0
}

// Count is the number of samples that the model put into a class.
type Count struct {
	Class int32
	N     int
}

// Claim of a closed ledger on one image.
type Claim struct {
	Image  int
	Class  int    // -1: abstained
	K, N   int    // hits and samples of the look behind the bound; 0 of 0 if no look was made
	Lower  string // lower bound of the probability of the class, decimal
	Radius string // certified ℓ2 radius, decimal, unit: full range of a pixel value
}

// Claims of a closed ledger on all images together.
type Claims struct {
	Images    []Claim
	Labelled  int    // images whose label is known; ACR and Certified are over these
	ACR       string // average certified radius, decimal; "" if no label is known
	Certified []Certified
}

// Certified is the number of images that are certified and correct at a radius.
type Certified struct {
	Radius string // decimal
	Count  int
}

// Ledger is the content of a file.
type Ledger struct {
	Header      Header
	Looks       []Look // in the order of the file
	Provisional []Look
	Claims      *Claims // nil: not closed
	Digest      string  // "sha256:…" as the last line of a closed ledger has it
	Torn        bool    // bytes after the last newline were ignored
}

// ErrLocked says that another run, of this or another process, writes the ledger.
var ErrLocked = journal.ErrLocked

// FormatError says which line of a file is not what a ledger has there.
type FormatError struct {
	File   string
	Line   int // from 1
	Reason string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("ledger %s: line %d: %s", e.File, e.Line, e.Reason)
}

// VersionError says that a ledger has a version that this program cannot read.
type VersionError struct {
	File    string
	Version int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("ledger %s: format version %d; this program reads the versions 1 to %d: use a newer certspec",
		e.File, e.Version, Version)
}

// MismatchError says that an existing ledger belongs to another run.
type MismatchError struct {
	File        string
	Field       string // name in the header, e.g. "model.identity.weights"
	Ledger, Run string // the two values as JSON
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("ledger %s is of another run: its %s is %s, this run has %s; name another ledger file, or "+
		"give the old settings",
		e.File, e.Field, e.Ledger, e.Run)
}
