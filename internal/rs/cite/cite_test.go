package cite_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/rs/cite"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/noise"
)

func keys(entries []cite.Entry) string {
	var k []string
	for _, e := range entries {
		k = append(k, e.Key)
	}
	return strings.Join(k, " ")
}

func TestPapersOfARule(t *testing.T) {
	for _, c := range []struct{ rule, noise, want string }{
		{"fixed", "grid/1", "cohen2019certified zhai2020macer clopper1934use voracek2023sound"},
		{"staged", "gaussian/1", "cohen2019certified zhai2020macer clopper1934use"},
		{"iss", "gaussian/1", "cohen2019certified zhai2020macer clopper1934use chen2022input"},
		{"betting", "grid/1", "cohen2019certified zhai2020macer waudbysmith2024estimating voracek2024treatment voracek2023sound"},
	} {
		papers := cite.Papers(ledger.Header{Rule: ledger.Rule{Name: ledger.RuleName(c.rule)}, Noise: noise.Law(c.noise)})
		if got := keys(papers); got != c.want {
			t.Errorf("%s with %s: %s, want %s", c.rule, c.noise, got, c.want)
		}
		for _, p := range papers {
			if field(p, "author") == "" || field(p, "title") == "" || !regexp.MustCompile(`^(19|20)\d\d$`).MatchString(field(p, "year")) {
				t.Errorf("%s lacks author, title or year", p)
			}
			balanced(t, p)
		}
	}
}

// balanced checks what BibTeX needs: braces that match, and no bare special characters of TeX.
func balanced(t *testing.T, e cite.Entry) {
	t.Helper()
	text, depth := e.String(), 0
	for i, c := range text {
		if i > 0 && text[i-1] == '\\' {
			continue
		}
		switch c {
		case '{':
			depth++
		case '}':
			depth--
		case '_', '%', '&', '#', '~':
			t.Errorf("%q is bare in %s", c, text)
		}
	}
	if depth != 0 || !strings.HasPrefix(text, "@"+e.Type+"{"+e.Key+",\n") {
		t.Errorf("braces: %s", text)
	}
}

func TestSoftwareIsThatOfCitationFile(t *testing.T) {
	b, err := os.ReadFile("../../../CITATION.cff")
	if err != nil {
		t.Fatal(err)
	}
	e := cite.Software(ledger.Program{Version: "v0.1.0", Commit: "0123abc"})
	for _, want := range []string{
		`title: "` + strings.NewReplacer("{", "", "}", "").Replace(field(e, "title")) + `"`,
		"name: " + strings.Trim(field(e, "author"), "{}"), "repository-code: " + field(e, "url"), "license: " + field(e, "license"),
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("CITATION.cff lacks %q", want)
		}
	}
	if field(e, "version") != "v0.1.0" || field(e, "note") != "commit 0123abc" {
		t.Errorf("%s", e)
	}
}

func TestLedger(t *testing.T) {
	l, err := ledgerio.Read("../../../rs/testdata/v1-staged.ledger")
	if err != nil {
		t.Fatal(err)
	}
	e := cite.Ledger("my_50%.ledger", l.Digest, l.Header)
	balanced(t, e)
	for _, want := range []string{"@misc{ledger-c0b496bc,", "SHA-256 c0b496bc62973d9717e486a591bc700e9afc25d4b4f37cd9b629c31a73826aaf", `file my\_50\%.ledger`, "certspec devel",
		"certspec certify --model step --data greys --sigma 0.25 --alpha 0.001 --rule staged --n 3200 --n0 100 --block 100 --tolerance 0.01 --noise grid --out"} {
		if !strings.Contains(e.String(), want) {
			t.Errorf("%s lacks %q", e, want)
		}
	}
	if e := cite.Ledger("x", "", l.Header); e.Key != "ledger" || !strings.Contains(field(e, "note"), "unfinished") {
		t.Errorf("%s", e)
	}
	h := l.Header
	h.SeedChosen, h.Seed = true, 7
	h.Rule = ledger.Rule{Name: "betting", Looks: []ledger.Level{{Samples: 500, Alpha: .001}}, Targets: []ledger.Target{{Radius: .25}, {Radius: .5}}, Futility: .001}
	h.Shard = &ledger.Shard{By: "images", Index: 2, Count: 10}
	h.Data.Name = "cifar10-jpeg/test[skip=20]" // of a ledger from before names said how JPEG pictures are decoded
	for _, want := range []string{"--data cifar10-jpeg/test[jpeg=go1.26,skip=20] ", "--targets 0.25,0.5 --futility 0.001", "--seed 7", "--shard 2/10 --shard-by images"} {
		if got := cite.Command("x", h); !strings.Contains(got, want) {
			t.Errorf("%s lacks %q", got, want)
		}
	}
}

func TestModel(t *testing.T) {
	e := cite.Model{Name: "fmnist_cnn", Weights: "sha256:5b7827e3b38271e1", Training: "10 epochs with Gaussian noise, σ = 0.25", Command: "certspec train"}.Entry()
	balanced(t, e)
	for _, want := range []string{"@misc{model-5b7827e3,", `Image classifier fmnist\_cnn`, `$\sigma$ = 0.25; certspec train`} {
		if !strings.Contains(e.String(), want) {
			t.Errorf("%s lacks %q", e, want)
		}
	}
}

// field is the value of a field, or empty.
func field(e cite.Entry, name string) string {
	for _, f := range e.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}
