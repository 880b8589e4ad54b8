package main

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/certspec/certspec/internal/rs/attest"
	asking "github.com/certspec/certspec/internal/rs/query"
	"github.com/certspec/certspec/internal/testkit"
)

// The statements of the program on ledgers of every rule hold, and none that is altered does, nor one on another ledger.
// Of the fields, only assurance and date are guarded by a signature alone.
func TestStatements(t *testing.T) {
	ledgers := []string{"../../rs/testdata/v1-staged.ledger", "../../internal/golden/testdata/rs-fixed.ledger"}
	if !testing.Short() {
		ledgers = append(ledgers, "../../notebooks/results/quickstart.ledger",
			"../../notebooks/results/fmnist-cnn-s025-betting-05.ledger")
	}
	rng := rand.New(rand.NewPCG(7, 7))
	altered := 0
	for at, file := range ledgers {
		data := testkit.Read(t, file)
		a, err := asking.Ask(t.Context(), file, asking.Question{TopK: 1})
		if err != nil {
			t.Fatal(err)
		}
		c, reason := check(bytes.NewReader(data), 1e9)
		if reason != "" {
			t.Fatal(reason)
		}
		for _, kind := range []attest.Kind{attest.TestResult, attest.EvalResult} {
			text, err := attest.Ledger(a, file, attest.Request{Kind: kind, Level: 0.001, Assurance: "reproduced",
				Date:       time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC),
				Thresholds: thresholds("0", "0.25", "0.25", "0.1", "0.1", "0.99")})
			if err != nil {
				t.Fatal(err)
			}
			if reason := stated(string(text), data, c); reason != "" {
				t.Fatalf("%s, %s: %s", file, kind, reason)
			}
			other := testkit.Read(t, ledgers[(at+1)%len(ledgers)])
			if stated(string(text), other, nil) == "" {
				t.Errorf("%s: the statement holds for another ledger", file)
			}
			free := regexp.MustCompile(`"assuranceLevel":"[a-z_]+"|"evaluatedAt":"[^"]+"`)
			for range 230 {
				some, ledger, checked := alterText(rng, string(text)), data, c
				if rng.IntN(4) == 0 {
					some, ledger, checked = string(text), []byte(alterText(rng, string(data))), nil
				}
				if some == string(text) && bytes.Equal(ledger, data) ||
					free.ReplaceAllString(some, "") == free.ReplaceAllString(string(text), "") && some != string(text) {
					continue
				}
				altered++
				if stated(some, ledger, checked) == "" {
					t.Errorf("%s, %s: passed: %s", file, kind, some)
				}
			}
		}
	}
	if t.Logf("%d altered", altered); altered < 1750 && !testing.Short() {
		t.Errorf("%d statements or ledgers were altered, want 1,750", altered)
	}
}

// thresholds are radii and accuracies in turn.
func thresholds(texts ...string) (all []attest.Threshold) {
	for i := 0; i < len(texts); i += 2 {
		r, _ := strconv.ParseFloat(texts[i], 64)
		all = append(all, attest.Threshold{Radius: r, Accuracy: texts[i+1]})
	}
	return all
}

// alterText changes a digit, a word, or a byte, or takes a part away.
func alterText(rng *rand.Rand, text string) string {
	if text == "" {
		return text
	}
	swap := func(pattern string, by func(string) string) string {
		all := regexp.MustCompile(pattern).FindAllStringIndex(text, -1)
		if len(all) == 0 {
			return text
		}
		at := all[rng.IntN(len(all))]
		return text[:at[0]] + by(text[at[0]:at[1]]) + text[at[1]:]
	}
	digit := func(old string) string { return string("0123456789"[(int(old[0]-'0')+1+rng.IntN(9))%10]) }
	switch rng.IntN(5) {
	case 0, 1:
		return swap(`[0-9]`, digit)
	case 2:
		return swap(`true|false|PASSED|FAILED|>=|l2|[a-z]+`, func(old string) string {
			return map[string]string{"true": "false", "false": "true", "PASSED": "FAILED", "FAILED": "PASSED"}[old]
		})
	case 3:
		at := rng.IntN(len(text))
		return text[:at] + string(rune(32+rng.IntN(95))) + text[at+1:]
	default:
		from := rng.IntN(len(text))
		return text[:from] + text[min(len(text), from+1+rng.IntN(40)):]
	}
}

// The command says what follows, and refuses what does not.
func TestStatementCommand(t *testing.T) {
	file := "../../rs/testdata/v1-staged.ledger"
	a, err := asking.Ask(t.Context(), file, asking.Question{TopK: 1})
	if err != nil {
		t.Fatal(err)
	}
	text, err := attest.Ledger(a, file, attest.Request{Kind: attest.TestResult, Level: 0.001,
		Assurance: "self_attested", Thresholds: thresholds("0.25", "0.1")})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "s.json")
	for _, v := range []struct {
		text, of, want string
		code           int
	}{
		{string(text), file, "the statement follows", 0},
		{strings.Replace(string(text), `"sigma":"`, `"sigma":"1`, 1), file, "follows, the statement says", 1},
		{string(text), "../../go.mod", "the ledger:", 1},
		{"{}", file, "a predicate of type", 1},
		{"x", file, "not a statement", 1},
		{string(text), "nothing", "no such file", 1},
	} {
		testkit.Write(t, []byte(v.text), name)
		var out, errs bytes.Buffer
		code := run([]string{"--statement", name, v.of}, &out, &errs)
		if code != v.code || !strings.Contains(out.String()+errs.String(), v.want) {
			t.Errorf("%s: exit code %d: %s%s", v.want, code, out.String(), errs.String())
		}
	}
}
