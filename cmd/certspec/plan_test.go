package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	certifycmd "github.com/certspec/certspec/cmd/certspec/certify"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	plancmd "github.com/certspec/certspec/cmd/certspec/plan"
	"github.com/certspec/certspec/rs"
)

// From a ledger whose rule was fixed at n, the fixed rule takes at n as many samples as it took; a seed is
// named that is neither the old run's nor the one of the same command without a seed.
func TestPlanFromALedger(t *testing.T) {
	const from = "../../notebooks/results/quickstart.ledger"
	past, err := rs.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	text, code := output(t, "plan", "--from", from, "--n", "10000", "--rate", "1000", "--radii", "0.25,0.5", "--json")
	var p plancmd.Result
	if err := json.Unmarshal([]byte(text), &p); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s", code, err, text)
	}
	images := len(past.Rows)
	if len(p.Plans) != 4 || p.Images != images || p.Known != images || p.Sigma != past.Header.Sigma || p.NewSeed == past.Header.Seed || p.NewSeed == 0 {
		t.Fatalf("%s", text)
	}
	fixed, staged, betting := p.Plans[0], p.Plans[1], p.Plans[3]
	if fixed.Samples != float64(images*10_100) || fixed.Seconds != fixed.Samples/1000 || fixed.RadiusCap < staged.RadiusCap {
		t.Errorf("fixed: %+v", fixed)
	}
	for _, plan := range p.Plans[1:] {
		if !(plan.Samples > 0 && plan.Samples < fixed.Samples) || !(plan.MeanRadius > 0 && plan.MeanRadius < fixed.MeanRadius) {
			t.Errorf("%+v beside the fixed rule's %+v", plan, fixed)
		}
	}
	if betting.RadiusCap != .5 || betting.MeanRadius > .5 {
		t.Errorf("betting: %+v", betting)
	}
	if text, _ := output(t, "plan", "--from", from, "--n", "10000"); !strings.Contains(text, "not known") || !strings.Contains(text, "must not be certified on its noise") {
		t.Errorf("%s", text)
	}
	for _, args := range [][]string{
		{"--from", from, "--model", "x"}, {"--from", from, "--sigma", "3"}, {"--from", from, "--rate", "-1"}, {"--from", from, "--rate", "inf"}, {"--from", from, "--rate", "nan"},
		{"--from", from, "--skip", "2"}, {"--from", from, "--engine", "go"}, {"--from", from, "--n", "150"},
		{"--from", from, "--radii", "0.5,0.25", "--alpha", "2"}, {"--sigma", "1"}, {"--data", "x", "--sigma", "1", "--rate", "5"},
	} {
		if text, code := output(t, append([]string{"plan"}, args...)...); code != cli.ExitUsage || text != "" {
			t.Errorf("%v: exit code %d, %q", args, code, text)
		}
	}
}

// Every rule goes through the whole pipeline on the command line; shards merge into the bytes of the whole; a rule's settings are
// refused under another.
func TestRulesOnTheCommandLine(t *testing.T) {
	if os.Getenv("CERTSPEC_DATA") == "" {
		t.Skip("needs FashionMNIST: CERTSPEC_DATA names no folder")
	}
	dir := t.TempDir()
	args := func(ledger string, more ...string) []string {
		return append([]string{"certify", "--model", trainedModel, "--data", "fashionmnist/test", "--max-index", "5", "--sigma", "0.25",
			"--n", "400", "--block", "50", "--json", "--out", filepath.Join(dir, ledger)}, more...)
	}
	for _, rule := range [][]string{{"--rule", "fixed"}, {"--rule", "iss", "--n0", "200", "--tolerance", "0.1"}, {"--rule", "betting", "--radii", "0,0.25"}} {
		text, code := output(t, args("whole-"+rule[1], rule...)...)
		var c certifycmd.Result
		if err := json.Unmarshal([]byte(text), &c); err != nil || code != 0 || string(c.Rule) != rule[1] || c.Rows != 5 {
			t.Errorf("%v: exit code %d, %v: %s", rule, code, err, text)
		}
		merge := []string{"merge", "-o", filepath.Join(dir, "merged-"+rule[1])}
		for i, shard := range []string{"0/2", "1/2"} {
			name := rule[1] + string(rune('0'+i))
			if text, code := output(t, args(name, append(rule, "--shard", shard)...)...); code != 0 || !strings.Contains(text, shard+" by images") {
				t.Errorf("%v, shard %s: exit code %d: %s", rule, shard, code, text)
			}
			merge = append(merge, filepath.Join(dir, name))
		}
		if _, code := output(t, merge...); code != 0 {
			t.Errorf("%v: merge: exit code %d", rule, code)
		}
		whole, _ := os.ReadFile(filepath.Join(dir, "whole-"+rule[1]))
		if merged, _ := os.ReadFile(merge[2]); string(merged) != string(whole) {
			t.Errorf("%v: the merged ledger differs", rule)
		}
	}
	for _, wrong := range [][]string{
		{"--rule", "betting"}, {"--rule", "betting", "--radii", "3"}, {"--rule", "fixed", "--tolerance", "0.1"}, {"--relative"}, {"--futility", "0.1"},
		{"--shard", "2/2"}, {"--shard", "auto"}, {"--shard-by", "blocks"}, {"--shard", "0/2", "--shard-by", "rows"}, {"--shard", "0/2", "--shard-by", "blocks"},
	} {
		if text, code := output(t, args("wrong", wrong...)...); code != cli.ExitUsage || text != "" {
			t.Errorf("%v: exit code %d, %q", wrong, code, text)
		}
	}
}
