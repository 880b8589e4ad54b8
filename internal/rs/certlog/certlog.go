// Package certlog reads certification logs in the form that the field publishes: tab-separated text
// with one line per image, as the programs of Cohen, Rosenfeld and Kolter (2019) and their followers write it.
package certlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/certspec/certspec/internal/textfile"
	"github.com/certspec/certspec/rs"
)

// Log is a published log.
type Log struct {
	// Image, Label, Class and Radius are set; K, N, Lower, Passes and Misses where there are
	// columns for them
	Rows     rs.Rows
	Digits   int      // significant digits that the radii were printed with: the most of any row
	Seconds  float64  // sum of the times of the rows; 0 where there is no such column
	Skipped  int      // lines that are no rows
	Warnings []string // what was skipped or looks incomplete, with its line
}

// LineError says which line of a log is wrong.
type LineError struct {
	File   string
	Line   int // from 1
	Reason string
}

func (e *LineError) Error() string {
	return fmt.Sprintf("log %s: line %d: %s", e.File, e.Line, e.Reason)
}

// Open reads the log in a file; see Read.
func Open(path string) (*Log, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("certlog: %w", err)
	}
	defer f.Close()
	return Read(path, f)
}

// Read reads a log; name stands in errors and warnings.
//
// The first line names the columns, in any order: idx, label (−1: unknown), predict (−1: abstained)
// and radius are needed; correct, time, nA, n, plow and nused are read where they are there; others
// are not. A time is a number of seconds or h:mm:ss with decimals, or empty. Radii are as printed,
// so that they may be rounded up.
//
// Lines behind the rows that are not rows, as some programs append them, are skipped with a
// warning, and so is a last row that is cut off. Warnings name, too, gaps in the indices and signs
// of a log without its end: no newline behind the last row, or a last index at which no test set of
// usual size ends. A row with a radius that is negative or not finite, or whose columns contradict
// each other, an index that comes twice, and a log without rows are a *LineError.
func Read(name string, in io.Reader) (*Log, error) {
	r := reader{name: name, seen: map[int]int{}}
	const longest = 1 << 16 // the reader's size
	lines := textfile.NewReader(in)
	for {
		text, err := lines.ReadSlice('\n')
		if len(text) > 0 {
			r.line++
		}
		whole := err == nil
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, r.errorf("longer than %d bytes", longest)
		case err != nil && err != io.EOF:
			return nil, fmt.Errorf("certlog: %s: %w", name, err)
		}
		if line := strings.TrimRight(string(text), "\r\n"); strings.TrimSpace(line) != "" {
			if err := r.take(line, whole); err != nil {
				return nil, err
			}
			r.whole = whole
		}
		if !whole {
			break
		}
	}
	switch {
	case r.columns == nil:
		return nil, &LineError{name, 1, "the file is empty; want a header with idx, label, predict and radius"}
	case len(r.log.Rows) == 0:
		return nil, r.errorf("no rows behind the header")
	}
	if r.log.Skipped > mostSkips {
		r.warn("%d lines in all were skipped", r.log.Skipped)
	}
	if !r.whole {
		r.warn("no newline behind the last line: the log may be cut off")
	}
	r.log.suspect()
	return &r.log, nil
}

// mostSkips is the number of skipped lines that are warned of one by one.
const mostSkips = 10

type reader struct {
	name    string
	line    int
	columns map[string]int
	width   int
	seen    map[int]int // line of an index
	whole   bool        // the last line ended with a newline
	log     Log
}

func (r *reader) take(line string, whole bool) error {
	fields := strings.Split(line, "\t")
	if r.columns == nil {
		if !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
			return r.errorf("the file is not text; want columns separated by tabs, and a header with idx, label, " +
				"predict and radius")
		}
		return r.header(fields)
	}
	if !r.isRow(fields) {
		if r.log.Skipped++; r.log.Skipped <= mostSkips {
			r.warn("skipped, is no row: %.60q", line)
		}
		return nil
	}
	if len(fields) < r.width {
		if !whole {
			r.warn("the last row is cut off and not counted: %.60q", line)
			return nil
		}
		return r.errorf("%d columns, want %d: %.60q", len(fields), r.width, line)
	}
	row, err := r.row(fields)
	if err != nil {
		return r.errorf("%v", err)
	}
	if at, twice := r.seen[row.Image]; twice {
		return r.errorf("idx %d comes a second time, first in line %d", row.Image, at)
	}
	r.seen[row.Image] = r.line
	r.log.Rows = append(r.log.Rows, row)
	return nil
}

// isRow reports whether a line has several columns and a whole number as its index.
func (r *reader) isRow(fields []string) bool {
	i := r.columns["idx"]
	if len(fields) < 2 || i >= len(fields) {
		return false
	}
	_, err := strconv.Atoi(strings.TrimSpace(fields[i]))
	return err == nil
}

func (r *reader) header(fields []string) error {
	r.columns = map[string]int{}
	for i, f := range fields {
		f = strings.TrimSpace(f)
		if _, twice := r.columns[f]; twice && f != "" {
			return r.errorf("two columns are called %.40q", f)
		}
		r.columns[f] = i
	}
	r.width = len(fields)
	for _, name := range []string{"idx", "label", "predict", "radius"} {
		if _, ok := r.columns[name]; !ok {
			return r.errorf("no column %q in the header; want idx, label, predict and radius, separated by tabs", name)
		}
	}
	return nil
}

func (r *reader) warn(format string, args ...any) {
	r.log.Warnings = append(r.log.Warnings, fmt.Sprintf("line %d: ", r.line)+fmt.Sprintf(format, args...))
}

func (r *reader) errorf(format string, args ...any) error {
	return &LineError{r.name, r.line, fmt.Sprintf(format, args...)}
}
