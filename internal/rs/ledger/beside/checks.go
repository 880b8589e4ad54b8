// Package beside reads and writes the small files beside a ledger: times, and what a run compared.
// They are no part of the ledger, so that runs compare byte for byte.
package beside

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/certspec/certspec/internal/classifier/purity"
	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/rs/ledger"
)

// checksPath is the file beside a ledger that keeps what a run found when it asked some noise
// samples again, in other arrangements of the batch; see package purity.
func checksPath(path string) string { return path + ".checks" }

// AppendChecks adds a line, a JSON object, to the checks beside a ledger.
func AppendChecks(path string, found purity.Found) error { return appendChecked(path, found) }

// firstAnswers is the line of AppendFirst.
type firstAnswers struct {
	First *purity.Record `json:"first_answers"`
}

// AppendFirst adds the first answers of a run to the checks beside a ledger. What stood there before is of another run.
func AppendFirst(path string, r purity.Record) error {
	return appendChecked(path, firstAnswers{&r})
}

func appendChecked(path string, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if err := journal.Append(checksPath(path), append(line, '\n')); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// ReadChecks sums the checks beside a ledger, from the first answers of its run on; without such a file the sum is
// zero. A line that a power cut tore is dropped; anything else that is no check is a *FormatError.
func ReadChecks(path string) (purity.Found, error) {
	var sum purity.Found
	err := readChecked(path, func(line []byte) error {
		var l struct {
			purity.Found
			firstAnswers
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return err
		}
		if l.firstAnswers.First != nil {
			sum = purity.Found{}
		}
		sum.Add(l.Found)
		return nil
	})
	return sum, err
}

// ReadFirst returns the last record that AppendFirst wrote beside a ledger, nil without one. Errors: those of
// ReadChecks.
func ReadFirst(path string) (last *purity.Record, err error) {
	err = readChecked(path, func(line []byte) error {
		var l firstAnswers
		err := json.Unmarshal(line, &l)
		if l.First != nil {
			last = l.First
		}
		return err
	})
	return last, err
}

// behindTorn is the part appended behind a line that a kill had torn, as programs of before did.
func behindTorn(line []byte) []byte {
	at := 0
	for _, begin := range []string{`{"answers":`, `{"first_answers":`} {
		at = max(at, bytes.LastIndex(line, []byte(begin)))
	}
	return line[at:]
}

func readChecked(path string, take func(line []byte) error) error {
	path = checksPath(path)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	for number := 1; ; number++ {
		line, err := in.ReadSlice('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("ledger: %w", err)
		}
		if err != nil || take(line) != nil && take(behindTorn(line)) != nil {
			return &ledger.FormatError{File: path, Line: number,
				Reason: fmt.Sprintf("%s: want a JSON object of comparisons", journal.Quote(line))}
		}
	}
}
