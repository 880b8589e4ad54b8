package certlog_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/rs/certlog"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/rule"
)

// The figures of the published logs, as printed by whoever recomputed them: four digits of the ACR, three
// or four of the certified accuracy. The ACR .428884 of the second is from the spec, §11.3.
func TestPublishedLogs(t *testing.T) {
	dir := os.Getenv("CERTSPEC_DATA")
	if dir == "" {
		t.Skip("needs the published logs: CERTSPEC_DATA names no folder")
	}
	for _, c := range []struct {
		file     string
		rows     int
		acr      string
		accuracy map[float64]string
	}{
		{"cohen-cifar10-resnet110-noise_0.12-sigma_0.12", 500, "0.2701", map[float64]string{0: "0.814", .25: "0.586"}},
		{"cohen-cifar10-resnet110-noise_0.25-sigma_0.25", 500, "0.428884", map[float64]string{0: "0.748", .25: "0.600", .5: "0.428", .75: "0.266"}},
		{"cohen-cifar10-resnet110-noise_0.50-sigma_0.50", 500, "0.5375", map[float64]string{0: "0.652", .25: "0.546", .5: "0.414"}},
		{"cohen-imagenet-resnet50-noise_0.50-sigma_0.50", 500, "0.7325", map[float64]string{0: "0.572", .25: "0.518", .5: "0.458"}},
		{"salman-cifar10-resnet110-PGD10-m8-eps255-noise_0.25-sigma_0.25", 10_000, "0.5512", map[float64]string{.05: "0.7341", .2: "0.6862", .5: "0.5760"}},
	} {
		log, err := certlog.Open(filepath.Join(dir, "certify-logs", c.file+".tsv"))
		if err != nil {
			t.Error(err)
			continue
		}
		if len(log.Rows) != c.rows || len(log.Warnings) != 0 {
			t.Errorf("%s: %d rows, want %d; warnings %q", c.file, len(log.Rows), c.rows, log.Warnings)
		}
		if got := digits(log.Rows.ACR().Value, c.acr); got != c.acr {
			t.Errorf("%s: ACR %s, want %s", c.file, got, c.acr)
		}
		for radius, want := range c.accuracy {
			if got := digits(log.Rows.CertifiedAccuracy(radius)[0].Value, want); got != want {
				t.Errorf("%s: certified accuracy at %v is %s, want %s", c.file, radius, got, want)
			}
		}
		if log.Seconds <= 0 {
			t.Errorf("%s: no time", c.file)
		}
	}
}

// digits prints v like the text like.
func digits(v float64, like string) string {
	return strconv.FormatFloat(v, 'f', len(like)-strings.Index(like, ".")-1, 64)
}

const header = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n"

