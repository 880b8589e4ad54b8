package certlog_test

import (
	"bytes"
	"encoding/csv"
	"reflect"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/rs/certlog"
	"github.com/certspec/certspec/internal/rs/ledger/beside"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/rule"
)

var written = rs.Rows{
	{Image: 0, Label: 3, Outcome: rule.Outcome{Class: 3, K: 990, N: 1000, Lower: .976036189, Radius: .494502, Passes: 1100}},
	{Image: 20, Label: 7, Outcome: rule.Outcome{Class: -1, K: 40, N: 100, Lower: .25, Passes: 200, Misses: 5}},
	{Image: 40, Label: 1, Outcome: rule.Outcome{Class: 2, K: 1000, N: 1000, Lower: .993116048, Radius: 1.23456789, Passes: 1100}},
	{Image: 60, Label: -1, Outcome: rule.Outcome{Class: 2, K: 99, N: 100, Lower: .91, Radius: .0000123, Passes: 200}},
}

func TestWriteTSV(t *testing.T) {
	var b bytes.Buffer
	times := []beside.Time{{Image: 0, Seconds: 13.5}, {Image: 20, Seconds: 7384.25}, {Image: 0, Seconds: .23608}}
	if err := certlog.Write(&b, certlog.TSV, written, times); err != nil {
		t.Fatal(err)
	}
	// The first six columns in the notation of published logs; spec §1.4.
	want := "idx\tlabel\tpredict\tradius\tcorrect\ttime\tnA\tn\tplow\tnused\tmisses\n" +
		"0\t3\t3\t0.494502\t1\t0:00:13.736080\t990\t1000\t0.976036189000000\t1100\t0\n" +
		"20\t7\t-1\t0.0\t0\t2:03:04.250000\t40\t100\t0.250000000000000\t200\t5\n" +
		"40\t1\t2\t1.23456789\t0\t\t1000\t1000\t0.993116048000000\t1100\t0\n" +
		"60\t-1\t2\t0.0000123\t0\t\t99\t100\t0.910000000000000\t200\t0\n"
	if b.String() != want {
		t.Errorf("wrote\n%s\nwant\n%s", &b, want)
	}
	log, err := certlog.Read("x", &b)
	if err != nil {
		t.Fatal(err)
	}
	got := log.Rows
	for i := range got {
		got[i].Misses = written[i].Misses // a column that logs of others do not have
	}
	if !reflect.DeepEqual(got, written) || log.Seconds != 13.73608+7384.25 {
		t.Errorf("read %+v and %v s, wrote %+v", got, log.Seconds, written)
	}
}

func TestWriteCSV(t *testing.T) {
	var b bytes.Buffer
	if err := certlog.Write(&b, certlog.CSV, written, []beside.Time{{Image: 20, Seconds: 7384.25}}); err != nil {
		t.Fatal(err)
	}
	table, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(table) != 5 || strings.Join(table[2], " ") != "20 7 -1 0.0 0 7384.25 40 100 0.250000000000000 200 5" || table[1][5] != "" {
		t.Errorf("%q, %v", table, err)
	}
	// Of a published log without counts nothing is made up, and what was written can be read.
	var log bytes.Buffer
	bare := rs.Rows{{Image: 3, Label: 1, Outcome: rule.Outcome{Class: 1, Radius: .25}}}
	if err := certlog.Write(&log, certlog.TSV, bare, nil); err != nil || !strings.HasSuffix(log.String(), "3\t1\t1\t0.25\t1\t\t\t\t\t\t\n") {
		t.Errorf("wrote %q, %v", &log, err)
	}
	if again, err := certlog.Read("x", &log); err != nil || !reflect.DeepEqual(again.Rows, bare) {
		t.Errorf("read %+v, %v", again, err)
	}
	if err := certlog.Write(&b, "xlsx", written, nil); err == nil {
		t.Error("wrote an unknown format")
	}
}
