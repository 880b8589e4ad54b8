package ledgerio

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerfile"
	"github.com/certspec/certspec/rs/ledger"
)

// Kind is the kind of a ledger's line behind the header.
type Kind int

// The lines of a ledger, in the order in which they may come.
const (
	LookLine        Kind = iota // Record.Look
	ProvisionalLine             // Record.Look
	ClaimsLine                  // Record.Count: claims that follow
	ClaimLine                   // Record.Claim
	ACRLine                     // Record.Decimal, the average; Record.Count, labelled images
	CertifiedLine               // Record.Decimal, a radius; Record.Count, images
	DigestLine                  // Record.Digest
)

// Record is one line of a ledger.
type Record struct {
	Kind    Kind
	Line    int // in the file, from 1
	Look    ledger.Look
	Claim   ledger.Claim
	Decimal string
	Count   int
	Digest  string // "sha256:…"
}

// Scanner reads a ledger line by line, and checks all that the format says of it. Besides one line it keeps
// the numbers of the images only.
type Scanner struct {
	header ledger.Header
	file   string
	close  func() error
	in     *bufio.Reader
	long   []byte // a line that is longer than the reader's buffer
	arena  []ledger.Count
	hash   hash.Hash
	line   int   // number of the last line read
	length int64 // bytes up to its end
	tail   int   // bytes behind the last newline, known at the end

	behind *Record     // the one that Next gives next; nil: the record of the next line
	last   ledger.Look // the last one, not a provisional one
	images []int
	seen   imageSet
	kind   Kind // of the last record
	claims int  // that were read
	acr    bool
	count  int // labelled images
}

// longestLine bounds what a foreign file can make the reader hold before its header is known. Behind that the number of
// classes does: each may have its count in a line.
const longestLine = 1 << 18

func longestOf(h *ledger.Header) int {
	return longestLine + h.Model.Classes*len(" 1000000:1125899906842624")
}

