package papers

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/resample"
)

var update = flag.String("update", "", "page writes docs/papers.md anew, all findings.json, too, which takes minutes")

// The findings that notebooks and the page show are those of the committed results. Values need no bootstrap: with few
// resamples they are the same, and intervals nearly so.
func TestFindingsAreThoseOfTheResults(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "papers.md")
	defer func() {
		want := page()
		if *update != "" {
			if err := atomicfile.Write(file, []byte(want)); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("docs/papers.md is not current (%v): go test ./papers -run Findings -update=page", err)
		}
	}()
	o := resample.Options{Resamples: 100}
	if *update == "all" {
		o = resample.Options{}
	}
	all := map[string]*Findings{}
	t.Run("results", func(t *testing.T) {
		t.Chdir("..")
		for _, name := range sources {
			slow := strings.HasPrefix(name, "D ") || strings.Contains(name, "A ") || strings.Contains(name, "from")
			if slow && (testing.Short() || *update == "page") {
				continue
			}
			f := compute(name, o)
			if len(f.List) == 0 {
				continue
			}
			all[name] = f
			if *update == "" {
				compareFindings(t, name, f, Found(name))
			}
		}
	})
	if *update == "all" {
		text, err := json.MarshalIndent(all, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := atomicfile.Write("findings.json", append(text, '\n')); err != nil {
			t.Fatal(err)
		}
		foundText = text
	}
}

func compareFindings(t *testing.T, name string, got, want *Findings) {
	t.Helper()
	if want == nil || len(got.List) != len(want.List) {
		t.Errorf("%s: findings.json has other claims", name)
		return
	}
	for i, f := range got.List {
		if f.Claim != want.List[i].Claim || len(f.Parts) != len(want.List[i].Parts) {
			t.Errorf("%s: %q, findings.json has %q", name, f.Claim, want.List[i].Claim)
			continue
		}
		for k, p := range f.Parts {
			in := want.List[i].Parts[k]
			if half := in.High - in.Low; math.Abs(p.Value-in.Value) > 1e-9 || math.Abs(p.Low-in.Low) > half+1e-9 ||
				math.Abs(p.High-in.High) > half+1e-9 {
				t.Errorf("%s, %s %s: %v, findings.json has %v", name, f.Claim, p.Name, p, in)
			}
		}
	}
}

// Every table and figure of the four papers has a line, and each says what is ours or why not.
func TestGlanceIsWhole(t *testing.T) {
	for key, want := range map[string][2]int{"A": {9, 15}, "B": {9, 4}, "C": {3, 13}, "D": {10, 19}} {
		text := "\n"
		for _, row := range AtAGlance(key).Rows {
			text += strings.Replace(row[0].(string), "\u00a0", " ", 1) + "\n"
			if row[3] == "–" && !strings.HasPrefix(row[5].(string), "never run: ") && row[1] != "a drawing of the idea" {
				t.Errorf("%s, %s: neither ours nor a reason", key, row[0])
			}
		}
		for kind, n := range map[string]int{"Table": want[0], "Figure": want[1]} {
			for i := range n {
				if name := fmt.Sprintf("%s %d", kind, i+1); !strings.Contains(text, "\n"+name) {
					t.Errorf("%s: no line of %s", key, name)
				}
			}
		}
	}
}

// Numbers have the digits that their intervals support: two of the half width.
func TestDigits(t *testing.T) {
	f := &Findings{Digits: 3}
	for want, p := range map[string]Part{
		"−0.026 (−0.036 to −0.016)": {Value: -0.0262, Low: -0.0361, High: -0.0158},
		"0.12 (−0.31 to 0.55)":      {Value: 0.1234, Low: -0.3111, High: 0.5455},
		"12 (−3 to 27)":             {Value: 12.3, Low: -3.1, High: 27.2},
		"0.000 (−0.001 to 0.001)":   {Value: -0.0001, Low: -0.0006, High: 0.0006},
		"0 (0 to 0)":                {},
	} {
		if got := f.number(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Claims name methods and sets of images as a reader does.
func TestInWords(t *testing.T) {
	for s, want := range map[string]string{
		"GAUC rises with Q, out":                        "GAUC rises with Q on out-images",
		"AUC falls with Q, out-vehicles: oe to good40":  "AUC falls with Q on vehicles: OE to GOOD 40",
		"for this start: the opposite shows: ccu":       "for this start: the opposite shows: CCU",
		"1: accuracy predicts low-frequency shifts":     "claim 1, accuracy predicts low-frequency shifts",
		"Gaussian+JSD above Gaussian on C":              "Gaussian+JSD above Gaussian on C",
		"GAUC of GOOD 100 at least AAUC of OE, uniform": "GAUC of GOOD 100 at least AAUC of OE on uniform noise",
	} {
		if got := inWords(s); got != want {
			t.Errorf("%q becomes %q, want %q", s, got, want)
		}
	}
}