func read(t *testing.T, text string) *certlog.Log {
	t.Helper()
	log, err := certlog.Read("log", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func TestRead(t *testing.T) {
	log := read(t, header+"0\t3\t3\t0.378\t1\t15.5\n20\t7\t-1\t0.0\t0\t1:02:03.25\r\n\n60\t4\t5\t1.81\t0\t0:00:01\n"+
		"Empirical accuracy\t0.93\nmean radius 0.43\n80\t1\t1\t0.2")
	want := rs.Rows{{Image: 0, Label: 3, Outcome: rule.Outcome{Class: 3, Radius: .378}}, {Image: 20, Label: 7, Outcome: rule.Outcome{Class: -1}}, {Image: 60, Label: 4, Outcome: rule.Outcome{Class: 5, Radius: 1.81}}}
	if fmt.Sprint(log.Rows) != fmt.Sprint(want) {
		t.Errorf("rows %v, want %v", log.Rows, want)
	}
	if math.Abs(log.Seconds-(15.5+3723.25+1)) > 1e-9 {
		t.Errorf("%v seconds", log.Seconds)
	}
	if log.Skipped != 2 || log.Digits != 3 {
		t.Errorf("%d lines skipped, radii of %d digits", log.Skipped, log.Digits)
	}
	for i, part := range []string{`line 6: skipped, is no row: "Empirical accuracy\t0.93"`, "line 7: skipped", "line 8: the last row is cut", "line 8: no newline", "the first is 40"} {
		if i >= len(log.Warnings) || !strings.Contains(log.Warnings[i], part) {
			t.Fatalf("warnings %q, want one with %q at %d", log.Warnings, part, i)
		}
	}
	// Columns by name, in another order, with others between.
	log = read(t, "nA\tradius\tpredict\tlabel\tidx\tplow\tn\tnused\tnote\n99\t0.5\t2\t2\t7\t0.9\t100\t200\tx\n")
	if r := (rs.Row{Image: 7, Label: 2, Outcome: rule.Outcome{Class: 2, K: 99, N: 100, Lower: .9, Radius: .5, Passes: 200}}); log.Rows[0] != r {
		t.Errorf("row %+v, want %+v", log.Rows[0], r)
	}
}

func TestManySkippedLines(t *testing.T) {
	log := read(t, header+"0\t3\t3\t0.378\t1\t15.5\n"+strings.Repeat("text\n", 100_000))
	if n := len(log.Warnings); n != 11 || !strings.Contains(log.Warnings[10], "100000 lines") {
		t.Errorf("%d warnings, last %q", n, log.Warnings[n-1])
	}
}

func TestBadLogs(t *testing.T) {
	row := "0\t3\t3\t0.378\t1\t15.5\n"
	for _, c := range []struct {
		text string
		line int
		want string
	}{
		{"", 1, "empty"},
		{"\n\n", 1, "empty"},
		{header, 1, "no rows"},
		{"idx\tlabel\tpredict\tcorrect\n0\t1\t1\t1\n", 1, `no column "radius"`},
		{"idx\tlabel\tpredict\tradius\tidx\n", 1, "two columns"},
		{"\x00\x01\x02", 1, "not text"},
		{"\x89PNG\r\n\x1a\n\x00", 1, "not text"},
		{"idx,label,predict,radius\n0,1,1,0.5\n", 1, `no column "idx"`},
		{"idx\tlabel\tpredict\tradius\tnA\tn\n0\t1\t1\t0.5\t101\t100\n", 2, "nA is 101"},
		{"idx\tlabel\tpredict\tradius\tnused\n0\t1\t1\t0.5\t-1\n", 2, "nused is"},
		{"idx\tlabel\tpredict\tradius\tplow\n0\t1\t1\t0.5\tnan\n", 2, "plow is"},
		{header + row + "20\t3\t3\tinf\t1\t1\n", 3, "finite"},
		{header + row + "20\t3\t3\tnan\t1\t1\n", 3, "finite"},
		{header + row + "20\t3\t3\t-0.1\t1\t1\n", 3, "finite"},
		{header + row + "20\t3\t3\t1e999\t1\t1\n", 3, "finite"},
		{header + row + "20\t3\t3\t\t1\t1\n", 3, "finite"},
		{header + row + "20\t3\t-1\t0.3\t0\t1\n", 3, "abstains"},
		{header + row + "20\t3\t-2\t0.3\t0\t1\n", 3, "predict"},
		{header + row + "20\t-2\t1\t0.3\t0\t1\n", 3, "label"},
		{header + row + "-20\t1\t1\t0.3\t1\t1\n", 3, "idx"},
		{header + row + "20\t3\t3\t0.3\t0\t1\n", 3, "correct is"},
		{header + row + "20\t3\t3\t0.3\n", 3, "4 columns, want 6"},
		{header + row + "20\t3\t3\t0.3\t1\tsoon\n", 3, "time"},
		{header + row + "20\t3\t3\t0.3\t1\t0:61:00\n", 3, "time"},
		{header + row + "20\t3\t3\t0.3\t1\tInf\n", 3, "time"},
		{header + row + row, 3, "second time, first in line 2"},
		{header + row + strings.Repeat("x", 70_000), 3, "longer"},
	} {
		_, err := certlog.Read("log", strings.NewReader(c.text))
		var line *certlog.LineError
		if !errors.As(err, &line) || line.Line != c.line || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: error %v, want line %d and %q", c.text, err, c.line, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(header + "0\t3\t3\t0.378\t1\t15.5\n20\t7\t-1\t0.0\t0\t0:00:15.6\nmean radius 0.43\n")
	f.Add("radius\tidx\tpredict\tlabel\n0.5\t1\t2\t2\n")
	f.Add(header + "0\t3\t3\tinf\t1\t15.5\n")
	f.Add(header + "0\t3\t3\t-1\t1\t15.5\n20\t3\t3\tnan\t1\t1")
	f.Add("idx\tlabel\tpredict\tradius\tcorrect\ttime\tnA\tn\tplow\tnused\n7\t2\t2\t0.519201234\t1\t0:00:01\t99\t100\t0.9\t200\n")
	f.Add("\x00\x01\x02\xff")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		log, err := certlog.Read("log", strings.NewReader(text))
		if err != nil {
			return
		}
		if len(log.Rows) == 0 {
			t.Error("neither rows nor an error")
		}
		if err := log.CheckRadii(1000, .001, .25); err != nil {
			t.Error(err)
		}
		for _, r := range log.Rows {
			if !(r.Radius >= 0) || math.IsInf(r.Radius, 0) || r.Class < rs.Abstain || r.Label < -1 || r.Class == rs.Abstain && r.Radius > 0 {
				t.Errorf("row %+v", r)
			}
		}
		if a := log.Rows.ACR().Value; !(a >= 0) || !(log.Seconds >= 0) {
			t.Errorf("ACR %v, %v s", a, log.Seconds)
		}
	})
}
