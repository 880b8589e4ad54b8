// Package ledgerio reads and writes the files of package ledger, whole or line by line.
package ledgerio

import (
	"io"

	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/rs/ledger"
)

// Is reports whether the first line of a file says that it is a ledger.
func Is(path string) bool { return journal.Begins(path, headerBegin) }

// Read reads the ledger in a file. An unfinished or torn ledger is no error; a foreign, damaged or
// newer one is: a *FormatError or *VersionError.
func Read(path string) (*ledger.Ledger, error) {
	s, err := Scan(path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	l, _, err := s.read()
	return l, err
}

// decode reads a ledger, and says how long it is without provisional lines and a torn tail. A nil ledger without an
// error means that not even the first line is whole.
func decode(file string, in io.Reader) (l *ledger.Ledger, committed int64, err error) {
	s, err := newScanner(file, in)
	if err == io.EOF {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	return s.read()
}

// read reads all that is behind the header.
func (s *Scanner) read() (l *ledger.Ledger, committed int64, err error) {
	l, committed = &ledger.Ledger{Header: s.header}, s.length
	var claims *ledger.Claims
	for r, err := range s.All() {
		if err != nil {
			return nil, 0, err
		}
		switch r.Kind {
		case LookLine:
			l.Looks = append(l.Looks, r.Look)
			committed = s.length
		case ProvisionalLine:
			l.Provisional = append(l.Provisional, r.Look)
		case ClaimsLine:
			claims = &ledger.Claims{Images: make([]ledger.Claim, 0, r.Count)}
		case ClaimLine:
			claims.Images = append(claims.Images, r.Claim)
		case ACRLine:
			claims.ACR, claims.Labelled = r.Decimal, r.Count
		case CertifiedLine:
			claims.Certified = append(claims.Certified, ledger.Certified{Radius: r.Decimal, Count: r.Count})
		case DigestLine:
			l.Claims, l.Digest = claims, r.Digest
			committed = s.length
		}
	}
	l.Torn = s.Torn()
	return l, committed, nil
}
