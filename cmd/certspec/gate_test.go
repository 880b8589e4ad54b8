package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/internal/testkit/engines"
)

// Exit codes, report and record of a gate, of an exported network against itself.
func TestGate(t *testing.T) {
	engines.NeedONNXRuntime(t)
	t.Setenv("CERTSPEC_DATA", t.TempDir())
	file, report, record := onnxFile(t), filepath.Join(t.TempDir(), "gate.xml"), filepath.Join(t.TempDir(), "record")
	gate := func(flags ...string) (string, int) {
		t.Helper()
		return output(t, append([]string{"gate", file, file, "--data", "synthetic/test[max_index=8]", "--sigma", "0.25",
			"--radius", "0.1",
			"--n", "200", "--junit", report}, flags...)...)
	}
	said := filepath.Join(t.TempDir(), "statement")
	text, code := gate("--out", record, "--drop", "0.5", "--statement", said)
	if b, err := os.ReadFile(said); err != nil || !strings.Contains(string(b), `"result":"PASSED"`) {
		t.Errorf("%v: statement %s", err, b)
	}
	if _, code := gate("--statement", said); code != 2 {
		t.Errorf("a statement without a record: exit code %d", code)
	}
	if code != 0 || !strings.Contains(text, "pass after") {
		t.Errorf("exit code %d: %s", code, text)
	}
	if again, code := gate("--out", record, "--drop", "0.5"); code != 0 || again != text {
		t.Errorf("exit code %d: %s, expected %s", code, again, text)
	}
	text, code = gate("--images", "1", "--drop", "0")
	b, err := os.ReadFile(report)
	if code != 3 || !strings.Contains(text, "undecided after 1 of 8 images") || err != nil || !strings.Contains(string(b), `skipped="1"`) {
		t.Errorf("exit code %d: %s, %v: %s", code, text, err, b)
	}
	if err := xml.Unmarshal(b, new(struct{ XMLName xml.Name })); err != nil {
		t.Errorf("%v: %s", err, b)
	}
	for _, args := range [][]string{{"--drop", "1"}, {"--level", "0.5"}} {
		if text, code := gate(args...); code != 2 {
			t.Errorf("%v: exit code %d, %s", args, code, text)
		}
	}
	if !strings.Contains(text, "certified accuracy on the images seen: old ") {
		t.Errorf("no certified accuracy in %s", text)
	}
	// by groups: a case of the report, a row, and a line of the statement for each
	text, code = gate("--by-class", "--drop", "0", "--out", record+"s", "--statement", said)
	b, err = os.ReadFile(report)
	s, e := os.ReadFile(said)
	if code != 0 || !strings.Contains(text, "by class") || !strings.Contains(text, "images seen") || err != nil || e != nil ||
		strings.Count(string(b), "<testcase") < 2 || !strings.Contains(string(s), "in class 0 ") {
		t.Errorf("by class: exit code %d: %s, %v: %s, %v: %s", code, text, err, b, e, s)
	}
	table := filepath.Join(t.TempDir(), "groups.csv")
	rows := "image,label,site\n0,0,a\n1,0,b\n2,0,a\n3,0,b\n4,0,a\n5,0,b\n6,0,a\n7,0,b\n8,0,c\n"
	testkit.Write(t, []byte(rows), table)
	if text, code = gate("--groups", table, "--column", "site", "--drop", "0.5"); code != 0 || !strings.Contains(text, "by site: 2 groups pass") {
		t.Errorf("by a file: exit code %d: %s", code, text)
	}
	if text, code = gate("--groups", table, "--column", "site", "--out", record); code != 4 && code != 2 || text != "" {
		t.Errorf("a record without groups goes on with them: exit code %d: %s", code, text)
	}
	for _, args := range [][]string{{"--groups", table, "--by-class"}, {"--column", "site"},
		{"--groups", table}} {
		if text, code := gate(args...); code != 2 {
			t.Errorf("%v: exit code %d, %s", args, code, text)
		}
	}
	// groups are read before models are opened
	missing := filepath.Join(t.TempDir(), "none")
	if _, code := output(t, "gate", file, missing+".onnx", "--data", "synthetic/test[max_index=8]", "--sigma", "0.25",
		"--radius", "0.1", "--groups", missing+".csv"); code != 2 {
		t.Errorf("groups that are missing, as is a model: exit code %d", code)
	}
	// a disk that is full is no failed gate, and keeps nobody from the verdict
	if full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0); err == nil {
		full.Close()
		if text, code := gate("--drop", "0.5", "--junit", "/dev/full"); code != 4 || !strings.Contains(text, "pass after") {
			t.Errorf("a full disk: exit code %d, %s", code, text)
		}
	}
	if text, code := gate("--out", filepath.Join("/proc", "certspec-record")); code != 2 || text != "" {
		t.Errorf("a place that takes no file: exit code %d, %s", code, text)
	}
	if _, code := output(t, "gate", file, filepath.Join(t.TempDir(), "none.onnx"), "--data", "synthetic/test[max_index=8]",
		"--sigma", "0.25", "--radius", "0.1"); code != 4 {
		t.Errorf("a model that is not there: exit code %d", code)
	}
	if text, code := output(t, "gate", file, "--data", "synthetic/test", "--sigma", "1", "--radius", "1"); code != 2 {
		t.Errorf("one model: exit code %d, %s", code, text)
	}
}
