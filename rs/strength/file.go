package strength

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/rs/ledger"
)

const (
	format  = "certspec-strength"
	version = 1
)

// Header is the first line of a file: all that the other lines depend on.
type Header struct {
	Format  string          `json:"format"`
	Version int             `json:"version"`
	Program ledger.Program  `json:"program"` // that began the file; another may go on with it
	Model   classifier.Info `json:"model"`
	Data    ledger.Data     `json:"data"`
	Over    string          `json:"over"`   // the strengths, as corrupt.ParseStrengths reads them
	Prover  string          `json:"prover"` // "list" or "ellipsoid"
	// of a list: images in one call of the model, and strengths at equal distances that are asked
	// for comparison
	Batch  int    `json:"batch,omitempty"`
	Spaced int    `json:"spaced,omitempty"`
	Ledger string `json:"ledger,omitempty"` // of an ellipsoid: the digest of the ledger
}

// The provers.
const (
	byList      = "list"      // the model was asked about every image
	byEllipsoid = "ellipsoid" // every image lies where a ledger certifies
)

func (h Header) list() bool { return h.Prover == byList }

// Line of a file: the answers for one image.
type Line struct {
	Image int `json:"image"`
	Label int `json:"label"` // −1: unknown
	Class int `json:"class"` // of the image itself; −1: the output is not finite, and nothing is proven
	// the proven interval around the strength nearest to no corruption; empty: there the class
	// differs already
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// different images behind it, and the one of Flip, in the order in which they were asked; and
	// the SHA-256 of their bytes
	Asked  int    `json:"asked"`
	Digest string `json:"digest"`
	// of a list: the equally spaced strengths at which the class is the same
	Same int `json:"same"`
	// of a list: the strength next to the interval where the class is another; nil: there is none
	Flip *Flip `json:"flip,omitempty"`
	// of an ellipsoid: the grey shift that shows the farthest image of the interval to be inside,
	// and the strength next to the interval that is outside; empty: there is none
	Shift   int    `json:"shift,omitempty"`
	Outside string `json:"outside,omitempty"`
}

// Flip is the strength next to the proven interval, and the class there.
type Flip struct {
	Theta string `json:"theta"`
	Class int    `json:"class"` // −1: the output is not finite
}

// Proven reports whether the class is the same at all strengths.
func (l Line) Proven() bool { return l.Class >= 0 && l.Flip == nil && l.Outside == "" }

// Claims of a closed file on all images together.
type Claims struct {
	Images   int `json:"images"`
	Labelled int `json:"labelled"`
	Right    int `json:"right"`  // labelled images of the class of their label
	Proven   int `json:"proven"` // images whose class is the same at all strengths
	Robust   int `json:"robust"` // images that are right and proven
	// right images whose class is the same at the equally spaced strengths, and those of them where
	// another strength changes it
	SpacedSame  int `json:"spaced_same"`
	SpacedWrong int `json:"spaced_wrong"`
}

// File is the content of a file.
type File struct {
	Path   string
	Header Header
	Lines  []Line
	Claims *Claims // nil: not closed
	Digest string  // "sha256:…" as the last line of a closed file has it
	// σ, n and α of the ledger; empty unless FromLedger gave the file
	Settings string

	committed int // length of the header and the lines
}

// FormatError says which line of a file is not what a file of proven strengths has there.
type FormatError struct {
	File   string
	Line   int // from 1
	Reason string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("strength: %s, line %d: %s", e.File, e.Line, e.Reason)
}

// MismatchError says that a file belongs to another run.
type MismatchError struct {
	File      string
	Field     string // name in the header
	Old, Here string // the two values as JSON
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("strength: %s is of another run: its %s is %s, this run has %s; name another file, or give "+
		"the old settings", e.File, e.Field, e.Old, e.Here)
}

// Is reports whether the first line of a file says that it is one.
func Is(path string) bool { return journal.Begins(path, headerBegin) }

const headerBegin = `{"format":"` + format + `","version":`

// Read reads a file and checks all that it says of itself: the form of each line, the claims and
// the digest. A file that is not finished is no error; what a power cut left of a line is no part
// of it.
//
// Errors: those of reading; a *FormatError.
func Read(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("strength: %w", err)
	}
	f, err := decode(path, data)
	if err == nil && f == nil {
		err = &FormatError{path, 1, "no header: the file is empty, or was cut in its first line"}
	}
	return f, err
}

