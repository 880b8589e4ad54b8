package rs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// Ledgers of version 1 were written by this program at version 1 of the format; those in results with a trained network.
var oldLedgers = []string{"testdata/v1-staged.ledger", "testdata/v1-fixed.ledger", "../notebooks/results/quickstart.ledger"}

func TestVerify(t *testing.T) {
	m, data := mixed(12)
	files := oldLedgers
	for name, opt := range mergeOptions {
		opt.Ledger = filepath.Join(t.TempDir(), name)
		certify(t, m, data, opt)
		files = append(files, opt.Ledger)
		files = append(files, shards(t, m, data, opt, ledger.ShardImages, split(3))...)
		if opt.Rule == rs.Fixed {
			files = append(files, shards(t, m, data, opt, ledger.ShardBlocks, split(3))...)
		}
	}
	for _, file := range files {
		v, err := rs.Verify(t.Context(), file)
		l, err2 := ledgerio.Read(file)
		if err2 != nil {
			t.Fatal(err2)
		}
		if err != nil || v.Digest != l.Digest || v.Looks != len(l.Looks) || v.Images == 0 || v.Samples == 0 {
			t.Errorf("%s: %+v, %v", file, v, err)
		}
	}
}

// An attacker who computes the digest anew is still found out.
func TestVerifyFindsAlterations(t *testing.T) {
	const file = "testdata/v1-staged.ledger"
	for _, c := range []struct{ name, old, new, want string }{
		{"class of a claim", "\n33 4 966 1600", "\n33 1 966 1600", "line 50: claim on image 33: class 1; from its counts follows 4"},
		{"abstention", "\n33 4 966 1600", "\n33 -1 966 1600", "claim on image 33: class -1"},
		{"k", "\n33 4 966 1600", "\n33 4 967 1600", "k 967"},
		{"n", "\n33 4 966 1600", "\n33 4 966 3200", "n 3200"},
		{"lower bound", "0.559076891775918", "0.559076891775919", "lower bound 0.559076891775919"},
		{"radius", "0.0371573044\n", "0.0371573045\n", "radius 0.0371573045"},
		{"radius of an abstention", "\n0 -1 44 100 0.268605756490452 0\n", "\n0 -1 44 100 0.268605756490452 0.1\n", "radius 0.1"},
		{"average radius", "acr 0.003715730 10", "acr 0.003715731 10", "line 51: the average certified radius is 0.003715731 over 10"},
		{"labelled images", "acr 0.003715730 10\ncertified 0 1 10\ncertified 0.25 0 10\ncertified 0.5 0 10", "acr 0.003715730 9\ncertified 0 1 9\ncertified 0.25 0 9\ncertified 0.5 0 9", "over 9 labelled images"},
		{"no averages", "acr 0.003715730 10\ncertified 0 1 10\ncertified 0.25 0 10\ncertified 0.5 0 10\n", "", "missing before the digest"},
		{"certified accuracy", "certified 0.25 0 10", "certified 0.25 1 10", "1 images are certified at 0.25"},
		{"another radius", "certified 0.25 0 10", "certified 0.26 0 10", "at 0.26"},
		{"a radius less", "certified 0.5 0 10\n", "", "missing before the digest"},
		{"a radius more", "certified 0.5 0 10\n", "certified 0.5 0 10\ncertified 0.75 0 10\n", "beyond"},
		{"a count", "\n33 4 9 17 0 1:21 2:106 3:195 4:478", "\n33 4 9 17 0 1:21 2:105 3:195 4:479", "claim on image 33: k 966; from its counts follows 967"},
		{"a miss", "\n33 4 9 17 0 1:21 2:106 3:195 4:478", "\n33 4 9 17 1 1:21 2:106 3:195 4:477", "k 966"},
		{"a label", "\n30 3 0 1 5 0:39 1:33 2:22 3:1\n30 3 1 2", "\n30 -1 0 1 5 0:39 1:33 2:22 3:1\n30 -1 1 2", "over 10 labelled images; from the claims follows \"0.004128589\" over 9"},
		{"a label that no class has", "\n6 1 0 1 0 0:1 1:4 2:14 3:30 4:51\n6 1 ", "\n6 5 0 1 0 0:1 1:4 2:14 3:30 4:51\n6 5 ", "label 5"},
		{"the selection", "\n0 -1 0 1 0 0:1 1:5 2:28 3:27 4:39", "\n0 -1 0 1 0 0:1 1:5 2:28 3:39 4:27", "k 44"},
		{"a look that the rule did not announce", "\n33 4 3 5 0 1:8 2:26 3:57 4:109\n33 4 5 9 0 0:1 1:9 2:45 3:96 4:249", "\n33 4 3 9 0 0:1 1:17 2:71 3:153 4:358", "the rule looks at 3 to 5"},
		{"a look less", "\n33 4 9 17 0 1:21 2:106 3:195 4:478", "", "line 37: the ledger is closed, but 11 of 12 images are decided"},
		{"a look too many", "\n30 3 1 2 2 0:33 1:32 2:24 3:9", "\n30 3 1 2 2 0:33 1:32 2:24 3:9\n30 3 2 3 0 1:100", "was decided before"},
		{"an image less", "\n30 3 0 1 5 0:39 1:33 2:22 3:1\n30 3 1 2 2 0:33 1:32 2:24 3:9", "", "want claims and the number of images"},
		{"a model's votes", "\n15 4 0 1 0 0:8 1:22", "\n15 4 0 1 0 0:7 1:23", ""},
		{"sigma", `"sigma":0.25`, `"sigma":0.26`, "header: the seed"},
		{"alpha", `"alpha":0.001`, `"alpha":0.0001`, "header"},
		{"alpha of the looks", `{"copies":1600,"alpha":0.00016666666666666666}`, `{"copies":1600,"alpha":0.001}`, "header: the looks up to"},
		{"seed", `"seed":"13518`, `"seed":"23518`, "called derived"},
	} {
		path := file
		if c.name == "seed" {
			l, err := ledgerio.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			c.old, c.new = fmt.Sprintf(`"seed":"%d"`, l.Header.Seed), fmt.Sprintf(`"seed":"%d"`, l.Header.Seed+1)
		}
		path = altered(t, file, c.old, c.new)
		_, err := rs.Verify(t.Context(), path)
		if c.want == "" { // only the model can tell, see Replay
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		var format *ledger.FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), c.want) || format.Line == 0 {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
	// The digest finds what the counts cannot, where it is not computed anew.
	b := bytes.Replace(testkit.Read(t, file), []byte(`"name":"greys"`), []byte(`"name":"blues"`), 1)
	path := filepath.Join(t.TempDir(), "renamed")
	os.WriteFile(path, b, 0o666)
	if _, err := rs.Verify(t.Context(), path); err == nil || !strings.Contains(err.Error(), "altered or damaged") {
		t.Errorf("%v", err)
	}
}

func TestVerifyUnfinished(t *testing.T) {
	b := testkit.Read(t, oldLedgers[0])
	path := filepath.Join(t.TempDir(), "cut")
	claims := bytes.Index(b, []byte("claims"))
	for _, n := range []int{bytes.IndexByte(b, '\n') + 1, claims - 100, claims, claims + 60, len(b) - 1} {
		os.WriteFile(path, b[:n], 0o666)
		_, err := rs.Verify(t.Context(), path)
		var unfinished *rs.UnfinishedError
		if !errors.As(err, &unfinished) || unfinished.Images != 12 || (unfinished.Decided == 12) != (n >= claims) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// What is cut off a ledger of version 1 is computed again, and it ends with its old bytes.
func TestVersion1Resumes(t *testing.T) {
	m, data := mixed(12)
	for i, opt := range []rs.Options{
		{Sigma: .25, MaxSamples: 3200},
		{Sigma: .5, MaxSamples: 1000, Rule: rs.Fixed, Block: 50, Alpha: .01, Seed: 7, Noise: "gaussian"},
	} {
		want := testkit.Read(t, oldLedgers[i])
		opt.Ledger = filepath.Join(t.TempDir(), "old")
		for _, n := range []int{len(want) / 2, len(want) - 200, len(want)} {
			testkit.Write(t, want[:n], opt.Ledger)
			certify(t, m, data, opt)
			if got := testkit.Read(t, opt.Ledger); !bytes.Equal(got, want) {
				t.Errorf("%s from %d bytes: %s", oldLedgers[i], n, firstDifference(got, want))
			}
		}
	}
}

func TestCanonical(t *testing.T) {
	dir := t.TempDir()
	whole := testkit.Read(t, oldLedgers[0])
	claims := bytes.Index(whole, []byte("claims"))
	last := bytes.LastIndexByte(whole[:claims-1], '\n') + 1
	for name, c := range map[string]struct {
		in, want []byte
		complete bool
	}{
		"closed":        {whole, whole, true},
		"cut in claims": {whole[:claims+70], whole, true},
		"before claims": {whole[:claims], whole, true},
		"torn look":     {whole[:last+10], whole[:last], false},
		"provisional":   {append(bytes.Clone(whole[:last]), "~33 4 9 10 0 4:100\n"...), whole[:last], false},
		"header only":   {whole[:bytes.IndexByte(whole, '\n')+1], whole[:bytes.IndexByte(whole, '\n')+1], false},
	} {
		in, out, again := filepath.Join(dir, name), filepath.Join(dir, name+".out"), filepath.Join(dir, name+".again")
		os.WriteFile(in, c.in, 0o666)
		complete, err := rs.Canonical(t.Context(), out, in)
		if got := testkit.Read(t, out); err != nil || complete != c.complete || !bytes.Equal(got, c.want) {
			t.Errorf("%s: complete %v, %v, %s", name, complete, err, firstDifference(got, c.want))
			continue
		}
		if _, err := rs.Canonical(t.Context(), again, out); err != nil || !bytes.Equal(testkit.Read(t, again), c.want) {
			t.Errorf("%s: not its own canonical form: %v", name, err)
		}
	}
	out := filepath.Join(dir, "forged.out")
	if _, err := rs.Canonical(t.Context(), out, alteredBound(t, oldLedgers[1])); err == nil || !strings.Contains(err.Error(), "from its counts follows") {
		t.Errorf("forged: %v", err)
	}
}

// Long work on ledgers stops where its context ends, and leaves nothing half written.
func TestStoppedWorkOnLedgers(t *testing.T) {
	inner, data := mixed(20)
	opt := rs.Options{Sigma: .25, MaxSamples: 400, Ledger: filepath.Join(t.TempDir(), "l")}
	certify(t, inner, data, opt)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	folder := t.TempDir()
	out := filepath.Join(folder, "out")
	for name, work := range map[string]func() error{
		"Verify":    func() error { _, err := rs.Verify(ctx, opt.Ledger); return err },
		"Canonical": func() error { _, err := rs.Canonical(ctx, out, opt.Ledger); return err },
		"Merge":     func() error { _, err := rs.Merge(ctx, out, []string{opt.Ledger}, false); return err },
	} {
		if err := work(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
