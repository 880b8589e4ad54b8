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

// AppendChecks adds a line, a JSON object, to the checks beside a ledger.
func AppendChecks(ledger string, found purity.Found) error {
	line, err := json.Marshal(found)
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
