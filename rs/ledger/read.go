package ledger

import (
	"io"
)

// Read reads the ledger in a file. An unfinished or torn ledger is no error; a foreign, damaged or
// newer one is: a *FormatError or *VersionError.
func Read(path string) (*Ledger, error) {
	s, err := Scan(path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.read()
}

// decode reads a ledger; nil without an error means that not even the first line is whole.
func decode(file string, in io.Reader) (*Ledger, error) {
	s, err := newScanner(file, in)
	if err == io.EOF {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.read()
}

// read reads all that is behind the header.
func (s *Scanner) read() (*Ledger, error) {
	l := &Ledger{Header: s.header, committed: s.length}
	var claims *Claims
	for r, err := range s.All() {
		if err != nil {
			return nil, err
		}
		switch r.Kind {
		case LookLine:
			l.Looks = append(l.Looks, r.Look)
			l.committed = s.length
		case ProvisionalLine:
			l.Provisional = append(l.Provisional, r.Look)
		case ClaimsLine:
			claims = &Claims{Images: make([]Claim, 0, r.Count)}
		case ClaimLine:
			claims.Images = append(claims.Images, r.Claim)
		case ACRLine:
			claims.ACR, claims.Labelled = r.Decimal, r.Count
		case CertifiedLine:
			claims.Certified = append(claims.Certified, Certified{r.Decimal, r.Count})
		case DigestLine:
			l.Claims, l.Digest = claims, r.Digest
			l.committed = s.length
		}
	}
	l.Torn = s.Torn()
	return l, nil
}
