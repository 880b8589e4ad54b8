package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func write(t *testing.T, text string) string {
	file := filepath.Join(t.TempDir(), "a.ledger")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRun(t *testing.T) {
	looks := toys[0].draw(rand.New(rand.NewPCG(1, 1)))
	good := sealed([]string{toys[0].header()}, looks, toys[0].close(looks))
	lines := strings.SplitAfter(good, "\n")
	open := strings.Join(lines[:1+len(looks)], "")
	for _, v := range []struct {
		args []string
		code int
		out  string
		errs string
	}{
		{[]string{write(t, good)}, 0, "all holds: 40 images", ""},
		{[]string{write(t, strings.Replace(good, "acr 0", "acr 1", 1))}, 1, "", "want acr 0"},
		{[]string{write(t, open)}, 1, "", "not closed: it claims nothing. The counts of its 40 images hold"},
		{[]string{write(t, open+"~"+looks[0]+"\n")}, 1, "", "not closed"},
		{[]string{write(t, good+"\n")}, 1, "", "something follows"},
		{[]string{write(t, good+"x")}, 1, "", "cut within"},
		{[]string{write(t, "")}, 1, "", "a.ledger:1: not the header"},
		{[]string{write(t, "\x00\x01\xff\n")}, 1, "", "not the header"},
		{[]string{write(t, strings.Replace(good, `"version":1`, `"version":5`, 1))}, 1, "", "version 1 to 4"},
		{[]string{write(t, strings.Replace(good, `"name":"fixed"`, `"name":"sloppy"`, 1))}, 1, "", `unknown rule "sloppy"`},
		{[]string{write(t, strings.Replace(good, `"order"`, `"norm":"l1","order"`, 1))}, 1, "", `is expected, not "norm\":\"l1\",`},
		{[]string{write(t, strings.Replace(good, `"copies":1000,"alpha":0.001`, `"copies":1000,"alpha":0.002`, 1))}, 1, "", "the looks spend 2 of alpha"},
		{[]string{write(t, strings.Replace(good, `"order":"data"`, `"order":"data","shard":{"by":"blocks","index":0,"count":2}`, 1))}, 1, "", "claims nothing"},
		{[]string{write(t, sealed(append([]string{toys[0].header()}, append(looks, looks[:2]...)...)))}, 1, "", "image 0 came before"},
		{[]string{"no such file"}, 1, "", "no such file"},
		{[]string{write(t, sealed([]string{strings.Replace(toys[0].header(), `"order":"data"`, `"order":"data","scores":"top/100"`, 1)}, looks, toys[0].close(looks)))}, 0, "Not read: the scores beside the ledger (top/100)", ""},
		{nil, 2, "", "usage"},
		{[]string{"-x"}, 2, "", "usage"},
		{[]string{write(t, good), "-x"}, 2, "", "usage"},
		{[]string{write(t, good), write(t, good)}, 0, "all holds: 40 images", ""},
		{[]string{write(t, good), write(t, open), write(t, good)}, 1, "all holds: 40 images", "not closed"}, // the others are checked all the same
	} {
		var out, errs bytes.Buffer
		code := run(v.args, &out, &errs)
		if code != v.code || !strings.Contains(out.String(), v.out) || !strings.Contains(errs.String(), v.errs) || v.out == "" && out.Len() > 0 || v.errs == "" && errs.Len() > 0 {
			t.Errorf("%v: code %d, %q, %q", v.args, code, &out, &errs)
		}
	}
}

// With a chosen seed nothing binds σ: who multiplies it and all radii changes nothing that the checker sees. The list says so.
func TestChosenSeedLeavesSigma(t *testing.T) {
	toy := toys[0]
	looks := toy.draw(rand.New(rand.NewPCG(1, 1)))
	for _, c := range []struct {
		sigma  float64
		chosen string
		want   string
	}{
		{0.25, "true", "noise law, σ and seed are those"}, {0.5, "true", "noise law, σ and seed are those"},
		{0.25, "false", "noise law and seed are those"},
	} {
		toy.sigma = c.sigma
		header := strings.Replace(toy.header(), `"seed_chosen":true`, `"seed_chosen":`+c.chosen, 1)
		var out, errs bytes.Buffer
		if run([]string{write(t, sealed([]string{header}, looks, toy.close(looks)))}, &out, &errs); !strings.Contains(out.String(), c.want) {
			t.Errorf("%+v: %s%s", c, &out, &errs)
		}
	}
}

// The lines of certified accuracies are those that "certspec ledger verify" asks for: none is missing, none is more.
func TestLinesOfAccuracies(t *testing.T) {
	for _, toy := range toys {
		looks := toy.draw(rand.New(rand.NewPCG(1, 1)))
		claims := toy.close(looks)
		f := strings.Fields(claims[len(claims)-1])
		at, _ := strconv.ParseFloat(f[1], 64)
		more := append(slices.Clone(claims), "certified "+strconv.FormatFloat(at+.25, 'f', -1, 64)+" 0 "+f[3])
		for _, lines := range [][]string{claims[:len(claims)-1], more, claims} {
			_, reason := check(strings.NewReader(sealed([]string{toy.header()}, looks, lines)), 1e9)
			if (reason == "") != (len(lines) == len(claims)) {
				t.Errorf("%s: %d lines of claims, %d are those that follow: %q", toy.rule, len(lines), len(claims), reason)
			}
		}
	}
}

// Nothing that a ledger or its name holds moves the terminal.
func TestControlCharacters(t *testing.T) {
	const hostile = "a\x1b[2J\u009b1m\u202e\x00\x7f"
	looks := toys[0].draw(rand.New(rand.NewPCG(1, 1)))
	header := strings.Replace(toys[0].header(), `"order":"data"`, `"order":"data","scores":`+string(must1(json.Marshal(hostile))), 1)
	header = strings.NewReplacer("\\u007f", "\x7f").Replace(header)
	file := filepath.Join(t.TempDir(), "b\x1b[1m\n\u202e")
	for _, text := range []string{sealed([]string{header}, looks, toys[0].close(looks)), strings.Replace(header, "fixed", "\\u001b[2J\u009b", 1) + "\n", "\x1b[2J\n", `{"format":"\u001b` + hostile} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var both bytes.Buffer
		run([]string{file}, &both, &both)
		for i, r := range both.String() {
			if r != '\n' && !strconv.IsPrint(r) {
				t.Errorf("%q at byte %d of %q", r, i, &both)
			}
		}
		if strings.HasPrefix(both.String(), "b\n") {
			t.Errorf("a name breaks the line: %q", &both)
		}
	}
}

