package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/classifier/purity"
	"github.com/certspec/certspec/internal/rs/ledger/beside"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/report"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/ledger"
)

const quickstart = "../../../notebooks/results/quickstart.ledger"

func open(t *testing.T, path string, o report.Options) *report.Report {
	t.Helper()
	r, err := report.New(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// forms are the three forms of a report.
func forms(t *testing.T, r *report.Report) map[string]string {
	t.Helper()
	page, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"html": page, "markdown": r.Markdown(), "latex": r.LaTeX()}
}

// edited is the quickstart's ledger with its lines changed, and the digest that then belongs to it.
func edited(t *testing.T, change func(lines []string) []string) string {
	t.Helper()
	data := testkit.Read(t, quickstart)
	lines := change(strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"))
	if last := len(lines) - 1; strings.HasPrefix(lines[last], "sha256 ") {
		before := strings.Join(lines[:last], "\n") + "\n"
		lines[last] = fmt.Sprintf("sha256 %x", sha256.Sum256([]byte(before)))
	}
	return testkit.Write(t, []byte(strings.Join(lines, "\n")+"\n"), t.TempDir(), "edited.ledger")
}

// The counts stand in the ledger's own last lines. The intervals are SciPy's (1.17.1): binomtest(k, 500).proportion_ci(0.95, "exact"), and
// stats.bootstrap in percentile form with 100,000 resamples of the claimed radii, those of the 55 wrong classes set to 0.
func TestFigures(t *testing.T) {
	r := open(t, quickstart, report.Options{})
	if !r.Complete || r.Decided != 500 || r.Images != 500 || r.Labelled != 500 || r.Correct != 427 || r.Wrong != 55 || r.Abstained != 18 || r.Misses != 0 {
		t.Errorf("%+v", r)
	}
	if math.Abs(r.ACR.Value-.555429443) > 1e-9 || math.Abs(r.ACR.Interval.Low-.52924) > .0015 || math.Abs(r.ACR.Interval.High-.58103) > .0015 {
		t.Errorf("ACR %+v", r.ACR)
	}
	if math.Abs(r.ExpectedFalse-.5) > 1e-12 || r.RadiusCap != .780485146 {
		t.Errorf("%v false claims to be expected, cap %v", r.ExpectedFalse, r.RadiusCap)
	}
	if math.Abs(r.Abstention.Low-.021472856586) > 1e-9 || math.Abs(r.Abstention.High-.0563001762) > 1e-9 {
		t.Errorf("abstention %v", r.Abstention)
	}
	want := []struct {
		radius    float64
		count     int
		low, high float64
	}{{0, 427, .8199607697, .8837810166}, {.25, 391, .7431945650, .8174326994}, {.5, 342, .6412492397, .7245585281}, {.75, 246, .4473387065, .5367564038}}
	if len(r.CertifiedAccuracy) != len(want) {
		t.Fatalf("%+v", r.CertifiedAccuracy)
	}
	for i, w := range want {
		a := r.CertifiedAccuracy[i]
		if a.Radius != w.radius || a.Count != w.count || math.Abs(a.Interval.Low-w.low) > 1e-8 || math.Abs(a.Interval.High-w.high) > 1e-8 {
			t.Errorf("%+v, want %+v", a, w)
		}
	}
	data, err := json.Marshal(r)
	if err != nil || !bytes.Contains(data, []byte(`{"radius":0.25,"value":0.782,"count":391,"images":500,"interval":{"low":0.74319456`)) {
		t.Errorf("%v: %.400s", err, data)
	}
}

func TestWords(t *testing.T) {
	for form, text := range forms(t, open(t, quickstart, report.Options{})) {
		plain := strings.Join(strings.Fields(strings.NewReplacer("<strong>", "", "</strong>", "", "**", "", `\textbf{`, "", `{}`, "", "&#39;", "'").Replace(text)), " ")
		for _, want := range []string{
			"0.8540", "0.8199", "0.8838", "0.7431", "0.8175", "0.5554", // accuracy, interval outwards, ACR
			"is below R", "28 × 28 × 1", "nothing was resized", "grid of 8-bit images", "at most 0.5 false claims", "2 in 2,000",
			"5b7827e3b38271e1", "chosen by who ran it", "8 planned looks", "union bound", "Nothing about the model without noise",
			"certcheck ", "certspec ledger replay ", "--simultaneous", "random sample", "No radius above 0.780485",
			"The seed was chosen.", "uses the noise samples of this one again",
		} {
			if form == "latex" {
				want = strings.NewReplacer("×", `$\times$`, "--", "--").Replace(want)
			}
			if !strings.Contains(plain, want) {
				t.Errorf("%s has no %q", form, want)
			}
		}
	}
}

// The command that replays a ledger is one that works: a model in a file, a program, or something that lived in Python.
func TestReplayCommand(t *testing.T) {
	header := regexp.MustCompile(`"weights":"[^"]*","engine":"[^"]*"`)
	for _, c := range []struct{ weights, engine, want string }{
		{"sha256:ab", "xla", " --model PATH --data "},
		{"sha256:ab", "pipe", " --exec COMMAND --data "},
		{"sha256:ab, chw", "pipe", "certspec.replay(model, "},
		{"mine, hwc, mean [0.5, 0.4, 0.3], std [0.25]", "pipe", "certspec.replay(model, "},
		{"none stated; this run alone: 0123456789abcdef", "pipe", "certspec.replay(model, "},
	} {
		path := edited(t, func(lines []string) []string {
			lines[0] = header.ReplaceAllString(lines[0], fmt.Sprintf(`"weights":%q,"engine":%q`, c.weights, c.engine))
			return lines
		})
		if text := open(t, path, report.Options{}).Markdown(); !strings.Contains(text, c.want) {
			t.Errorf("%+v: not in %s", c, text)
		}
	}
}

// What is assumed says how well the look before this run tested it.
func TestLookInReport(t *testing.T) {
	path := edited(t, func(lines []string) []string { return lines })
	if text := open(t, path, report.Options{}).Markdown(); !strings.Contains(text, "missed with probability 10⁻⁶") {
		t.Error(text)
	}
	if err := beside.AppendFirst(path, purity.Record{Look: purity.Found{Comparisons: 264}}); err != nil {
		t.Fatal(err)
	}
	if text := open(t, path, report.Options{}).Markdown(); !strings.Contains(text, "Before this run it compared 264 answers") || !strings.Contains(text, "missed with probability 0.00095 at most") {
		t.Error(text)
	}
}

// All claims at once: the figures of SciPy at α/8/500 (see the test of rs.OpenAt).
func TestSimultaneous(t *testing.T) {
	r := open(t, quickstart, report.Options{Simultaneous: true})
	if r.Alpha != .001/500 || r.LedgerAlpha != .001 || math.Abs(r.ExpectedFalse-.001) > 1e-15 || r.Abstained != 19 || math.Abs(r.ACR.Value-.530493425) > 1e-7 {
		t.Errorf("%+v", r)
	}
	for i, want := range []int{426, 390, 336, 0} {
		if got := r.CertifiedAccuracy[i].Count; got != want {
			t.Errorf("at %v: %d, want %d", r.CertifiedAccuracy[i].Radius, got, want)
		}
	}
	if text := r.Markdown(); !strings.Contains(text, "All claims at once") || !strings.Contains(text, "probability at least 0.999") || strings.Contains(text, "--simultaneous") {
		t.Errorf("%.900s", text)
	}
}

func TestResizedPixelsAndOtherNoise(t *testing.T) {
	path := edited(t, func(lines []string) []string {
		lines[0] = strings.NewReplacer("fashionmnist/test[count=500]", "folder:pictures[resize=256,filter=bilinear,crop=224]", "grid/1", "gaussian/1", `"seed_chosen":true`, `"seed_chosen":false`).Replace(lines[0])
		var h ledger.Header
		if err := json.Unmarshal([]byte(lines[0]), &h); err != nil {
			t.Fatal(err)
		}
		lines[0] = strings.Replace(lines[0], fmt.Sprintf(`"seed":"%d"`, h.Seed), fmt.Sprintf(`"seed":"%d"`, ledgerio.DerivedSeed(h)), 1)
		return lines
	})
	text := open(t, path, report.Options{}).Markdown()
	for _, want := range []string{"resized to 256 and cropped to 224 before any noise", "bounds no change of the picture before", "rounding errors of the noise", "derived from model, data and settings"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestUnfinished(t *testing.T) {
	path := edited(t, func(lines []string) []string { return lines[:101] })
	for form, text := range forms(t, open(t, path, report.Options{})) {
		if !strings.Contains(text, "Unfinished.") || !strings.Contains(text, "of 500 images so far") || !strings.Contains(text, "refuse it until") {
			t.Errorf("%s does not say that the ledger is unfinished", form)
		}
	}
	empty := edited(t, func(lines []string) []string { return lines[:1] })
	if _, err := report.New(t.Context(), empty, report.Options{}); err == nil || !strings.Contains(err.Error(), "no image is decided") {
		t.Errorf("error %v", err)
	}
}

func TestWithoutLabels(t *testing.T) {
	path := edited(t, func(lines []string) []string {
		var out []string
		claims := false
		for i, line := range lines {
			claims = claims || strings.HasPrefix(line, "claims ")
			switch {
			case strings.HasPrefix(line, "acr ") || strings.HasPrefix(line, "certified "):
			case i > 0 && !claims:
				fields := strings.SplitN(line, " ", 3)
				out = append(out, fields[0]+" -1 "+fields[2])
			default:
				out = append(out, line)
			}
		}
		return out
	})
	r := open(t, path, report.Options{})
	if r.Labelled != 0 || r.ACR != nil || r.Abstained != 18 || r.Decided != 500 {
		t.Errorf("%+v", r)
	}
	for form, text := range forms(t, r) {
		dash := "–"
		if form == "latex" {
			dash = "--"
		}
		if !strings.Contains(text, "Average certified radius: "+dash) || strings.Contains(text, "NaN") || strings.Contains(text, "<svg") || !strings.Contains(text, "no image has a label") {
			t.Errorf("%s:\n%s", form, text)
		}
	}
}

// hostile names try to leave their place in each form.
const hostile = `<script>alert(1)</script>&amp;"'|` + "`" + `_*[x](y)$%#~^{}\end{document}图\\`

func TestHostileNames(t *testing.T) {
	var quoted strings.Builder // in the one form that a header has
	enc := json.NewEncoder(&quoted)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(hostile); err != nil {
		t.Fatal(err)
	}
	path := edited(t, func(lines []string) []string {
		for _, name := range []string{`"fmnist-cnn-s025"`, `"fashionmnist/test[count=500]"`, `"union bound: alpha/8 at each look"`} {
			lines[0] = strings.Replace(lines[0], name, strings.TrimSpace(quoted.String()), 1)
		}
		return lines
	})
	r := open(t, path, report.Options{})
	all := forms(t, r)
	var said strings.Builder
	dec := xml.NewDecoder(strings.NewReader(all["html"]))
	dec.Entity = xml.HTMLEntity
	for {
		token, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		switch v := token.(type) {
		case xml.StartElement:
			if v.Name.Local == "script" {
				t.Error("a name became an element of the page")
			}
		case xml.CharData:
			said.Write(v)
		}
	}
	if n := strings.Count(said.String(), hostile); n != 7 { // two in the title, two in the heading, two in the table, one in the budget
		t.Errorf("the page says the name %d times, want 7", n)
	}
	// Markdown leaves a fenced literal and an indented line alone.
	live := regexp.MustCompile("(?s)`` .*? ``|\n    [^\n]*").ReplaceAllString(all["markdown"], "")
	if strings.Contains(live, "<script") || strings.Contains(live, "[x](y)$") {
		t.Error("a name is live in Markdown")
	}
	if n := strings.Count(all["latex"], `\end{document}`); n != 1 {
		t.Errorf("%d ends of the document", n)
	}
	balanced(t, all["latex"])
}

// balanced checks by the rules of LaTeX what a run of it would: braces, environments, and no special character outside its use.
func balanced(t *testing.T, text string) {
	t.Helper()
	depth, math := 0, false
	var environments []string
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			for _, verb := range []string{"begin", "end"} {
				name, ok := strings.CutPrefix(text[i+1:], verb+"{")
				if !ok {
					continue
				}
				name = name[:strings.Index(name, "}")]
				if verb == "begin" {
					environments = append(environments, name)
				} else if n := len(environments); n == 0 || environments[n-1] != name {
					t.Fatalf("\\end{%s} in %v", name, environments)
				} else {
					environments = environments[:n-1]
				}
			}
			i++ // the character behind it is no special one
		case '{':
			depth++
		case '}':
			if depth--; depth < 0 {
				t.Fatalf("a brace too many before %q", text[max(0, i-60):i])
			}
		case '$':
			math = !math
		case '_', '^':
			if !math {
				t.Fatalf("%c outside mathematics in %q", c, text[max(0, i-60):i+1])
			}
		case '&':
			if n := len(environments); n == 0 || environments[n-1] != "tabular" {
				t.Fatalf("& outside a table in %q", text[max(0, i-60):i+1])
			}
		case '#', '~':
			t.Fatalf("%c in %q", c, text[max(0, i-60):i+1])
		case '%':
			if i > 0 && text[i-1] != '\n' {
				t.Fatalf("a comment in %q", text[max(0, i-60):i+1])
			}
		default:
			if c >= 0x80 && !bytes.Contains([]byte("éáèüöäČ"), []byte{c}) {
				t.Fatalf("a letter that pdflatex may not know in %q", text[max(0, i-60):i+2])
			}
		}
	}
	if depth != 0 || math || len(environments) != 0 {
		t.Fatalf("%d open braces, open mathematics %v, open environments %v", depth, math, environments)
	}
}

func TestLaTeXByTheRules(t *testing.T) {
	for _, o := range []report.Options{{}, {Simultaneous: true}} {
		balanced(t, open(t, quickstart, o).LaTeX())
	}
}

func TestOptions(t *testing.T) {
	r := open(t, quickstart, report.Options{Radii: []float64{.1}, Bootstrap: resample.Options{Confidence: .5}})
	if len(r.CertifiedAccuracy) != 1 || r.CertifiedAccuracy[0].Radius != .1 || r.Bootstrap.Confidence != .5 {
		t.Errorf("%+v", r)
	}
	if a, b := r.CertifiedAccuracy[0].Interval, open(t, quickstart, report.Options{Radii: []float64{.1}}).CertifiedAccuracy[0].Interval; a.High-a.Low >= b.High-b.Low {
		t.Errorf("the interval at 50 %% is %v, that at 95 %% %v", a, b)
	}
	var option *resample.OptionError
	if _, err := report.New(t.Context(), quickstart, report.Options{Bootstrap: resample.Options{Confidence: 2}}); !errors.As(err, &option) {
		t.Errorf("error %v", err)
	}
	if _, err := report.New(t.Context(), "missing.ledger", report.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// Counts have their digits in groups in every form.
func TestCountsAreGrouped(t *testing.T) {
	for form, text := range forms(t, open(t, quickstart, report.Options{})) {
		if !strings.Contains(text, "10,000") || strings.Contains(text, "10000") {
			t.Errorf("%s: digits without groups", form)
		}
	}
}

// The reader's page stands first and is short: numbers with their intervals, the claim, and the commands that check it.
// Nothing of it is said twice.
func TestReadersPageFirst(t *testing.T) {
	r, err := report.New(t.Context(), "../../../notebooks/results/quickstart.ledger", report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := r.Markdown()
	page, rest, found := strings.Cut(text, "## "+report.ForReviewers)
	if words := len(strings.Fields(page)); !found || words > 260 {
		t.Errorf("%d words before what is for the reviewer", words)
	}
	for _, want := range []string{"0.8540", "0.8199", "0.8838", "0.5554", "0.5292", "18 of 500", "certcheck ", "certspec ledger replay ", "α = 0.001"} {
		if !strings.Contains(page, want) {
			t.Errorf("the reader's page has no %q", want)
		}
	}
	for _, once := range []string{"0.8540", "0.5554", "0.8199", "abstained"} {
		if strings.Contains(strings.ToLower(rest), once) {
			t.Errorf("%q is said again for the reviewer", once)
		}
	}
}

// A report for others names no folder of the machine that made the ledger.
func TestReportNamesNoPath(t *testing.T) {
	r, err := report.New(t.Context(), "../../../notebooks/results/quickstart.ledger", report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Data.Name = "folder:/home/mallory/pics[resize=256,filter=bilinear,count=500]"
	for name, text := range map[string]string{"short": r.Markdown(), "called": func() string { r.DataName = "Our pictures"; return r.Markdown() }()} {
		if strings.Contains(text, "/home") || strings.Contains(text, "mallory") || !strings.Contains(text, "resized to 256") {
			t.Errorf("%s: a path, or no preparation: %s", name, text)
		}
		if title := "on pics\n"; name == "short" && !strings.Contains(text, title) || name == "called" && !strings.Contains(text, "on Our pictures\n") {
			t.Errorf("%s: title: %.100s", name, text)
		}
	}
}
