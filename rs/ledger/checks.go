package ledger

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/certspec/certspec/classifier/purity"
	"github.com/certspec/certspec/internal/linefile"
)

// checksPath is the file beside a ledger that keeps what a run found when it asked some noise samples again, in other arrangements of
// the batch; see package purity.
func checksPath(ledger string) string { return ledger + ".checks" }

// Calls is how many calls of the model at once a run found to be fastest, on a number of processors. It stands beside the ledger, since counts do not depend on it.
type Calls struct {
	AtOnce     int         `json:"calls_at_once"`
	Processors int         `json:"processors"`
	Tried      []int       `json:"tried"`
	Rates      [][]float64 `json:"calls_per_second"` // of each number that was tried, in each round
}

// AppendChecks adds a line, a JSON object, to the checks beside a ledger.
func AppendChecks(ledger string, found purity.Found) error { return appendChecked(ledger, found) }

// AppendCalls adds a line to the checks beside a ledger, which ReadChecks passes over.
func AppendCalls(ledger string, c Calls) error { return appendChecked(ledger, c) }

func appendChecked(ledger string, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	f, err := os.OpenFile(checksPath(ledger), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		f.Close()
		return fmt.Errorf("ledger: %w", err)
	}
	return f.Close()
}

// ReadChecks sums the checks beside a ledger; without such a file the sum is zero. A line that a power cut tore is dropped; anything else
// that is no check is a *FormatError.
func ReadChecks(ledger string) (purity.Found, error) {
	var sum purity.Found
	err := readChecked(ledger, func(line []byte) error {
		var found purity.Found
		err := json.Unmarshal(line, &found)
		sum.Add(found)
		return err
	})
	return sum, err
}

// ReadCalls is the last that AppendCalls wrote beside a ledger, zero where it wrote none. Errors: those of ReadChecks.
func ReadCalls(ledger string) (last Calls, err error) {
	err = readChecked(ledger, func(line []byte) error {
		var c Calls
		err := json.Unmarshal(line, &c)
		if c.AtOnce > 0 {
			last = c
		}
		return err
	})
	return last, err
}

func readChecked(ledger string, take func(line []byte) error) error {
	path := checksPath(ledger)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<14)
	for number := 1; ; number++ {
		line, err := in.ReadSlice('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("ledger: %w", err)
		}
		if err != nil || take(line) != nil {
			return &FormatError{path, number, fmt.Sprintf("%s: want a JSON object of comparisons", linefile.Quote(line))}
		}
	}
}