// Scan opens a ledger and reads its header. A file that is no ledger is a *FormatError, one of a newer program
// a *VersionError.
func Scan(path string) (*Scanner, error) {
	f, err := ledgerfile.OpenTurns(path)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	s, err := newScanner(path, f)
	if err == io.EOF {
		err = &ledger.FormatError{File: path, Line: 1, Reason: "no header: the file is empty or was cut in its first line"}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	s.close = f.Close
	return s, nil
}

// newScanner reads the header; io.EOF means that not even the first line is whole.
func newScanner(file string, in io.Reader) (*Scanner, error) {
	buffer := 1 << 15
	if t, ok := in.(*ledgerfile.Turns); ok && t.Size > 0 { // ten thousand small shards are open at once
		buffer = int(min(int64(buffer), t.Size+1))
	}
	s := &Scanner{file: file, in: bufio.NewReaderSize(in, buffer), hash: sha256.New()}
	line, err := s.next()
	if err != nil {
		return nil, err
	}
	if s.header, err = decodeHeader(file, line); err != nil {
		return nil, err
	}
	if err := announced(s.header); err != nil {
		return nil, s.errorf("header: %v", err)
	}
	s.keep(line)
	return s, nil
}

// Close closes the file.
func (s *Scanner) Close() error { return s.close() }

// File is the name under which the ledger was opened.
func (s *Scanner) File() string { return s.file }

// Header is the first line.
func (s *Scanner) Header() ledger.Header { return s.header }

// Torn reports, at the end, whether the file ends in the midst of a line or of its claims.
func (s *Scanner) Torn() bool {
	return s.tail > 0 || s.kind >= ClaimsLine && s.kind < DigestLine
}

// Next reads the next whole line; io.EOF where there is none. Everything else that is wrong is a *FormatError.
// What it gives stays valid.
func (s *Scanner) Next() (Record, error) {
	if s.behind != nil {
		r := *s.behind
		s.behind = nil
		return r, nil
	}
	line, err := s.next()
	if err != nil {
		return Record{}, err
	}
	r := Record{Line: s.line}
	switch {
	case s.kind == DigestLine:
		err = errors.New("a line behind the digest, which is the last")
	case s.kind < ClaimsLine:
		err = s.body(line, &r)
	case s.claims < s.wanted():
		err = s.claim(line, &r)
	default:
		err = s.total(line, &r)
	}
	if err != nil {
		return Record{}, s.errorf("%v", err)
	}
	s.kind = r.Kind
	if r.Kind != ProvisionalLine {
		s.keep(line)
	}
	return r, nil
}

// body reads a line before the claims, or the one that begins them.
func (s *Scanner) body(line []byte, r *Record) error {
	var err error
	if counts := bytes.Count(line, []byte{':'}); cap(s.arena)-len(s.arena) < counts {
		// A new chunk, larger up to 4,096: the old one stays with its looks.
		s.arena = make([]ledger.Count, 0, max(counts, min(1<<12, max(1<<6, 2*cap(s.arena)))))
	}
	switch {
	case len(line) > 0 && line[0] == '~':
		r.Kind = ProvisionalLine
		if r.Look, s.arena, err = parseLook(line[1:], &s.header, s.arena); err != nil {
			return fmt.Errorf("provisional: %w", err)
		}
		return nil
	case s.kind == ProvisionalLine:
		return fmt.Errorf("%s behind a provisional line", journal.Quote(line))
	case bytes.HasPrefix(line, []byte("claims ")):
		r.Kind = ClaimsLine
		var n int
		if r.Count, n = parseInt(line[len("claims "):]); n == 0 || n != len(line)-len("claims ") ||
			r.Count != s.wanted() {
			return fmt.Errorf("%s: want claims and the number of images, which is %d", journal.Quote(line), s.wanted())
		}
		return nil
	}
	r.Kind = LookLine
	if r.Look, s.arena, err = parseLook(line, &s.header, s.arena); err != nil {
		return err
	}
	return s.follows(r.Look)
}

// follows checks that a look continues its image or begins a new one.
func (s *Scanner) follows(look ledger.Look) error {
	if len(s.images) > 0 && s.last.Image == look.Image {
		if look.From != s.last.To || look.Label != s.last.Label {
			return fmt.Errorf("image %d goes on at block %d with label %d, want block %d and label %d",
				look.Image, look.From, look.Label, s.last.To, s.last.Label)
		}
		s.last = look
		return nil
	}
	if look.From != 0 && !byBlocks(&s.header) {
		return fmt.Errorf("image %d begins at block %d, want 0", look.Image, look.From)
	}
	if !s.seen.add(look.Image) {
		return fmt.Errorf("image %d comes a second time", look.Image)
	}
	s.images = append(s.images, look.Image)
	s.last = look
	return nil
}

// wanted is the number of claims.
func (s *Scanner) wanted() int {
	if byBlocks(&s.header) {
		return 0
	}
	return len(s.images)
}

func (s *Scanner) claim(line []byte, r *Record) error {
	var err error
	r.Kind = ClaimLine
	if r.Claim, err = parseClaim(line, &s.header); err != nil {
		return err
	}
	if want := s.images[s.claims]; r.Claim.Image != want {
		return fmt.Errorf("claim on image %d, want image %d", r.Claim.Image, want)
	}
	s.claims++
	return nil
}

// total reads a line behind the claims.
func (s *Scanner) total(line []byte, r *Record) error {
	fields := bytes.Split(line, []byte{' '})
	switch {
	case len(fields) == 3 && string(fields[0]) == "acr" && !s.acr:
		labelled, n := parseInt(fields[2])
		if n != len(fields[2]) || n == 0 || labelled < 1 || labelled > s.claims || !isDecimal(string(fields[1])) {
			return fmt.Errorf("%s: want acr, its value and the number of labelled images", journal.Quote(line))
		}
		r.Kind, r.Decimal, r.Count = ACRLine, string(fields[1]), labelled
		s.acr, s.count = true, labelled
		return nil
	case len(fields) == 4 && string(fields[0]) == "certified" && s.acr:
		count, n := parseInt(fields[2])
		labelled, m := parseInt(fields[3])
		if n == 0 || n != len(fields[2]) || m == 0 || m != len(fields[3]) || labelled != s.count ||
			count > labelled || !isDecimal(string(fields[1])) {
			return fmt.Errorf("%s: want certified, a radius, a count and the number of labelled images",
				journal.Quote(line))
		}
		r.Kind, r.Decimal, r.Count = CertifiedLine, string(fields[1]), count
		return nil
	case len(fields) == 2 && string(fields[0]) == "sha256":
		want := hex.EncodeToString(s.hash.Sum(nil))
		if string(fields[1]) != want {
			return fmt.Errorf("the digest is %s, but the lines before it have %s: the file was altered or damaged",
				journal.Quote(fields[1]), want)
		}
		r.Kind, r.Digest = DigestLine, "sha256:"+want
		return nil
	}
	return fmt.Errorf("%s: want acr, certified or sha256", journal.Quote(line))
}

// keep adds a line that stays to the digest.
func (s *Scanner) keep(line []byte) {
	s.hash.Write(line)
	s.hash.Write(newline)
}

var newline = []byte{'\n'}

// next is the next whole line without its newline, valid until the following call; io.EOF where there is none.
func (s *Scanner) next() ([]byte, error) {
	line, err := s.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		s.long = s.long[:0]
		longest := longestOf(&s.header)
		for ; errors.Is(err, bufio.ErrBufferFull) && len(s.long) <= longest; line, err = s.in.ReadSlice('\n') {
			s.long = append(s.long, line...)
		}
		s.long = append(s.long, line...)
		if line = s.long; len(line) > longest {
			s.line++
			return nil, s.errorf("longer than %d bytes", longest)
		}
	}
	switch {
	case err == nil:
		s.line++
		s.length += int64(len(line))
		return line[:len(line)-1], nil
	case err == io.EOF:
		s.tail = max(s.tail, len(line)) // the end is met again by a further call
		return nil, io.EOF
	default:
		return nil, fmt.Errorf("ledger %s: %w", s.file, err)
	}
}

func (s *Scanner) errorf(format string, args ...any) error {
	return &ledger.FormatError{File: s.file, Line: s.line, Reason: fmt.Sprintf(format, args...)}
}

// imageSet is a set of image numbers. As long as they ascend, as they nearly always do, it keeps a list.
type imageSet struct {
	ascending []int
	others    map[int]bool
}

// add reports whether the image is new.
func (s *imageSet) add(image int) bool {
	n := len(s.ascending)
	if s.others == nil && (n == 0 || image > s.ascending[n-1]) {
		s.ascending = append(s.ascending, image)
		return true
	}
	if s.others == nil {
		s.others = make(map[int]bool, n+1)
		for _, i := range s.ascending {
			s.others[i] = true
		}
	}
	if s.others[image] {
		return false
	}
	s.others[image] = true
	return true
}

// byBlocks reports whether the ledger is a shard by blocks, whose images begin at any block and which claims nothing.
func byBlocks(h *ledger.Header) bool { return h.Shard != nil && h.Shard.By == ledger.ShardBlocks }
