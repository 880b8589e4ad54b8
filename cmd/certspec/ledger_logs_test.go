package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/testkit"
)

// logs writes two published logs of 20 images, and gives their paths. In the first every radius is 0.25; in the second the
// even images have 0.5, and the last row is missing.
func logs(t *testing.T) (a, b string) {
	t.Helper()
	first, second := publishedLog[:strings.Index(publishedLog, "\n")+1], ""
	second = first
	for i := range 20 {
		first += fmt.Sprintf("%d\t1\t1\t0.25\t1\t1\n", i)
		if i < 19 {
			second += fmt.Sprintf("%d\t1\t1\t%g\t1\t0:00:01\n", i, []float64{.5, .25}[i%2])
		}
	}
	dir := t.TempDir()
	a, b = filepath.Join(dir, "a.tsv"), filepath.Join(dir, "b_1.tsv")
	for path, text := range map[string]string{a: first, b: second} {
		testkit.Write(t, []byte(text), path)
	}
	return a, b
}

// Of a folder of published logs --cap cuts each radius: by hand, radii .5 and .25 of ten images each, cut at .3.
func TestLogFolderIsCut(t *testing.T) {
	a, _ := logs(t)
	text := testkit.Read(t, a)
	farther := strings.Replace(string(text), "\t0.25\t", "\t0.5\t", 10)
	folder := t.TempDir()
	for name, text := range map[string]string{
		"clean/near.tsv": string(text), "corrupted/near/severity_1/fog.tsv": string(text),
		"clean/far.tsv": farther, "corrupted/far/severity_1/fog.tsv": farther,
	} {
		file := filepath.Join(folder, name)
		testkit.Write(t, []byte(text), file)
	}
	for limit, want := range map[string]string{"0": "+0.125", "0.3": "+0.025", "0.2": "+0.000"} {
		got, code := output(t, "ledger", "metrics", folder, "--against", "near", "--cap", limit)
		if code != 0 || !strings.Contains(got, want+" (") || strings.Contains(got, "cut at") != (limit != "0") {
			t.Errorf("--cap %s: exit code %d, want %s: %s", limit, code, want, got)
		}
	}
	if _, code := output(t, "ledger", "metrics", folder, "--cap", "-1"); code != cli.ExitUsage {
		t.Errorf("--cap -1: exit code %d", code)
	}
}

