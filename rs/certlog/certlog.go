// Package certlog reads certification logs in the form that the field publishes: tab-separated text
// with one line per image, as the programs of Cohen, Rosenfeld and Kolter (2019) and their followers write it.
package certlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/certspec/certspec/rs"
)

// Log is a published log.
type Log struct {
	Rows     rs.Rows  // Image, Label, Class and Radius are set
	Seconds  float64  // sum of the times of the rows; 0 where there is no such column
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
// The first line names the columns, in any order: idx, label, predict (−1: abstained) and radius are needed,
// correct and time are read where they are there, others are skipped. A time is a number of
// seconds or h:mm:ss with decimals. Radii are as printed, so that they may be rounded up.
//
// Lines behind the rows that are not rows, as some programs append them, are skipped with a
// warning, and so is a last row that is cut off. A gap in the indices is a warning. A row with
// a radius that is negative or not finite, or whose columns contradict each other, an index that comes
// twice, and a log without rows are a *LineError.
func Read(name string, in io.Reader) (*Log, error) {
	r := reader{name: name, seen: map[int]int{}}
	const longest = 1 << 16
	lines := bufio.NewReaderSize(in, longest)
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
	if r.skipped > mostSkips {
		r.warn("%d lines in all were skipped", r.skipped)
	}
	r.gaps()
	return &r.log, nil
}

// mostNumber bounds radii and times, so that no sum of them overflows.
const mostNumber = 1e12

// mostSkips is the number of skipped lines that are warned of one by one.
const mostSkips = 10

type reader struct {
	name    string
	line    int
	columns map[string]int
	width   int
	seen    map[int]int // line of an index
	skipped int
	log     Log
}

func (r *reader) take(line string, whole bool) error {
	fields := strings.Split(line, "\t")
	if r.columns == nil {
		return r.header(fields)
	}
	if !r.isRow(fields) {
		if r.skipped++; r.skipped <= mostSkips {
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

func (r *reader) row(fields []string) (rs.Row, error) {
	var row rs.Row
	for _, c := range []struct {
		name  string
		to    *int
		least int
	}{{"idx", &row.Image, 0}, {"label", &row.Label, 0}, {"predict", &row.Class, rs.Abstain}} {
		text := strings.TrimSpace(fields[r.columns[c.name]])
		v, err := strconv.Atoi(text)
		if err != nil || v < c.least {
			return row, fmt.Errorf("%s is %.40q, want a whole number of at least %d", c.name, text, c.least)
		}
		*c.to = v
	}
	text := strings.TrimSpace(fields[r.columns["radius"]])
	radius, err := strconv.ParseFloat(text, 64)
	if err != nil || !(radius >= 0 && radius <= mostNumber) {
		return row, fmt.Errorf("radius is %.40q, want a finite number of at least 0", text)
	}
	if radius > 0 && !row.Certified() {
		return row, fmt.Errorf("radius is %.40q, but the row abstains", text)
	}
	row.Radius = radius
	if i, ok := r.columns["correct"]; ok {
		text, want := strings.TrimSpace(fields[i]), "0"
		if row.Correct() {
			want = "1"
		}
		if text != want {
			return row, fmt.Errorf("correct is %.40q, want %s with label %d and predict %d", text, want, row.Label, row.Class)
		}
	}
	if i, ok := r.columns["time"]; ok {
		took, err := parseTime(strings.TrimSpace(fields[i]))
		if err != nil {
			return row, err
		}
		r.log.Seconds += took
	}
	return row, nil
}

// parseTime reads seconds, "13.7", or hours, minutes and seconds, "0:00:13.736080".
func parseTime(text string) (seconds float64, err error) {
	parts := strings.Split(text, ":")
	if len(parts) != 1 && len(parts) != 3 {
		return 0, badTime(text)
	}
	for i, p := range parts {
		v, err := strconv.ParseFloat(p, 64)
		last := i == len(parts)-1
		if err != nil || !(v >= 0 && v <= mostNumber) || !last && v != math.Trunc(v) || i > 0 && v >= 60 {
			return 0, badTime(text)
		}
		seconds = 60*seconds + v
	}
	return seconds, nil
}

func badTime(text string) error {
	return fmt.Errorf("time is %.40q, want seconds or h:mm:ss", text)
}

// gaps warns where the step between indices is larger than the least step.
func (r *reader) gaps() {
	rows := r.log.Rows
	step := 0
	for i := 1; i < len(rows); i++ {
		if d := rows[i].Image - rows[i-1].Image; d > 0 && (step == 0 || d < step) {
			step = d
		}
	}
	missing, first := 0, 0
	for i := 1; i < len(rows); i++ {
		if d := rows[i].Image - rows[i-1].Image; d > step {
			if missing == 0 {
				first = rows[i-1].Image + step
			}
			missing += (d - 1) / step
		}
	}
	if missing > 0 {
		r.log.Warnings = append(r.log.Warnings, fmt.Sprintf("indices go in steps of %d, but %d are missing, the first is %d", step, missing, first))
	}
}

func (r *reader) warn(format string, args ...any) {
	r.log.Warnings = append(r.log.Warnings, fmt.Sprintf("line %d: ", r.line)+fmt.Sprintf(format, args...))
}

func (r *reader) errorf(format string, args ...any) error {
	return &LineError{r.name, r.line, fmt.Sprintf(format, args...)}
}
