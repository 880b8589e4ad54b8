package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every verb that reads a ledger makes the same checks of its header: each broken one is refused by all, by name.
func TestReadersRefuseBrokenHeaders(t *testing.T) {
	data, err := os.ReadFile(oldLedger)
	if err != nil {
		t.Fatal(err)
	}
	good := string(data)
	seed := good[strings.Index(good, `"seed":"`):strings.Index(good, `,"seed_chosen"`)]
	broken := map[string]string{ // under a seed that is called chosen where that is not the point
		"a seed that is not derived": strings.Replace(good, seed, `"seed":"1"`, 1),
		"another sigma":              strings.Replace(good, `"sigma":0.25`, `"sigma":0.5`, 1),
		"another data set":           strings.Replace(good, `"digest":"sha256:`, `"digest":"sha256:00`, 1),
	}
	chosen := strings.Replace(good, `"seed_chosen":false`, `"seed_chosen":true`, 1)
	for name, change := range map[string][2]string{
		"looks that spend more than alpha": {`"alpha":0.001,"selection"`, `"alpha":0.0005,"selection"`},
		"a rule that nobody knows":         {`"rule":{"name":"staged"`, `"rule":{"name":"sloppy"`},
		"a later version":                  {`"version":1`, `"version":99`},
		"another format":                   {`"format":"certspec-ledger"`, `"format":"certspec-lodger"`},
		"a key that nobody knows":          {`"noise":`, `"norm":"l1","noise":`},
		"a key twice":                      {`"sigma":0.25`, `"sigma":0.25,"sigma":0.25`},
		"blocks of no noise samples":       {`"block":`, `"block":-`},
		"no classes":                       {`"classes":`, `"classes":-`},
		"a negative sigma":                 {`"sigma":`, `"sigma":-`},
	} {
		if broken[name] = strings.Replace(chosen, change[0], change[1], 1); broken[name] == chosen {
			t.Fatalf("%s: the header has no %s", name, change[0])
		}
	}
	readers := [][]string{
		{"ledger", "verify"}, {"ledger", "info"}, {"ledger", "metrics"}, {"ledger", "query"},
		{"ledger", "compare", oldLedger}, {"ledger", "export"}, {"ledger", "export", "--format", "canonical", "--out", "-"},
		{"ledger", "export", "--format", "verona"}, {"ledger", "attest", "--at-least", "0=0.1"},
		{"report", "--format", "md"}, {"merge", "-o", "-"}, {"merge", oldLedger, "-o", "-"}, {"calib", "metrics", "--ledger"},
		{"calib", "certify", "--ledger"},
	}
	for name, text := range broken {
		file := filepath.Join(t.TempDir(), "x.ledger")
		body := text[:strings.LastIndex(text, "sha256 ")]
		if err := os.WriteFile(file, fmt.Appendf([]byte(body), "sha256 %x\n", sha256.Sum256([]byte(body))), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, reader := range readers {
			if text, code := output(t, append(append([]string{}, reader...), file)...); code == 0 || text != "" {
				t.Errorf("%s: %s says %.80q, exit code %d", name, strings.Join(reader, " "), text, code)
			}
		}
	}
}