func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Two readers of a header must not see two: it stands in one form, at any depth.
func TestHeaderHasOneForm(t *testing.T) {
	for i, toy := range toys {
		looks := toy.draw(rand.New(rand.NewPCG(1, 1)))
		good := toy.header()
		for _, replace := range [][2]string{
			{`"alpha":0.0`, `"alpha":0.000001,"ALPHA":0.0`}, {`"alpha":0.0`, `"ALPHA":0.000001,"alpha":0.0`}, {`"alpha":0.0`, `"alpha":0.000001,"alpha":0.0`},
			{`"selection":`, `"Selection":`}, {`"classes":5`, `"classes":5,"classes":5`}, {`"weights":"none"`, `"weights":"none","Weights":"none"`},
			{`"height":1,"width":1`, `"width":1,"height":1`}, {`"digest":"none"`, `"digest":"other","dIgest":"none"`}, {`"sigma":`, `"sigma": `},
			{`{"copies":`, `{"alpha":1,"copies":`}, {`"seed":"1"`, `"seed":1`}, {`"seed":"1"`, `"seed":"1","seed":"1"`}, {`"noise":"grid/1"`, `"noise":"grid/1","noise":null`},
			{`"threads":0`, `"threads":"0"`}, {`"name":"toy"`, `"name":"\u0074oy"`}, {`"order":"data"`, `"order":"data","shard":null`}, {`"order":"data"`, `"order":"data","order":"data"`},
			{`"order":"data"`, `"order":"data","scores":""`}, {`"budget":`, `"Budget":"as said","budget":`}, {`"version":` + strconv.Itoa(toy.version), `"version":` + strconv.Itoa(toy.version) + `,"version":1`},
			{`"seed_chosen":true`, `"seed_chosen":false,"ſeed_chosen":true`}, {`{"format"`, ` {"format"`}, {`"order":"data"}`, `"order":"data"} `}, {`"order":"data"}`, `"order":"data"}{}`},
		} {
			text := strings.Replace(good, replace[0], replace[1], 1)
			if text == good {
				t.Fatalf("%s: no %s in %s", toy.rule, replace[0], good)
			}
			if c, reason := check(strings.NewReader(sealed([]string{text}, looks, toy.close(looks))), 1e9); reason == "" || c.at != 0 {
				t.Errorf("%s: %s: %q at line %d", toys[i].rule, replace[1], reason, c.at+1)
			}
		}
	}
}

