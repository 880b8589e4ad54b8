package certlog

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/certspec/certspec/rs"
)

// mostNumber bounds radii and times, so that no sum of them overflows.
const mostNumber = 1e12

func (r *reader) row(fields []string) (rs.Row, error) {
	var row rs.Row
	for _, c := range []struct {
		name  string
		to    *int
		least int
	}{{"idx", &row.Image, 0}, {"label", &row.Label, -1}, {"predict", &row.Class, rs.Abstain}} {
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
	r.log.Digits = max(r.log.Digits, significant(text))
	if err := r.extra(&row, fields); err != nil {
		return row, err
	}
	if i, ok := r.columns["correct"]; ok {
		text, want := strings.TrimSpace(fields[i]), "0"
		if row.Correct() {
			want = "1"
		}
		if text != want {
			return row, fmt.Errorf("correct is %.40q, want %s with label %d and predict %d", text, want, row.Label,
				row.Class)
		}
	}
	if i, ok := r.columns["time"]; ok {
		if text := strings.TrimSpace(fields[i]); text != "" {
			took, err := parseTime(text)
			if err != nil {
				return row, err
			}
			r.log.Seconds += took
		}
	}
	return row, nil
}

// extra reads the columns of counts and bounds, which newer logs have.
func (r *reader) extra(row *rs.Row, fields []string) error {
	for _, c := range []struct {
		name string
		to   *int
	}{{"nA", &row.K}, {"n", &row.N}, {"nused", &row.Passes}, {"misses", &row.Misses}} {
		i, ok := r.columns[c.name]
		if !ok {
			continue
		}
		text := strings.TrimSpace(fields[i])
		if text == "" {
			continue
		}
		v, err := strconv.Atoi(text)
		if err != nil || v < 0 {
			return fmt.Errorf("%s is %.40q, want a whole number of at least 0", c.name, text)
		}
		*c.to = v
	}
	if _, both := r.columns["nA"]; both && row.K > row.N {
		return fmt.Errorf("nA is %d, more than n, which is %d", row.K, row.N)
	}
	if i, ok := r.columns["plow"]; ok && strings.TrimSpace(fields[i]) != "" {
		text := strings.TrimSpace(fields[i])
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v <= 1) {
			return fmt.Errorf("plow is %.40q, want a number from 0 to 1", text)
		}
		row.Lower = v
	}
	return nil
}

// significant counts the significant digits of a number as it is printed; 0 for a zero.
func significant(text string) int {
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	digits := strings.TrimLeft(strings.Replace(strings.TrimLeft(mantissa, "+"), ".", "", 1), "0")
	return len(digits)
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

// halfUnit is half a unit of the last of the significant digits of a radius.
func halfUnit(radius float64, digits int) float64 {
	if radius == 0 || digits == 0 {
		return 0
	}
	return 0.5 * math.Pow(10, math.Floor(math.Log10(radius))-float64(digits-1))
}
