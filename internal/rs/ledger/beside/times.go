package beside

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/rs/ledger"
)

// TimesPath is the file beside a ledger that keeps the times.
func TimesPath(path string) string { return path + ".times" }

// Time is the work on one image.
type Time struct {
	Image   int
	Samples int
	Seconds float64
}

// AppendTimes adds one line per image to the times beside a ledger: image, noise samples, seconds
// from its first block to its decision, separated by tabs. Blocks of several images run at once,
// so the seconds may overlap.
func AppendTimes(path string, times []Time) error {
	if len(times) == 0 {
		return nil
	}
	var b []byte
	for _, t := range times {
		b = fmt.Appendf(b, "%d\t%d\t%s\n", t.Image, t.Samples, strconv.FormatFloat(t.Seconds, 'f', 3, 64))
	}
	if err := journal.Append(TimesPath(path), b); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// ReadTimes reads the times beside a ledger. An image comes once for each run that worked on it. A line that a power
// cut tore is dropped. Anything else that is no time is a *FormatError. The error wraps fs.ErrNotExist where no times
// were kept.
func ReadTimes(path string) ([]Time, error) {
	f, err := os.Open(TimesPath(path))
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer f.Close()
	return decodeTimes(TimesPath(path), f)
}

func decodeTimes(file string, r io.Reader) ([]Time, error) {
	in := bufio.NewReaderSize(r, 1<<12)
	var times []Time
	for {
		line, err := in.ReadSlice('\n')
		if err == io.EOF {
			return times, nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		t, ok := parseTime(bytes.TrimSuffix(line, []byte{'\n'}))
		if err != nil || !ok {
			return nil, &ledger.FormatError{File: file, Line: len(times) + 1,
				Reason: fmt.Sprintf("%s: want image, noise samples and seconds, separated by tabs", journal.Quote(line))}
		}
		times = append(times, t)
	}
}

func parseTime(line []byte) (t Time, ok bool) {
	for _, dst := range []*int{&t.Image, &t.Samples} {
		text, rest, found := bytes.Cut(line, []byte{'\t'})
		v, err := strconv.ParseUint(string(text), 10, 62)
		if err != nil || !found || strconv.FormatUint(v, 10) != string(text) {
			return t, false
		}
		*dst, line = int(v), rest
	}
	// A year of years: sums of times stay finite.
	const most = 1e15
	seconds, err := strconv.ParseFloat(string(line), 64)
	t.Seconds = seconds
	return t, err == nil && seconds >= 0 && seconds <= most && !math.IsNaN(seconds)
}
