package ledgerio

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"

	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/rs/ledger"
)

// Encoder writes a whole ledger, line by line. Its errors come with Finish or Flush.
type Encoder struct {
	out    *bufio.Writer
	hash   hash.Hash
	header ledger.Header
	line   []byte
	digest string
}

// newEncoder begins a ledger with its header, whose version stays as it is.
func newEncoder(w io.Writer, header ledger.Header) (*Encoder, error) {
	line, err := encodeHeader(header)
	if err != nil {
		return nil, err
	}
	e := &Encoder{out: bufio.NewWriterSize(w, 1<<16), hash: sha256.New(), header: header}
	e.put(line)
	return e, nil
}

// Look writes a look. The looks of an image come one after the other, in the order of their blocks.
func (e *Encoder) Look(l ledger.Look) {
	e.line = appendLook(e.line[:0], l)
	e.put(e.line)
}

// Provisional writes a provisional look, behind which neither looks nor claims may follow.
func (e *Encoder) Provisional(l ledger.Look) {
	e.line = appendLook(append(e.line[:0], '~'), l)
	e.out.Write(e.line)
}

// Finish closes the ledger with its claims and digest.
func (e *Encoder) Finish(c ledger.Claims) error {
	e.put(appendClaims(nil, c))
	line, digest := journal.Digest(e.hash)
	e.digest = digest
	e.put(line)
	return e.Flush()
}

// Digest is the last line of a ledger that was finished, as Ledger.Digest has it.
func (e *Encoder) Digest() string { return e.digest }

// Flush ends a ledger that is not closed.
func (e *Encoder) Flush() error { return e.out.Flush() }

func (e *Encoder) put(b []byte) {
	e.hash.Write(b)
	e.out.Write(b)
}

// appendClaims gives the lines from "claims" on, without the digest.
func appendClaims(b []byte, c ledger.Claims) []byte {
	b = fmt.Appendf(b, "claims %d\n", len(c.Images))
	for _, claim := range c.Images {
		b = appendClaim(b, claim)
	}
	if c.ACR != "" {
		b = fmt.Appendf(b, "acr %s %d\n", c.ACR, c.Labelled)
		for _, at := range c.Certified {
			b = fmt.Appendf(b, "certified %s %d %d\n", at.Radius, at.Count, c.Labelled)
		}
	}
	return b
}
