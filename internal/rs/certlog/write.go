package certlog

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/certspec/certspec/internal/rs/ledger/beside"
	"github.com/certspec/certspec/rs"
)

// Format is a form of a table with one line per image. Both have the columns idx, label, predict, radius, correct and
// time, which the field publishes, and then nA (hits), n (samples of the look behind the bound), plow (lower
// bound), nused (samples in all) and misses.
type Format string

const (
	TSV Format = "tsv" // separated by tabs, time as h:mm:ss.ffffff
	CSV Format = "csv" // separated by commas, time in seconds
)

// columns of a table.
var columns = []string{"idx", "label", "predict", "radius", "correct", "time", "nA", "n", "plow", "nused", "misses"}

// Write writes rows as a table. Numbers keep the digits of the ledger: radii up to 9 significant ones, bounds 15
// decimals. The time of an image is the sum over its times, or empty where it has none.
func Write(w io.Writer, f Format, rows rs.Rows, times []beside.Time) error {
	if f != TSV && f != CSV {
		return fmt.Errorf("certlog: format %q, want %q or %q", f, TSV, CSV)
	}
	seconds := map[int]float64{}
	for _, t := range times {
		seconds[t.Image] += t.Seconds
	}
	buffered := bufio.NewWriter(w)
	out := csv.NewWriter(buffered)
	if f == TSV {
		out.Comma = '\t'
	}
	out.Write(columns)
	for _, r := range rows {
		radius := strconv.FormatFloat(r.Radius, 'f', -1, 64)
		if r.Radius == 0 {
			radius = "0.0" // as programs in Python print it
		}
		correct := "0"
		if r.Correct() {
			correct = "1"
		}
		took := ""
		if s, ok := seconds[r.Image]; ok {
			took = timeText(f, s)
		}
		line := []string{strconv.Itoa(r.Image), strconv.Itoa(r.Label), strconv.Itoa(r.Class), radius, correct, took}
		counts := make([]string, len(columns)-len(line)) // empty for a published log without them
		if r.N > 0 || r.Passes > 0 {
			counts = []string{strconv.Itoa(r.K), strconv.Itoa(r.N), strconv.FormatFloat(r.Lower, 'f', 15, 64),
				strconv.Itoa(r.Passes), strconv.Itoa(r.Misses)}
		}
		out.Write(append(line, counts...))
	}
	out.Flush()
	return errors.Join(out.Error(), buffered.Flush())
}

func timeText(f Format, seconds float64) string {
	micro := int64(math.Round(seconds * 1e6))
	if f == CSV {
		return strconv.FormatFloat(float64(micro)/1e6, 'f', -1, 64)
	}
	s := micro / 1e6
	return fmt.Sprintf("%d:%02d:%02d.%06d", s/3600, s/60%60, s%60, micro%1e6)
}
