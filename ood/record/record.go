// Package record reads and writes the files of package ood: what a network's confidence is, and at
// most can be, at each image of a set. It knows the format only; package ood gives it a meaning.
//
// A file is UTF-8 text, one record per line, each ended by a newline:
//
//	{"format":"certspec-ood","version":1,…}                the header: all that the lines depend on
//	20 7 3 -5.1e-01 -2.0e-01 -1.2e+00                       bound: image, label, class, ln Conf, upper and lower bound
//	20 7 3 -5.1e-01 -4.0e-01 apgd                           attack: image, label, class, ln Conf, the most found, by what
//	claims 500                                             closes the file: the number of images
//	nan 0                                                  images whose confidence is not a number
//	accuracy 480 500                                       where labels are known
//	mean_confidence 0.981112233
//	mean_bound 0.993000001                                 of an attack: mean_attacked
//	vacuous 3                                              of a bound: images whose bound on Conf is above .999
//	sha256 <64 hexadecimal digits>                         of all bytes before this line
//
// Bytes after the last newline, as a power cut leaves them, are no part of the file; an unfinished
// run goes on behind its last line, and ends with the bytes of one that was not interrupted.
package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/rs/ledger"
)

// format and version begin the header of every file.
const (
	format  = "certspec-ood"
	version = 1
)

const headerBegin = `{"format":"` + format + `","version":`

// Header is the first line.
type Header struct {
	Format  string         `json:"format"`
	Version int            `json:"version"`
	Program ledger.Program `json:"program"` // that began the file; another may resume it

	Model   Model       `json:"model"`
	Data    ledger.Data `json:"data"`
	Set     string      `json:"set"`     // of inputs around an image: "linf" or "segment"
	Epsilon float64     `json:"epsilon"` // in units of the full range of a value
	Probe   *Probe      `json:"probe,omitempty"`
	Bound   *Bound      `json:"bound,omitempty"`
	Attack  *Attack     `json:"attack,omitempty"` // one of both
	Shard   *Shard      `json:"shard,omitempty"`  // the part of the images that the file holds; nil: all
}

// The sets of inputs around an image x.
const (
	linf    = "linf"    // the ball |z − x| ≤ ε in every value, within [0, 1]
	segment = "segment" // x + t·d with |t| ≤ ε, not clipped; d is that of Probe
)

// Probe is a direction d of norm 1 for each image: the Fourier basis image of a frequency, with a
// sign for each channel (package spectral).
type Probe struct {
	U      int     `json:"u"` // periods over the height
	V      int     `json:"v"` // and over the width
	Seed   uint64  `json:"seed,string"`
	Shared bool    `json:"shared_sign"`
	Shift  float64 `json:"shift,omitempty"` // the ball is around x + shift·d, clipped to [0, 1]
}

// Inputs says in words which inputs around an image x the file is of.
func (h Header) Inputs() string {
	p := h.Probe
	switch {
	case p == nil:
		return fmt.Sprintf("|z − x| ≤ %v in every value", h.Epsilon)
	case h.Set == segment:
		return fmt.Sprintf("x + t·d, |t| ≤ %v, d the Fourier basis image of frequency (%d, %d)", h.Epsilon, p.U, p.V)
	}
	return fmt.Sprintf("|z − (x + %v·d)| ≤ %v in every value, d the Fourier basis image of frequency (%d, %d)", p.Shift,
		h.Epsilon, p.U, p.V)
}

// Model names a network.
type Model struct {
	Name    string `json:"name"`
	Network string `json:"network"` // digest of what it computes, feedforward.Network.Digest
	Classes int    `json:"classes"`
	// the sets that it was trained on, in- and out-distribution; empty: not known
	Trained []ledger.Data `json:"trained"`

	// Compared names the runtime that the layers were compared with, or is feedforward.NotCompared;
	// empty in files of versions that did not say.
	Compared string `json:"compared,omitempty"`
}

// Bound says how confidences were bounded.
type Bound struct {
	Method     feedforward.Method     `json:"method"`
	Arithmetic feedforward.Arithmetic `json:"arithmetic"`
	Assumes    string                 `json:"assumes,omitempty"` // what the bounds take for granted of float32 besides
}

