package scorefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/rs/ledger"
)

// The scores beside a ledger are a line of JSON and records behind it:
//
//	{"format":"certspec-scores","version":1,"run":"sha256:…","scores":"uniform/1000"}
//	a tag, one byte; the length of what follows, and so many bytes
//
// All numbers are unsigned and of variable length, as encoding/binary has them, in the shortest form. A record
// with the tag scoresLook belongs to a look of the ledger behind the selection; they stand in the order of
// the looks. One with the tag scoresProvisional belongs to a provisional look. What they hold is
//
//	image, from, to − from, class, unknown, low, high − low, cells, and for each cell its distance and samples
//
// where the distance is from the cell before, and of the first its index. The scores of a closed ledger end with a
// record scoresEnd: the digest of the ledger, and the SHA-256 of all bytes of this file before the record.
const (
	scoresFormat  = "certspec-scores"
	scoresVersion = 1

	scoresLook        = 'L'
	scoresProvisional = '~'
	scoresEnd         = 'E'
)

// scoresHeader is the first line. Run binds the file to its ledger, whatever program began that.
type scoresHeader struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Run     string `json:"run"`
	Scores  string `json:"scores"`
}

// scoresHeaderOf is the first line of the scores beside a ledger.
func scoresHeaderOf(h ledger.Header) ([]byte, error) {
	h.Program, h.Version = ledger.Program{}, 0
	run, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(scoresHeader{scoresFormat, scoresVersion, fmt.Sprintf("sha256:%x", sha256.Sum256(run)),
		h.Scores})
	return append(line, '\n'), err
}

// appendScores gives a record.
func appendScores(b []byte, tag byte, s *Record) []byte {
	body := make([]byte, 0, 48+3*len(s.Cells))
	for _, v := range [...]uint64{uint64(s.Image), uint64(s.From), uint64(s.To - s.From), uint64(s.Class),
		uint64(s.Unknown), s.Low, s.High - s.Low, uint64(len(s.Cells))} {
		body = binary.AppendUvarint(body, v)
	}
	before := 0
	for _, c := range s.Cells {
		body = binary.AppendUvarint(body, uint64(c.Index-before))
		body = binary.AppendUvarint(body, uint64(c.N))
		before = c.Index
	}
	return appendRecord(b, tag, body)
}

func appendRecord(b []byte, tag byte, body []byte) []byte {
	b = binary.AppendUvarint(append(b, tag), uint64(len(body)))
	return append(b, body...)
}

// appendScoresEnd gives the last record.
func appendScoresEnd(b []byte, ledgerDigest string, sum []byte) []byte {
	digest, err := hex.DecodeString(ledgerDigest[len("sha256:"):])
	if err != nil {
		panic("ledger: " + err.Error())
	}
	return appendRecord(b, scoresEnd, append(digest, sum...))
}

// parseScores reads what a record holds.
func parseScores(body []byte, h *ledger.Header, cells int) (Record, error) {
	var s Record
	var fields [8]uint64
	var err error
	for i := range fields {
		if fields[i], body, err = cutUvarint(body); err != nil {
			return s, err
		}
	}
	for _, v := range fields[:5] {
		if v > mostScores {
			return s, fmt.Errorf("number %d: want at most %d", v, int64(mostScores))
		}
	}
	if fields[3] >= uint64(h.Model.Classes) {
		return s, fmt.Errorf("class %d: want a class below %d", fields[3], h.Model.Classes)
	}
	if count := fields[7]; count > uint64(len(body)/2) {
		return s, fmt.Errorf("%d cells in %d bytes", count, len(body))
	}
	s = Record{
		Image: int(fields[0]), From: int(fields[1]), To: int(fields[1] + fields[2]), Class: int32(fields[3]),
		Unknown: int(fields[4]),
		Low:     fields[5], High: fields[5] + fields[6], Cells: make([]Cell, fields[7]),
	}
	index := uint64(0)
	for i := range s.Cells {
		var step, n uint64
		if step, body, err = cutUvarint(body); err != nil {
			return s, err
		}
		if n, body, err = cutUvarint(body); err != nil {
			return s, err
		}
		if step > 2*ledger.MaxScoreCells || n > mostScores {
			return s, fmt.Errorf("%d noise samples in a cell %d further on", n, step)
		}
		index += step
		s.Cells[i] = Cell{int(index), int(n)}
	}
	if len(body) > 0 {
		return s, fmt.Errorf("%d bytes behind the last cell", len(body))
	}
	return s, s.check(h, cells)
}

// cutUvarint reads a number in its shortest form from the front.
func cutUvarint(b []byte) (v uint64, rest []byte, err error) {
	v, n := binary.Uvarint(b)
	if n <= 0 || n > 1 && b[n-1] == 0 {
		return 0, nil, fmt.Errorf("%s: want a number of variable length, in its shortest form",
			journal.Quote(b[:min(len(b), binary.MaxVarintLen64)]))
	}
	return v, b[n:], nil
}

// Equal reports whether two records are equal, or both nil.
func (s *Record) Equal(o *Record) bool {
	if s == nil || o == nil {
		return s == o
	}
	return bytes.Equal(appendScores(nil, scoresLook, s), appendScores(nil, scoresLook, o))
}