// decode reads a file; nil without an error means that not even the first line is whole.
func decode(path string, data []byte) (*File, error) {
	f, number := &File{Path: path}, 0
	data = data[:journal.Whole(data)]
	rest := data
	fail := func(form string, args ...any) (*File, error) {
		return nil, &FormatError{path, number, fmt.Sprintf(form, args...)}
	}
	if len(rest) == 0 {
		return nil, nil
	}
	next := func() string {
		line, after, _ := bytes.Cut(rest, []byte{'\n'})
		rest, number = after, number+1
		return string(line)
	}
	if err := f.Header.decode(next()); err != nil {
		return fail("%v", err)
	}
	seen := map[int]bool{}
	for f.committed = len(data) - len(rest); len(rest) > 0 && !bytes.HasPrefix(rest, []byte("claims ")); {
		l, err := f.Header.parseLine(next())
		switch {
		case err != nil:
			return fail("%v", err)
		case seen[l.Image]:
			return fail("image %d comes a second time", l.Image)
		case l.Class >= f.Header.Model.Classes || l.Flip != nil && l.Flip.Class >= f.Header.Model.Classes:
			return fail("a class of %d or above", f.Header.Model.Classes)
		case len(f.Lines) == f.Header.Data.Images:
			return fail("more images than the %d of the header", f.Header.Data.Images)
		}
		seen[l.Image] = true
		f.Lines = append(f.Lines, l)
		f.committed = len(data) - len(rest)
	}
	if len(rest) == 0 {
		return f, nil
	}
	if len(f.Lines) < f.Header.Data.Images {
		number++
		return fail("claims behind %d images, the header has %d", len(f.Lines), f.Header.Data.Images)
	}
	claims := f.claims()
	tail := claims.append(nil)
	sum := sha256.New()
	sum.Write(data[:f.committed])
	sum.Write(tail)
	last, digest := journal.Digest(sum)
	for want := range bytes.Lines(append(tail, last...)) {
		if len(rest) == 0 { // a power cut tore the claims
			return f, nil
		}
		if line := next(); line+"\n" != string(want) {
			return fail("%s: from the lines above follows %s: the file was altered or damaged",
				journal.Quote([]byte(line)), journal.Quote(bytes.TrimSuffix(want, []byte{'\n'})))
		}
	}
	if len(rest) > 0 {
		number++
		return fail("something follows the digest")
	}
	f.Claims, f.Digest, f.committed = &claims, digest, len(data)
	return f, nil
}

