package main

import (
	"bytes"
	"context"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	asking "github.com/certspec/certspec/internal/rs/query"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

var one1 = pixel.Shape{Height: 1, Width: 1, Channels: 1}

type greys struct{}

func (greys) Load(context.Context) (*imageset.Images, error) {
	im := &imageset.Images{Name: "greys", Digest: "sha256:greys", Shape: one1, Classes: []string{"a", "b", "c", "d", "e"}}
	for i := range 30 {
		im.IDs, im.Labels, im.Pixels = append(im.IDs, i), append(im.Labels, i/6-i%11/10), append(im.Pixels, uint8(8*i))
	}
	return im, nil
}

// What the program derives from ledgers of every rule holds here, and no altered line of it does.
func TestQueries(t *testing.T) {
	anytime := filepath.Join(t.TempDir(), "anytime.ledger")
	step := classifier.Step{Shape: one1, Thresholds: []float64{.2, .4, .6, .8}}
	opt := rs.Options{Sigma: .25, Rule: rs.Anytime, Block: 20, Selection: 40, Seed: 5, Until: rs.Until{Samples: 30_000}, Ledger: anytime}
	_, err := rs.Certify(t.Context(), step, greys{}, opt)
	if err != nil {
		t.Fatal(err)
	}
	ledgers := []string{anytime, "../../rs/testdata/v1-staged.ledger", "../../internal/golden/testdata/rs-fixed.ledger"}
	if !testing.Short() {
		ledgers = append(ledgers, "../../notebooks/results/fmnist-cnn-s025-iss.ledger",
			"../../notebooks/results/quickstart.ledger", "../../notebooks/results/fmnist-cnn-s025-betting-05.ledger")
	}
	rng := rand.New(rand.NewPCG(1, 1))
	altered, passed := 0, 0
	for _, file := range ledgers {
		data := testkit.Read(t, file)
		c, reason := check(bytes.NewReader(data), 1e9)
		if reason != "" {
			t.Fatal(reason)
		}
		for _, q := range []asking.Question{
			{TopK: 1}, {TopK: 1, LInf: true}, {TopK: 1, Share: .1}, {TopK: 3}, {TopK: 2, Share: .25, LInf: true},
		} {
			if q.Share > 0 && strings.Contains(file, "betting") {
				continue
			}
			a, err := asking.Ask(t.Context(), file, q)
			if err != nil {
				t.Fatal(err)
			}
			var sets []asking.Set
			var classes []asking.Class
			if set, err := a.Under(.1, .01); err == nil {
				sets = []asking.Set{set}
			} else {
				t.Fatal(err)
			}
			if classes, err = a.ByClass([]float64{0, .25}, .01); err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := a.Write(&text, []float64{0, .25, .5}, sets, classes); err != nil {
				t.Fatal(err)
			}
			if line, reason := c.asked(bytes.NewReader(data), text.String()); reason != "" {
				t.Fatalf("%s, %+v: line %d: %s", file, q, line, reason)
			}
			lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
			for range 1 + 600/len(c.all) {
				short, ok := alterClaim(rng, lines)
				if rng.IntN(4) == 0 { // a line less
					at := rng.IntN(len(lines))
					short, ok = append(append([]string{}, lines[:at]...), lines[at+1:]...), true
				}
				if !ok {
					continue
				}
				altered++
				if _, reason := c.asked(bytes.NewReader(data), strings.Join(short, "\n")+"\n"); reason == "" {
					passed++
					t.Errorf("%s, %+v: passed: %s", file, q, difference(short, lines))
				}
				c.terms = 1e9
			}
		}
	}
	if t.Logf("%d altered, %d passed", altered, passed); altered < 500 {
		t.Errorf("%d claims were altered", altered)
	}
}

// alterClaim changes one field by more than the rounding that the checker allows. The question is free.
func alterClaim(rng *rand.Rand, lines []string) (out []string, ok bool) {
	at := rng.IntN(len(lines))
	if rng.IntN(3) == 0 {
		at = len(lines) - 1 - rng.IntN(min(len(lines), 14))
	}
	f := strings.Fields(lines[at])
	i := rng.IntN(len(f))
	before := f[i]
	v, err := strconv.ParseFloat(f[i], 64)
	switch {
	case at == 1: // another question
		return nil, false
	case err != nil: // a word
		f[i] += "x"
	case strings.Contains(f[i], "."):
		v *= 1 + []float64{1, -1}[rng.IntN(2)]*1e-5
		if len(f[i]) == len("0.123456789012345") && i > 1 && i < len(f)-1 {
			f[i] = strconv.FormatFloat(v, 'f', 15, 64)
		} else {
			f[i] = strconv.FormatFloat(v, 'f', -1, 64)
		}
	default:
		f[i] = strconv.Itoa(int(v) + 1)
	}
	if f[i] == before {
		return nil, false
	}
	out = append(out, lines...)
	out[at] = strings.Join(f, " ")
	return out, true
}

func TestClaimsOnTheCommandLine(t *testing.T) {
	ledger := "../../rs/testdata/v1-staged.ledger"
	a, err := asking.Ask(t.Context(), ledger, asking.Question{TopK: 2, Share: .1})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := a.Write(&text, []float64{0}, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, v := range []struct {
		text, ledger string
		code         int
		want         string
	}{
		{text.String(), ledger, 0, "all 12 claims follow from the counts"},
		{text.String(), "../../rs/testdata/v1-fixed.ledger", 1, "claims on another ledger"},
		{strings.Replace(text.String(), "share 0.1", "share 0.2", 1), ledger, 1, "no look proves the bound"},
		{strings.Replace(text.String(), "top-k 2", "top-k 5", 1), ledger, 1, "the top 5 of 5 classes"},
		{strings.Replace(text.String(), "top-k 2", "top-k 1", 1), ledger, 1, "want the claim on image"},
		{text.String() + "certified 0 1", ledger, 1, "cut within"},
		{text.String() + "certified 0 99 12\n", ledger, 1, "a line that was not asked"},
		{strings.Replace(text.String(), "radii 0 ", "radii 0,0.25 ", 1), ledger, 1, "ends too early"},
		{strings.Replace(text.String(), "certified 0", "certified  0", 1), ledger, 1, "is asked"},
		{old(text.String()), ledger, 0, "lines may have been taken away"},
		{old(text.String()) + "certified 0 99 12\n", ledger, 1, "another number"},
		{"", ledger, 1, "ends too early"},
	} {
		var out bytes.Buffer
		code := run([]string{"--claims", write(t, v.text), v.ledger}, &out, &out)
		if code != v.code || !strings.Contains(out.String(), v.want) {
			t.Errorf("code %d, %s, expected %q", code, &out, v.want)
		}
	}
}

// old is a file of claims in the form of version 1, without the line that says what was asked.
func old(text string) string {
	lines := strings.SplitAfter(strings.Replace(text, "certspec-claims 2", "certspec-claims 1", 1), "\n")
	return strings.Join(append(lines[:2:2], lines[3:]...), "")
}
