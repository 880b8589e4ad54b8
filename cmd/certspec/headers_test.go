package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// changes are what is wrong with a header: the text that is there, and what stands in its place.
type changes map[string][2]string

// apply makes the broken headers of a file.
func (c changes) apply(t *testing.T, good string) map[string]string {
	t.Helper()
	broken := map[string]string{}
	for name, change := range c {
		if broken[name] = strings.Replace(good, change[0], change[1], 1); broken[name] == good {
			t.Fatalf("%s: the header has no %s", name, change[0])
		}
	}
	return broken
}

// refused asks all readers, commands with FILE in the place of the file, for a file that is whole, which each takes,
// and for broken ones, which each refuses without a word on standard output.
func refused(t *testing.T, file, good string, broken map[string]string, readers ...string) {
	t.Helper()
	ask := func(reader, text string) (string, int) {
		testkit.Write(t, []byte(text), file)
		return output(t, strings.Fields(strings.ReplaceAll(reader, "FILE", file))...)
	}
	for _, reader := range readers {
		if text, code := ask(reader, good); code != 0 {
			t.Errorf("the file that is whole: %s: exit code %d: %s", reader, code, text)
		}
		for name, text := range broken {
			if said, code := ask(reader, text); code == 0 || said != "" {
				t.Errorf("%s: %s says %.80q, exit code %d", name, reader, said, code)
			}
		}
	}
}

// sealed has the digest of what stands before it as its last line.
func sealed(text string) string {
	body := text[:strings.LastIndex(text, "sha256 ")]
	return body + fmt.Sprintf("sha256 %x\n", sha256.Sum256([]byte(body)))
}

func allSealed(files map[string]string) map[string]string {
	for name, text := range files {
		files[name] = sealed(text)
	}
	return files
}