// Attack says how points of high confidence were looked for.
type Attack struct {
	Names    []string `json:"names"`
	Steps    int      `json:"steps"` // of Auto-PGD
	Restarts int      `json:"restarts"`
	Near     float64  `json:"near"` // half-width of the noise of its starts; 0: to the edge of the box
	Monotone int      `json:"monotone_steps"`
	Seed     uint64   `json:"seed,string"`
	Transfer []string `json:"transfer,omitempty"` // digests of the files of points that it started from, too

	BestTransfer int `json:"best_transfer,omitempty"` // of them for each image; 0: all
}

// Shard is a part of a set: of n images, those at the places ⌊i·n/count⌋ to ⌊(i+1)·n/count⌋.
type Shard struct {
	Index int `json:"index"` // from 0
	Count int `json:"count"`
}

// Range is the part of n images.
func (s *Shard) Range(n int) (from, to int) {
	if s == nil {
		return 0, n
	}
	return s.Index * n / s.Count, (s.Index + 1) * n / s.Count
}

// Line of a file: the answers for an image. Logarithms are natural.
type Line struct {
	Image, Label int     // a label of −1 is unknown
	Class        int     // arg max at the image
	Log          float64 // ln Conf at the image; may be NaN
	Upper, Lower float64 // bounds on ln Conf over the set of inputs
	Attacked     float64 // the largest ln Conf that was found in it
	By           string  // what found it: a name of the header, or "clean"
}

// Claims of a closed file on all images together.
type Claims struct {
	Images          int
	NaN             int
	Correct, Labels int    // images of the class that the label says, and images with a label
	MeanConfidence  string // decimal, of those that are numbers; "" where there are none
	// of the bound, rounded up, or of what attacks found; a confidence that is not a number counts
	// as 1
	Mean    string
	Vacuous int // of a bound: images whose bound on Conf is above .999
}

// File is the content of a file.
type File struct {
	Path   string
	Header Header
	Lines  []Line
	Claims *Claims // nil: not closed
	Digest string  // "sha256:…" as the last line of a closed file has it
	Torn   bool    // bytes after the last newline, or claims that are not complete, were ignored

	committed int // length without them
}

// FormatError says which line of a file is not what one of these files has there.
type FormatError struct {
	File   string
	Line   int // from 1
	Reason string
	Empty  bool // not even the first line is whole, as where a disk was full: nothing is lost by beginning anew
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("ood: %s, line %d: %s", e.File, e.Line, e.Reason)
}

// MismatchError says that an existing file belongs to another run.
type MismatchError struct {
	File     string
	Field    string // name in the header
	Old, Run string // the two values as JSON
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("ood: %s is of another run: its %s is %s, this run has %s; name another file, or give the "+
		"old settings", e.File, e.Field, e.Old, e.Run)
}

// SameRun is nil if a run with the header run may add to a file with header h; else a
// *MismatchError. Programs may differ, and a file that does not say whether its network was
// compared goes on so.
func (h Header) SameRun(file string, run Header) error {
	run.Format, run.Version, run.Program = h.Format, h.Version, h.Program
	run.Data.Name = journal.SameData(h.Data.Name, h.Data.Digest, run.Data.Name, run.Data.Digest)
	if h.Model.Compared == "" {
		run.Model.Compared = ""
	}
	if name, a, b, differ := journal.FirstDifference(h, run); differ {
		return &MismatchError{file, name, a, b}
	}
	return nil
}

var (
	methods = []feedforward.Method{feedforward.IBP, feedforward.CROWN, feedforward.FullCROWN, feedforward.AlphaCROWN,
		feedforward.Split, "densities"}
	arithmetics = []feedforward.Arithmetic{feedforward.Rigorous, feedforward.Plain, feedforward.Integers}
)