// encode is the header as its line.
func (h Header) encode() ([]byte, error) {
	_, err := corrupt.ParseStrengths(h.Over)
	switch {
	case err != nil:
		return nil, err
	case h.list() && (h.Batch < 1 || h.Spaced < 1 || h.Ledger != "") || h.Data.Images < 1 || h.Model.Classes < 2 ||
		!h.list() && (h.Prover != byEllipsoid || h.Batch != 0 || h.Spaced != 0 || h.Ledger == ""):
		return nil, errors.New(`want the prover "list" with a batch and spaced strengths, or "ellipsoid" with a ledger; ` +
			`an image and two classes at least`)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err = enc.Encode(h)
	return b.Bytes(), err
}

// decode reads the first line. It has one form, that which encode gives, so that two readers see
// the same header.
func (h *Header) decode(line string) error {
	if !strings.HasPrefix(line, headerBegin) {
		return fmt.Errorf("%s: want %s", journal.Quote([]byte(line)), headerBegin)
	}
	if err := json.Unmarshal([]byte(line), h); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if h.Version != version {
		return fmt.Errorf("format version %d; this program reads version %d: use a newer certspec", h.Version, version)
	}
	again, err := h.encode()
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if at, want, have := journal.FirstByte(bytes.TrimSuffix(again, []byte{'\n'}), []byte(line)); at >= 0 {
		return fmt.Errorf("header: at byte %d it has %s, want %s", at, journal.Quote(have), journal.Quote(want))
	}
	return nil
}

// sameRun is nil where a run with the header run may go on with a file; programs may differ.
func (h Header) sameRun(path string, run Header) error {
	run.Program = h.Program
	run.Data.Name = journal.SameData(h.Data.Name, h.Data.Digest, run.Data.Name, run.Data.Digest)
	if field, old, here, differ := journal.FirstDifference(h, run); differ {
		return &MismatchError{path, field, old, here}
	}
	return nil
}

// appendLine writes the line of an image.
func (h Header) appendLine(b []byte, l Line) []byte {
	from, to := l.From, l.To
	if from == "" {
		from, to = "-", "-"
	}
	b = fmt.Appendf(b, "%d %d %d %s %s %d %s ", l.Image, l.Label, l.Class, from, to, l.Asked, l.Digest)
	if !h.list() {
		b = strconv.AppendInt(b, int64(l.Shift), 10)
		if l.Outside != "" {
			b = fmt.Appendf(b, " outside %s", l.Outside)
		}
		return append(b, '\n')
	}
	b = strconv.AppendInt(b, int64(l.Same), 10)
	if l.Flip != nil {
		b = fmt.Appendf(b, " flip %s %d", l.Flip.Theta, l.Flip.Class)
	}
	return append(b, '\n')
}

// parseLine reads the line of an image, which has one form: what appendLine gives of it.
func (h Header) parseLine(text string) (Line, error) {
	fields := strings.Split(text, " ")
	bad := func() (Line, error) {
		return Line{}, fmt.Errorf("%s: want image, label, class, from, to, asked, digest and same, and where the "+
			"class changes flip, strength, class; of an ellipsoid shift for same, and outside, strength",
			journal.Quote([]byte(text)))
	}
	if n := len(fields); n != 8 && (n != 11 || fields[8] != "flip") && (n != 10 || fields[8] != "outside") {
		return bad()
	}
	var l Line
	numbers := []*int{&l.Image, &l.Label, &l.Class, &l.Asked, &l.Same}
	texts := []string{fields[0], fields[1], fields[2], fields[5], fields[7]}
	if l.From, l.To, l.Digest = fields[3], fields[4], fields[6]; l.From == "-" {
		l.From, l.To = "", ""
	}
	if !h.list() {
		numbers[4] = &l.Shift
	}
	switch len(fields) {
	case 10:
		l.Outside = fields[9]
	case 11:
		l.Flip = &Flip{Theta: fields[9]}
		numbers, texts = append(numbers, &l.Flip.Class), append(texts, fields[10])
	}
	for i, at := range numbers {
		var err error
		if *at, err = strconv.Atoi(texts[i]); err != nil {
			return bad()
		}
	}
	digest, err := hex.DecodeString(l.Digest)
	same := l.Flip != nil && (l.Flip.Class < -1 || l.Flip.Class == l.Class)
	nothing := l.From == "" && l.Asked == 0 && l.Same == 0 && l.Shift == 0 && l.Flip == nil && l.Outside == ""
	if string(h.appendLine(nil, l)) != text+"\n" || err != nil || len(digest) != sha256.Size || l.Image < 0 ||
		l.Label < -1 || l.Class < -1 || l.Asked < 0 || l.Same < 0 || same || l.Class < 0 && !nothing {
		return bad()
	}
	return l, nil
}

// claims derives the claims of the lines.
func (f *File) claims() Claims {
	c := Claims{Images: len(f.Lines)}
	count := func(n *int, holds bool) bool {
		if holds {
			*n++
		}
		return holds
	}
	for _, l := range f.Lines {
		count(&c.Labelled, l.Label >= 0)
		count(&c.Proven, l.Proven())
		if right := count(&c.Right, l.Label >= 0 && l.Label == l.Class); right {
			count(&c.Robust, l.Proven())
			same := f.Header.list() && l.Same == f.Header.Spaced
			if count(&c.SpacedSame, same) {
				count(&c.SpacedWrong, !l.Proven())
			}
		}
	}
	return c
}

// append writes the lines of the claims, without the digest.
func (c Claims) append(b []byte) []byte {
	return fmt.Appendf(b, "claims %d\nright %d %d\nproven %d %d\nspaced %d %d\n", c.Images, c.Right, c.Labelled,
		c.Proven, c.Robust, c.SpacedSame, c.SpacedWrong)
}