// A header that promises too much is refused whatever the counts are.
func TestHeader(t *testing.T) {
	for i, replace := range [][]string{
		1: {`"copies":100,"alpha":0.0002`, `"copies":100,"alpha":0.0003`},
		2: {`{"hits":18,"copies":1000}`, `{"hits":18,"copies":1010}`},
		3: {`"0.841344746068543"`, `"0.841344746068542"`}, // below Φ(1)
	} {
		if replace == nil {
			continue
		}
		looks := toys[i].draw(rand.New(rand.NewPCG(1, 1)))
		text := sealed([]string{strings.Replace(toys[i].header(), replace[0], replace[1], 1)}, looks, toys[i].close(looks))
		if c, reason := check(strings.NewReader(text), 1e9); reason == "" || c.at != 0 {
			t.Errorf("%s: %v: %q at line %d", toys[i].rule, replace, reason, c.at+1)
		}
	}
}

// A shard has the images whose position is index modulo count.
func TestShard(t *testing.T) {
	toy := toys[1]
	looks := toy.draw(rand.New(rand.NewPCG(1, 1)))
	for total, holds := range map[string]bool{"78": false, "79": true, "80": true, "81": false} { // the first of two has 39, 40, 40, 41
		header := strings.Replace(toy.header(), `"images":40`, `"images":`+total, 1)
		header = strings.Replace(header, `"order":"data"`, `"order":"data","shard":{"by":"images","index":0,"count":2}`, 1)
		if _, reason := check(strings.NewReader(sealed([]string{header}, looks, toy.close(looks))), 1e9); (reason == "") != holds {
			t.Errorf("%s images in two shards: %q", total, reason)
		}
	}
}

// The checker is small, and imports the standard library only. Claims that a ledger does not state, and gates, have files of their own.
func TestIsAlone(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	total, most := 0, 740+340+150+220+70+620+180+110
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		total += strings.Count(string(text), "\n")
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			if strings.Contains(i.Path.Value, ".") {
				t.Errorf("%s imports %s", file, i.Path.Value)
			}
		}
	}
	if total == 0 || total >= most {
		t.Errorf("%d lines with comments, want less than %d", total, most)
	}
}

func FuzzCheck(f *testing.F) {
	var bases []string
	for i := range toys {
		toy := toys[i]
		toy.images = 3
		looks := toy.draw(rand.New(rand.NewPCG(1, 1)))
		text := sealed([]string{toy.header()}, looks, toy.close(looks))
		bases = append(bases, text)
		for _, edit := range [][2]string{{"", ""}, {`"sigma":`, `"sigma":1e-299,"x":`}, {`"copies":1000`, `"copies":999999980`}, {" 0.9", " 0.1"}} {
			at := max(0, strings.Index(text, edit[0]))
			f.Add(uint8(i), uint16(at), uint8(len(edit[0])), edit[1], at > 0)
		}
	}
	bases = append(bases, "")
	f.Add(uint8(len(toys)), uint16(0), uint8(0), "{}\n", false)
	f.Add(uint8(len(toys)), uint16(0), uint8(0), `{"format":"certspec-ledger","version":2,"shard":null,"rule":{"looks":[null]}}`+"\n", false)
	// The input is one place of a ledger that changes, as the fuzzer takes long to shrink a whole one.
	f.Fuzz(func(t *testing.T, which uint8, at uint16, cut uint8, put string, seal bool) {
		text := bases[int(which)%len(bases)]
		from := int(at) % (len(text) + 1)
		text = text[:from] + put + text[min(len(text), from+int(cut)):]
		if end := strings.LastIndex(text, "\nsha256 "); seal && end >= 0 {
			text = sealed(strings.Split(text[:end], "\n"))
		}
		c, reason := check(strings.NewReader(text), 1e5)
		if c.at < 0 || c.at > strings.Count(text, "\n") {
			t.Fatalf("it stands at line %d of %d: %s", c.at, strings.Count(text, "\n"), reason)
		}
	})
}

// What is derived stands on the screen: figures, and the names that the header gives.
func TestSaysWhatItHasDerived(t *testing.T) {
	const file = "../../notebooks/results/quickstart.ledger"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	if code := run([]string{file}, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	for _, want := range []string{"average certified radius 0.5554;", "model fmnist-cnn-s025, data fashionmnist/test[count=500]",
		"at most 10000 noise samples behind a bound"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	stated := regexp.MustCompile(`(?m)^certified (\S+) (\d+) (\d+)$`).FindAllStringSubmatch(string(text), -1)
	for _, s := range stated {
		right, _ := strconv.ParseFloat(s[2], 64)
		of, _ := strconv.ParseFloat(s[3], 64)
		if want := fmt.Sprintf("%.4f at %s", right/of, s[1]); !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if lines := strings.Count(out.String(), "\n"); len(stated) < 4 || lines > 8 {
		t.Errorf("%d accuracies on %d lines; expected one screen", len(stated), lines)
	}
}