// Every verb that reads a ledger makes the same checks of its header: each broken one is refused by all, by name.
func TestReadersRefuseBrokenHeaders(t *testing.T) {
	dir := t.TempDir()
	model, ledger, scored := filepath.Join(dir, "net"), filepath.Join(dir, "run.ledger"), filepath.Join(dir, "scored.ledger")
	if _, err := outputOf(t, "train", "--data", "synthetic[count=8]", "--test", "synthetic/test[count=2]", "--epochs", "1",
		"--width", "0.25", "--batch", "8", "--sigma", "0.25", "--seed", "3", "--engine", "go", "--out", model); err != nil {
		t.Fatal(err)
	}
	certify := "certify --model " + model + " --engine go --data synthetic/test[count=2] --sigma 0.25 --n 100 --block 50 " +
		"--n0 50 --rule staged --out "
	for _, args := range []string{ledger, scored + " --keep-scores=10"} {
		if text, code := output(t, strings.Fields(certify+args)...); code != 0 {
			t.Fatalf("exit code %d: %s", code, text)
		}
	}
	ofLedger := changes{
		"looks that spend more than alpha": {`"alpha":0.001,"selection"`, `"alpha":0.0005,"selection"`},
		"a rule that nobody knows":         {`"rule":{"name":"staged"`, `"rule":{"name":"sloppy"`},
		"a later version":                  {`"version":`, `"version":9`},
		"another format":                   {`"format":"certspec-ledger"`, `"format":"certspec-lodger"`},
		"a key that nobody knows":          {`"noise":`, `"norm":"l1","noise":`},
		"a key twice":                      {`"sigma":0.25`, `"sigma":0.25,"sigma":0.25`},
		"blocks of no noise samples":       {`"block":`, `"block":-`},
		"no classes":                       {`"classes":`, `"classes":-`},
		"a negative sigma":                 {`"sigma":`, `"sigma":-`},
	}
	ofSeed := func(good string) changes {
		seed := good[strings.Index(good, `"seed":"`):strings.Index(good, `,"seed_chosen"`)]
		return changes{
			"a seed that is not derived": {seed, `"seed":"1"`}, "another sigma": {`"sigma":0.25`, `"sigma":0.5`},
			"another data set": {`"digest":"sha256:`, `"digest":"sha256:00`},
		}
	}
	chosen := func(good string) string { return strings.Replace(good, `"seed_chosen":false`, `"seed_chosen":true`, 1) }
	file := filepath.Join(dir, "x.ledger")
	readers := []string{
		"ledger verify FILE", "ledger info FILE", "ledger metrics FILE", "ledger query FILE", "merge -o - FILE",
		"ledger compare FILE FILE", "ledger export FILE", "ledger export --format canonical --out - FILE",
		"ledger export --format verona FILE", "ledger attest --at-least 0=0 FILE", "report --format md FILE",
		"ledger plot FILE --json",
	}
	t.Run("old ledger", func(t *testing.T) {
		good := testkit.Read(t, oldLedger)
		broken := ofSeed(string(good)).apply(t, string(good))
		for name, text := range ofLedger.apply(t, chosen(string(good))) {
			broken[name] = text
		}
		refused(t, file, string(good), allSealed(broken), readers...)
	})
	t.Run("ledger", func(t *testing.T) {
		good := string(testkit.Read(t, ledger))
		broken := ofSeed(good).apply(t, good)
		for name, text := range ofLedger.apply(t, chosen(good)) {
			broken[name] = text
		}
		run := "FILE --model " + model + " --data synthetic/test[count=2] --engine go"
		refused(t, file, good, allSealed(broken), append(readers, "ledger replay "+run,
			"attack "+run+" --radii 0.1 --steps 1 --noises 1 --n 100", certify+"FILE")...)
	})
	t.Run("scores", func(t *testing.T) {
		whole, scores := testkit.Read(t, scored), string(testkit.Read(t, scored+".scores"))
		testkit.Write(t, []byte(scores), file+".scores")
		refused(t, file, string(whole), allSealed(ofLedger.apply(t, chosen(string(whole)))), "calib certify --ledger FILE",
			"calib table FILE", "calib metrics --ledger FILE")
		testkit.Write(t, whole, file)
		broken := changes{
			"a later version": {`"version":1`, `"version":9`}, "another format": {"certspec-scores", "certspec-stores"},
			"another run": {`"run":"sha256:`, `"run":"sha256:0`}, "other scores": {`"scores":"`, `"scores":"x`},
			"a key that nobody knows": {`"run":`, `"ran":1,"run":`}, "a key twice": {`"version":1`, `"version":1,"version":1`},
		}.apply(t, scores)
		broken["no first line"], broken["nothing"] = scores[strings.Index(scores, "\n")+1:], ""
		x := strings.ReplaceAll("ledger verify X; calib certify --ledger X; calib table X; ledger export --format canonical "+
			"--out "+filepath.Join(dir, "canonical.ledger")+" X; ledger replay X --model "+model+" --data synthetic/test[count=2] --engine go", "X", file)
		refused(t, file+".scores", scores, broken, strings.Split(x, "; ")...)
	})
	t.Run("bounds", func(t *testing.T) {
		bound, foreign := filepath.Join(dir, "bound.ood"), filepath.Join(dir, "foreign.ood")
		of := func(part string) string {
			return "ood bound --model " + model + " --uncompared --data synthetic/test[range=" + part + "] --eps 0.01 --out "
		}
		make := of("0:2")
		for _, args := range []string{make + bound, of("5:7") + foreign} {
			if text, code := output(t, strings.Fields(args)...); code != 0 {
				t.Fatalf("exit code %d: %s", code, text)
			}
		}
		good := string(testkit.Read(t, bound))
		broken := changes{
			"a later version": {`"version":1`, `"version":9`}, "another format": {"certspec-ood", "certspec-odd"},
			"a set that nobody knows": {`"set":"linf"`, `"set":"l2"`}, "no set": {`"set":"linf"`, `"set":""`},
			"a segment without a direction": {`"set":"linf"`, `"set":"segment"`}, "a negative radius": {`"epsilon":`, `"epsilon":-`},
			"a radius above 1": {`"epsilon":0`, `"epsilon":9`}, "a method that nobody knows": {`"method":"`, `"method":"x`},
			"an arithmetic that nobody knows": {`"arithmetic":"`, `"arithmetic":"x`}, "no bound": {`"bound":{`, `"band":{`},
			"one class": {`"classes":`, `"classes":-`}, "no images": {`"images":2`, `"images":0`},
			"a key twice": {`"set":`, `"set":"linf","set":`},
		}.apply(t, good)
		x := filepath.Join(dir, "x.ood")
		refused(t, x, good, allSealed(broken), "ledger verify FILE", "ood auc --in FILE --foreign "+foreign,
			"ood auc --in "+foreign+" --foreign FILE", "ledger replay FILE --uncompared --model "+model+" --data synthetic/test[range=0:2]",
			make+"FILE")
		if !bytes.Equal(testkit.Read(t, bound), []byte(good)) {
			t.Error("the other file changed")
		}
	})
}
