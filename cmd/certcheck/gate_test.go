package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/rs/attest"
	gating "github.com/certspec/certspec/internal/rs/gate"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/internal/testkit"
)

// The verdict of a gate follows from its record; an altered record is refused, or says another verdict only where its
// numbers allow it.
func TestGate(t *testing.T) {
	im, err := greys{}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	old := classifier.Step{Shape: one1, Thresholds: []float64{.2, .4, .6, .8}}
	rng := rand.New(rand.NewPCG(1, 1))
	for i, v := range []struct {
		thresholds []float64
		drop       float64
		want       gating.Verdict
	}{
		{old.Thresholds, .3, gating.Pass}, {[]float64{.3, .45, .7, .9}, 0, gating.Fail}, {[]float64{.3, .45, .7, .9}, .2, ""},
	} {
		o := gating.Options{Record: filepath.Join(t.TempDir(), "record")}
		o.Sigma, o.Radius, o.Drop, o.Level = .05, .01, v.drop, .1
		o.Alpha, o.MaxSamples, o.Selection, o.Block = stopping.DefaultAlpha, 400, 20, 20
		if i == 2 {
			o.Radius = 0
		}
		out, err := gating.Run(t.Context(), old, classifier.Step{Shape: one1, Thresholds: v.thresholds}, im.Indexed(), o)
		if err != nil || v.want != "" && out.Verdict != v.want {
			t.Fatalf("%s, %v", out.Verdict, err)
		}
		var says bytes.Buffer
		want := fmt.Sprintf("%s after %d of %d images, net loss %d; a loss of %d of all is allowed",
			out.Verdict, out.Test.Seen, out.Images, out.Test.Sum, out.Test.Allowed)
		if code := run([]string{"--gate", o.Record}, &says, &says); code != 0 || !strings.Contains(says.String(), want) {
			t.Errorf("code %d, %s, expected %q", code, &says, want)
		}
		text := testkit.Read(t, o.Record)
		said, err := attest.Gate(out, o.Record)
		if reason := stated(string(said), text, nil); (reason != "") != (out.Verdict == gating.Undecided) ||
			err != nil && out.Verdict != gating.Undecided {
			t.Errorf("%s: statement %s: %s, %v", out.Verdict, said, reason, err)
		}
		for range 100 {
			if some := alterText(rng, string(said)); some != string(said) && stated(some, text, nil) == "" {
				t.Errorf("passed: %s", some)
			}
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		for range 200 {
			at := rng.IntN(len(lines))
			f := strings.Fields(lines[at])
			k := rng.IntN(len(f))
			switch {
			case at == 0:
				place := rng.IntN(len(f[0]))
				f = []string{lines[0][:place] + string(lines[0][place]+1) + lines[0][place+1:]}
			case k == 0 || k == 4 || k == 7: // place, or noise samples, which are whole blocks
				f[k] += "1"
			case k == 1:
				f[k] = "4242"
			case f[k] == "-1": // hits are free as long as they decide the same
				continue
			case k == 2 || k == 5:
				f[k] = "-1"
			default:
				f[k] = "1"
				if class := f[k-1]; class == "-1" {
					continue
				}
			}
			altered := append(append([]string{}, lines[:at]...), strings.Join(f, " "))
			altered = append(altered, lines[at+1:]...)
			if at == 0 && sameContent(altered[0], lines[0]) {
				continue // names and engines are bound by a statement on the record alone
			}
			if _, reason, _ := verdict(strings.Join(altered, "\n") + "\n"); reason == "" {
				t.Errorf("passed: %s", difference(altered, lines))
			}
		}
	}
	if code := run([]string{"--gate", "none"}, &bytes.Buffer{}, &bytes.Buffer{}); code != 1 {
		t.Errorf("no file: code %d", code)
	}
}

// sameContent tells whether first lines differ in names and engines alone.
func sameContent(a, b string) bool {
	var x, y gateHeader
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	again, err := json.Marshal(x)
	return err == nil && string(again) == a && x.seed() == y.seed() && x.Seed == y.Seed && x.Version == y.Version
}

// A record that cannot be true is refused by the program that would go on with it, and by the checker; so is a file
// that is no record, or was cut. Nothing panics.
func TestBrokenRecords(t *testing.T) {
	im, err := greys{}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	old := classifier.Step{Shape: one1, Thresholds: []float64{.2, .4, .6, .8}}
	o := gating.Options{Record: filepath.Join(t.TempDir(), "record")}
	o.Sigma, o.Radius, o.Drop, o.Level = .05, .01, .3, .1
	o.Alpha, o.MaxSamples, o.Selection, o.Block = stopping.DefaultAlpha, 400, 20, 20
	if _, err := gating.Run(t.Context(), old, old, im.Indexed(), o); err != nil {
		t.Fatal(err)
	}
	data := testkit.Read(t, o.Record)
	good := string(data)
	first, second, _ := strings.Cut(good, "\n")
	line, rest, _ := strings.Cut(second, "\n")
	f := strings.Fields(line)
	with := func(values ...string) string { // pairs of a place in the first outcome and what stands there
		g := append([]string{}, f...)
		for i := 0; i < len(values); i += 2 {
			g[int(values[i][0]-'0')] = values[i+1]
		}
		return first + "\n" + strings.Join(g, " ") + "\n" + rest
	}
	for name, c := range map[string]struct {
		text           string
		checker, again string // what both say
	}{
		"one hit certifies":       {with("2", f[1], "3", "1", "4", "20"), "1 hits of 20", "do not say so"},
		"all hit, none certified": {with("5", "-1", "6", "400", "7", "400"), "400 hits of 400", "do not say so"},
		"a label of no class":     {with("1", "4242"), "the label 4242 of 5 classes", "the data have"},
		"a label below 0":         {with("1", "-1"), "the label -1", "the data have"},
		"a class of none":         {with("2", "5"), "class 5 of 5", "class 5 of 5"},
		"hits below 0":            {with("3", "-1"), "-1 hits", "-1 hits"},
		"samples below 0":         {with("4", "-20"), "8 numbers", "-20 noise samples"},
		"more hits than samples":  {with("3", "401", "4", "400"), "401 hits", "401 hits"},
		"more samples than n":     {with("3", "420", "4", "420"), "420 noise samples", "420 noise samples"},
		"half a block":            {with("4", "390"), "390 noise samples", "whole blocks"},
		"another image":           {with("0", "99"), "order of the seed", "order of the seed"},
		"seven numbers":           {first + "\n1 2 3 4 5 6 7\n", "8 numbers", "expected place"},
		"words":                   {first + "\nno line\n", "8 numbers", "expected place"},
		"an image twice":          {good + line + "\n", "order of the seed", ""},
		"another drop":            {strings.Replace(good, `"drop":0.3`, `"drop":0.2`, 1), "the seed does not", "was altered"},
		"another seed":            {strings.Replace(good, `"seed":"`, `"seed":"1`, 1), "the seed does not", "was altered"},
		"a key more":              {strings.Replace(good, `"drop"`, `"x":1,"drop"`, 1), "every known key", "was altered"},
		"a key twice":             {strings.Replace(good, `"drop"`, `"drop":0.3,"drop"`, 1), "every known key", "was altered"},
		"a later version":         {strings.Replace(good, `"version":2`, `"version":4`, 1), "version 1 to 3", "version 4"},
		"no groups":               {strings.Replace(good, `"version":2`, `"version":3`, 1), "with groups", "version 3"},
		"version 0":               {strings.Replace(good, `"version":2`, `"version":0`, 1), "version 1 to 3", "version 0"},
		"no JSON":                 {"certspec\n", "not the record of a gate", "no record of a gate"},
		"a ledger":                {`{"format":"certspec-ledger","version":1}` + "\n", "certcheck FILE checks it", "no record of a gate"},
		"nothing":                 {"", "the file is empty", ""},
		"one line, cut":           {first, "cut within its last line", ""},
		"the last line cut":       {strings.TrimSuffix(good, "\n"), "cut within its last line", ""},
	} {
		if _, reason, _ := verdict(c.text); !strings.Contains(reason, c.checker) {
			t.Errorf("%s: the checker says %q; expected %q", name, reason, c.checker)
		}
		if c.again == "" {
			continue // which a run goes on from
		}
		testkit.Write(t, []byte(c.text), o.Record)
		if _, err := gating.Run(t.Context(), old, old, im.Indexed(), o); err == nil || !strings.Contains(err.Error(), c.again) {
			t.Errorf("%s: the program says %v; expected %q", name, err, c.again)
		}
		if now, err := os.ReadFile(o.Record); err != nil || string(now) != c.text {
			t.Errorf("%s: the refused record was changed", name)
		}
	}
}

// The verdicts on groups follow from the record, as the statement on them does; an altered group, line or verdict is
// refused.
func TestGateOfGroups(t *testing.T) {
	im, err := greys{}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x, old := im.Indexed(), classifier.Step{Shape: one1, Thresholds: []float64{.2, .4, .6, .8}}
	sites := &gating.Grouping{By: "site"}
	for i := range x.IDs {
		sites.Of = append(sites.Of, []string{"north", "south <&>"}[i%2])
	}
	rng, kinds := rand.New(rand.NewPCG(1, 1)), map[string]bool{}
	for i, c := range []struct {
		by         *gating.Grouping
		thresholds []float64
		drop       float64
	}{
		{gating.ByClass(x), old.Thresholds, .3}, {gating.ByClass(x), []float64{.2, .4, .6, .9}, .3},
		{sites, old.Thresholds, .1}, {sites, []float64{.3, .45, .7, .9}, .1}, {sites, []float64{.3, .45, .7, .9}, .3},
	} {
		o := gating.Options{Record: filepath.Join(t.TempDir(), "record"), Grouping: c.by}
		o.Sigma, o.Radius, o.Drop, o.Level = .05, .01, c.drop, .1
		o.Alpha, o.MaxSamples, o.Selection, o.Block = stopping.DefaultAlpha, 400, 20, 20
		out, err := gating.Run(t.Context(), old, classifier.Step{Shape: one1, Thresholds: c.thresholds}, x, o)
		if err != nil {
			t.Fatal(err)
		}
		data := testkit.Read(t, o.Record)
		text := string(data)
		found, reason, _ := verdict(text)
		if reason != "" || found.word != string(out.Verdict) || len(found.groups) != len(out.Tested) {
			t.Fatalf("record %d: %s, %+v; expected %s", i, reason, found, out.Verdict)
		}
		for g, one := range found.groups {
			want := out.Tested[g]
			kinds[c.by.By+" "+one.word] = true
			if one.word != string(want.Verdict) || one.name != want.Name || one.sum != want.Sum || one.seen != want.Seen ||
				one.allowed != want.Allowed || one.images != want.Images {
				t.Errorf("record %d: %+v; expected %+v", i, one, want)
			}
		}
		said, err := attest.Gate(out, o.Record)
		if reason := stated(string(said), data, nil); reason != "" || err != nil {
			t.Errorf("record %d: statement %s: %s, %v", i, said, reason, err)
		}
		for _, g := range out.Tested {
			named := strings.Contains(string(said), "in "+c.by.By+" "+g.Name+" fell")
			if named != (g.Verdict != gating.Undecided) {
				t.Errorf("record %d: %s, %s in the statement %s", i, g.Name, g.Verdict, said)
			}
		}
		for range 20 {
			if some := alterText(rng, string(said)); some != string(said) && stated(some, data, nil) == "" {
				t.Errorf("passed: %s", some)
			}
		}
		first, rest, _ := strings.Cut(text, "\n")
		groups := strings.Index(first, `"groups":`)
		for at := groups; at < len(first); at += 1 + rng.IntN(8) {
			if _, reason, _ := verdict(first[:at] + string(first[at]+1) + first[at+1:] + "\n" + rest); reason == "" {
				t.Errorf("record %d: passed with byte %d of the first line altered: %s", i, at, first[groups:])
			}
		}
		lines := strings.SplitAfter(strings.TrimSuffix(rest, "\n"), "\n")
		for at := range len(lines) - 1 {
			some := first + "\n" + strings.Join(lines[:at], "") + strings.Join(lines[at+1:], "") + "\n"
			if _, reason, _ := verdict(some); reason == "" {
				t.Errorf("record %d: passed without line %d", i, at+2)
			}
		}
		if _, reason, _ := verdict(text + lines[0]); reason == "" {
			t.Errorf("record %d: passed with a line after the verdict", i)
		}
		// whoever writes the digest anew must draw another seed, or name the class of the labels
		var h gateHeader
		if err := json.Unmarshal([]byte(first), &h); err != nil {
			t.Fatal(err)
		}
		forged := func(want string) {
			t.Helper()
			h.Groups.Digest = ""
			b, _ := json.Marshal(h.Groups)
			h.Groups.Digest = fmt.Sprintf("sha256:%x", sha256.Sum256(b))
			b, _ = json.Marshal(h)
			if _, reason, _ := verdict(string(b) + "\n" + rest); !strings.Contains(reason, want) {
				t.Errorf("record %d: a forged group: %q, expected %q", i, reason, want)
			}
		}
		h.Groups.Names[0], h.Groups.Names[1] = h.Groups.Names[1], h.Groups.Names[0]
		if c.by != sites {
			forged("in the class")
		}
		h.Groups.Of[len(h.Groups.Of)-1] ^= 1
		forged("the seed does not follow")
	}
	for _, kind := range []string{"class pass", "class fail", "site pass", "site fail"} {
		if !kinds[kind] {
			t.Errorf("no %s among %v", kind, kinds)
		}
	}
}

// Records that were written when names entered the seed still hold.
func TestOldRecord(t *testing.T) {
	const file = "../../internal/rs/gate/testdata/v1.record"
	var says bytes.Buffer
	if code := run([]string{"--gate", file}, &says, &says); code != 0 || !strings.Contains(says.String(), "fail after") {
		t.Errorf("code %d: %s", code, &says)
	}
	data := testkit.Read(t, file)
	renamed := strings.Replace(string(data), `"name":"step"`, `"name":"stop"`, 1)
	if _, reason, _ := verdict(renamed); !strings.Contains(reason, "the seed does not follow") {
		t.Errorf("renamed: %q", reason)
	}
}

// A file of another kind is named, with what checks it.
func TestOtherKindsOfFiles(t *testing.T) {
	for text, want := range map[string]string{
		`{"format":"certspec-gate","version":2}`:      "certcheck --gate FILE",
		`{"format":"certspec-ood","version":1}`:       "certspec ledger verify FILE",
		`{"format":"certspec-scores","version":1}`:    "name the ledger",
		"certspec-claims 2 sha256:00":                 "certcheck --claims FILE LEDGER",
		`{"_type":"https://in-toto.io/Statement/v1"}`: "certcheck --statement FILE LEDGER",
		"idx\tlabel\tpredict\tradius\tcorrect\ttime":  "a published log",
		`{"format":"certspec-ledger","version":9}`:    "version 1 to 4",
		`{"format":"other"}`:                          `a file of the format "other"`,
		"":                                            "the file is empty",
	} {
		_, reason := check(strings.NewReader(text+"\n"), 1e6)
		if !strings.Contains(reason, want) || strings.Contains(reason, "<nil>") || strings.Contains(reason, "invalid character") {
			t.Errorf("%.40s: %q; expected %q", text, reason, want)
		}
	}
}