func TestLogCompare(t *testing.T) {
	a, b := logs(t)
	text, code := output(t, "ledger", "compare", a, b, "--radii", "0.25,0.3", "--json")
	var got struct {
		A, B   string
		Images int   `json:"images"`
		OnlyA  []int `json:"only_a"`
		OnlyB  []int `json:"only_b"`
		ACR    struct {
			A, B, Difference float64
			Interval         struct{ Low, High float64 }
		} `json:"acr"`
		CertifiedAccuracy []struct{ Radius, A, B, Difference float64 } `json:"certified_accuracy"`
		Bootstrap         struct {
			Resamples  int
			Confidence float64
			Seed       int
		} `json:"bootstrap"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s", code, err, text)
	}
	// By hand: ten of the nineteen common images gain 0.25.
	if d := got.ACR.Difference - 2.5/19; got.A != a || got.Images != 19 || fmt.Sprint(got.OnlyA) != "[19]" || len(got.OnlyB) != 0 || d > 1e-12 || d < -1e-12 {
		t.Errorf("%+v", got)
	}
	if i := got.ACR.Interval; !(i.Low < got.ACR.Difference && got.ACR.Difference < i.High && i.Low >= 0 && i.High <= .25) {
		t.Errorf("interval %+v", i)
	}
	if c := got.CertifiedAccuracy; len(c) != 2 || c[0].Difference != 0 || c[1].A != 0 || c[1].B != 10./19 || got.Bootstrap.Resamples != 10_000 || got.Bootstrap.Confidence != .95 {
		t.Errorf("%+v", got)
	}
	text, code = output(t, "ledger", "compare", a, b)
	for _, want := range []string{"| ACR | 0.2500 | 0.3816 | 0.1316 |", "Only in A, not compared: 1 images: 19.", "by Student's t, as of fewer than 100 images"} {
		if !strings.Contains(text, want) || code != 0 {
			t.Errorf("exit code %d, no %q in %s", code, want, text)
		}
	}
	for _, args := range [][]string{{a}, {a, b, a}, {a, b, "--confidence", "1"}, {a, b, "--confidence", "0"}, {a, b, "--resamples", "0"}, {a, b, "--radii", "nan"}, {a, b, "--format", "pdf"}} {
		if _, code := output(t, append([]string{"ledger", "compare"}, args...)...); code != cli.ExitUsage {
			t.Errorf("%q: exit code %d", args[1:], code)
		}
	}
}

func TestLogTable(t *testing.T) {
	a, b := logs(t)
	text, code := output(t, "ledger", "metrics", a, b, "--radii", "0.25,0.5", "--format", "latex")
	for _, want := range []string{`\begin{tabular}{lrrrrr}`, `a & 20 & 0 & 1.0000 & 0.0000 & 0.2500 \\`, `b\_1 & 19 & 0 & 1.0000 & 0.5263 & 0.3816 \\`} {
		if !strings.Contains(text, want) || code != 0 {
			t.Errorf("exit code %d, no %q in\n%s", code, want, text)
		}
	}
	path := filepath.Join(t.TempDir(), "out.csv")
	_, code = output(t, "ledger", "metrics", a, "--names", "ours, <b>", "--radii", "0.25", "-o", path)
	if code != cli.ExitUsage {
		t.Errorf("two names for one file: exit code %d", code)
	}
	_, code = output(t, "ledger", "metrics", a, "--names", "<b>", "--radii", "0.25", "-o", path)
	if got, err := os.ReadFile(path); err != nil || string(got) != "method,images,abstained,r = 0.25,ACR\n<b>,20,0,1,0.25\n" || code != 0 {
		t.Errorf("exit code %d: %q, %v", code, got, err)
	}
	text, _ = output(t, "ledger", "metrics", a, "--names", "<b>", "--format", "html")
	if !strings.Contains(text, "&lt;b&gt;") || strings.Contains(text, "<b>") {
		t.Errorf("unescaped: %s", text)
	}
	if text, _ = output(t, "ledger", "metrics", "../../notebooks/results/quickstart.ledger"); !strings.Contains(text, "| quickstart | 500 | 18 | 0.8540 | 0.7820 | 0.6840 | 0.4920 | 0.5554 |") {
		t.Errorf("of a ledger: %s", text)
	}
}

func TestLogBadInput(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"empty": "", "binary": "\x00\x01\xff\n\x00", "ledger": "{\x00\xff", "inf": publishedLog + "100\t1\t1\tinf\t1\t1\n",
		"nan": publishedLog + "100\t1\t1\tnan\t1\t1\n", "negative": publishedLog + "100\t1\t1\t-0.1\t1\t1\n",
	} {
		path := testkit.Write(t, []byte(text), dir, name)
		if text, code := output(t, "ledger", "metrics", path); code != cli.ExitFailed || text != "" {
			t.Errorf("%s: exit code %d, %q", name, code, text)
		}
	}
	a, b := logs(t)
	for _, args := range [][]string{
		{"--radii", "inf"}, {"--radii", "nan"}, {"--radii", "-1"}, {"--n", "100"}, {"--n", "0", "--alpha", "0.001", "--sigma", "1"},
		{"--n", "10", "--alpha", "nan", "--sigma", "1"}, {"--n", "10", "--alpha", "0.001", "--sigma", "-1"},
	} {
		if _, code := output(t, append([]string{"ledger", "metrics", a}, args...)...); code != cli.ExitUsage {
			t.Errorf("%q: exit code %d", args, code)
		}
	}
	// 0.25·Φ⁻¹(0.001^(1/100)) is .375119 (spec, §11.1).
	text, code := output(t, "ledger", "metrics", b, "--json", "--n", "100", "--alpha", "0.001", "--sigma", "0.25")
	if !strings.Contains(text, "10 of 19 radii are above 0.375119") || code != 0 {
		t.Errorf("exit code %d: %s", code, text)
	}
}