func (h Header) check() error {
	switch {
	case h.Model.Classes < 2 || h.Model.Classes > math.MaxInt32:
		return fmt.Errorf("%d classes, want at least 2", h.Model.Classes)
	case h.Data.Images < 1 || h.Data.Images > 1<<40:
		return fmt.Errorf("%d images", h.Data.Images)
	case h.Set == "":
		return errors.New("no set of inputs")
	case h.Set != linf && h.Set != segment:
		return fmt.Errorf("a set of inputs %q, want %q or %q", h.Set, linf, segment)
	case (h.Set == segment) && h.Probe == nil:
		return errors.New("a segment without a direction")
	case !(h.Epsilon >= 0 && (h.Epsilon <= 1 || h.Set == segment)) || math.IsInf(h.Epsilon, 0):
		return fmt.Errorf("epsilon %v, want 0 to 1", h.Epsilon)
	case (h.Bound == nil) == (h.Attack == nil):
		return errors.New("want a bound or an attack, and one of both")
	case h.Bound != nil && !slices.Contains(methods, h.Bound.Method):
		return fmt.Errorf("bounds by the method %q, want one of %q", h.Bound.Method, methods)
	case h.Bound != nil && !slices.Contains(arithmetics, h.Bound.Arithmetic):
		return fmt.Errorf("bounds in the arithmetic %q, want one of %q", h.Bound.Arithmetic, arithmetics)
	case h.Attack != nil && (h.Attack.Steps < 0 || h.Attack.Restarts < 0 || h.Attack.Monotone < 0 ||
		h.Attack.BestTransfer < 0 || !(h.Attack.Near >= 0)):
		return fmt.Errorf("an attack of %d steps, %d restarts and %d monotone steps from %v away, by the best %d of "+
			"others, want numbers of at least 0", h.Attack.Steps, h.Attack.Restarts, h.Attack.Monotone, h.Attack.Near,
			h.Attack.BestTransfer)
	case h.Shard != nil && !(h.Shard.Count >= 1 && h.Shard.Count <= 1<<20 && h.Shard.Index >= 0 &&
		h.Shard.Index < h.Shard.Count):
		return fmt.Errorf("shard %d of %d", h.Shard.Index, h.Shard.Count)
	}
	if h.Attack != nil {
		for _, name := range append([]string{"clean"}, h.Attack.Names...) {
			if name == "" || strings.ContainsAny(name, " \n") {
				return fmt.Errorf("an attack of the name %q", name)
			}
		}
	}
	for _, text := range []string{h.Program.Version, h.Program.Commit, h.Model.Name, h.Model.Network, h.Model.Compared,
		h.Data.Name, h.Data.Digest, h.Set} {
		if !utf8.ValidString(text) {
			return fmt.Errorf("%s is not UTF-8", journal.Quote([]byte(text)))
		}
	}
	return nil
}

// encode is the header as its line, the newline included.
func (h Header) encode() ([]byte, error) {
	if err := h.check(); err != nil {
		return nil, fmt.Errorf("ood: header: %w", err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(h); err != nil {
		return nil, fmt.Errorf("ood: header: %w", err)
	}
	return b.Bytes(), nil
}

// decodeHeader reads the first line, which has one form only: the bytes that encode gives of it. So
// two readers see the same header, whatever they do with a key that comes twice, or that they do
// not know.
func decodeHeader(line []byte) (Header, error) {
	var h Header
	if !bytes.HasPrefix(line, []byte(headerBegin)) {
		return h, fmt.Errorf("not the header of a file of certspec ood, which begins with %s", headerBegin)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&h); err != nil {
		return h, fmt.Errorf("header: %w", err)
	}
	if h.Version != version {
		return h, fmt.Errorf("format version %d; this program reads version %d", h.Version, version)
	}
	again, err := h.encode()
	if err != nil {
		return h, errors.New(strings.TrimPrefix(err.Error(), "ood: "))
	}
	if at, want, have := journal.FirstByte(bytes.TrimSuffix(again, []byte{'\n'}), line); at >= 0 {
		return h, fmt.Errorf("header: at byte %d it has %s, want %s: every key stands there once, in its order, and "+
			"nothing else does", at, journal.Quote(have), journal.Quote(want))
	}
	return h, nil
}
