package ledgerio

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs/ledger"
)

// version2 has every field of version 2.
func version2() ledger.Header {
	h := header()
	h.Rule = ledger.Rule{Name: "x", Tolerance: .01, Relative: true, Looks: []ledger.Level{{Samples: 400, Alpha: .001}},
		Sizes:   []ledger.Size{{Hits: 0, Samples: 0}, {Hits: 66, Samples: 200}, {Hits: 90, Samples: 400}},
		Targets: []ledger.Target{{Radius: 0, Probability: "0.500000000000000"}, {Radius: .25, Probability: "0.841344746068543"}}, Futility: .001, Budget: "all"}
	h.Shard = &ledger.Shard{By: ledger.ShardImages, Index: 1, Count: 3}
	return h
}

func TestVersion2RoundTrip(t *testing.T) {
	line, err := encodeHeader(version2())
	if err != nil {
		t.Fatal(err)
	}
	// The names that other programs read: a change of them is a new version.
	for _, want := range []string{`"relative":true`, `"sizes":[{"hits":0,"copies":0},{"hits":66,"copies":200},`,
		`"targets":[{"radius":0,"probability":"0.500000000000000"},`, `"futility":0.001`, `"shard":{"by":"images","index":1,"count":3}`} {
		if !strings.Contains(string(line), want) {
			t.Errorf("header %s lacks %s", line, want)
		}
	}
	h, err := decodeHeader("x", bytes.TrimSuffix(line, newline))
	if err != nil || !reflect.DeepEqual(h, version2()) {
		t.Errorf("read %+v, %v", h, err)
	}
	// Without them they are not written, so that version 2 of an old rule differs in its version alone.
	if line, err = encodeHeader(header()); err != nil || strings.Contains(string(line), "targets") ||
		strings.Contains(string(line), "shard") || strings.Contains(string(line), "futility") || strings.Contains(string(line), "sizes") {
		t.Errorf("%s, %v", line, err)
	}
}

func TestRuleRefused(t *testing.T) {
	for name, change := range map[string]func(h *ledger.Header){
		"version 1 has no sizes":                     func(h *ledger.Header) { h.Version = 1 },
		"shard by \"rows\"":                          func(h *ledger.Header) { h.Shard.By = "rows" },
		"shard 3 of 3":                               func(h *ledger.Header) { h.Shard.Index = 3 },
		"shard 0 of 0":                               func(h *ledger.Header) { *h.Shard = ledger.Shard{By: ledger.ShardBlocks} },
		"shard -1 of 2":                              func(h *ledger.Header) { *h.Shard = ledger.Shard{By: ledger.ShardBlocks, Index: -1, Count: 2} },
		"shard 0 of 9223372036854775807":             func(h *ledger.Header) { *h.Shard = ledger.Shard{By: ledger.ShardImages, Count: math.MaxInt64} },
		"9223372036854775807 images":                 func(h *ledger.Header) { h.Data.Images = math.MaxInt64 },
		"tolerance -1":                               func(h *ledger.Header) { h.Rule.Tolerance = -1 },
		"tolerance NaN":                              func(h *ledger.Header) { h.Rule.Tolerance = math.NaN() },
		"futility 1":                                 func(h *ledger.Header) { h.Rule.Futility = 1 },
		"400 noise samples from 66 hits on":          func(h *ledger.Header) { h.Rule.Sizes[2].Hits = 66 },
		"-1 noise samples from 90 hits":              func(h *ledger.Header) { h.Rule.Sizes[2].Samples = -1 },
		"target radius 0":                            func(h *ledger.Header) { h.Rule.Targets[1].Radius = 0 },
		"target radius -1":                           func(h *ledger.Header) { h.Rule.Targets[0].Radius = -1 },
		"target radius +Inf":                         func(h *ledger.Header) { h.Rule.Targets[1].Radius = math.Inf(1) },
		`has the probability "1.0"`:                  func(h *ledger.Header) { h.Rule.Targets[1].Probability = "1.0" },
		`has the probability "8e-1"`:                 func(h *ledger.Header) { h.Rule.Targets[1].Probability = "8e-1" },
		`has the probability "0.49"`:                 func(h *ledger.Header) { h.Rule.Targets[1].Probability = "0.49" },
		`has the probability ""`:                     func(h *ledger.Header) { h.Rule.Targets[1].Probability = "" },
		"look after 0 noise samples at level 0.001":  func(h *ledger.Header) { h.Rule.Looks[0].Samples = 0 },
		"look after 400 noise samples at level 0.00": func(h *ledger.Header) { h.Rule.Looks = append(h.Rule.Looks, ledger.Level{Samples: 400, Alpha: .001}) },
	} {
		h := version2()
		change(&h)
		if _, err := encodeHeader(h); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file of version 1 is read for ever, and goes on as one: only its header says 1.
func TestVersion1(t *testing.T) {
	now := testkit.Read(t, write(t))
	path := filepath.Join(t.TempDir(), "old.ledger")
	lines := strings.SplitAfter(strings.Replace(string(now), `"version":3`, `"version":1`, 1), "\n")
	testkit.Write(t, []byte(strings.Join(lines[:4], "")), path)
	w, l, err := Open(path, header())
	if err != nil || l.Header.Version != 1 {
		t.Fatal(l, err)
	}
	for _, look := range looks()[3:] {
		w.Append(look)
	}
	if err := w.Finish(claims()); err != nil {
		t.Fatal(err)
	}
	w.Close()
	text, _ := os.ReadFile(path)
	if got := strings.SplitAfter(string(text), "\n"); !reflect.DeepEqual(got[:len(got)-2], lines[:len(lines)-2]) {
		t.Errorf("went on as\n%s", text)
	}
	if l, err = Read(path); err != nil || l.Header.Version != 1 || l.Claims == nil {
		t.Errorf("%+v, %v", l, err)
	}
	var mismatch *ledger.MismatchError
	h := header()
	h.Shard = &ledger.Shard{By: ledger.ShardImages, Count: 2}
	if _, _, err := Open(path, h); !errors.As(err, &mismatch) || mismatch.Field != "shard" {
		t.Errorf("as a shard: %v", err)
	}
}

// The decoder in the name of the images is no other run where the pixels are the same.
func TestDecoderInName(t *testing.T) {
	there, here := header(), header()
	for _, c := range []struct {
		there, here, digest string
		same                bool
	}{
		{"folder:x[skip=20]", "folder:x[jpeg=go1.26,skip=20]", "", true},
		{"folder:x", "folder:x[jpeg=libjpeg-turbo]", "", true},
		{"folder:x[jpeg=go1.26]", "folder:x", "", true},
		{"folder:x", "folder:x[jpeg=libjpeg-turbo]", "sha256:0", false},
		{"folder:x[skip=20]", "folder:x[jpeg=go1.26,skip=2]", "", false},
	} {
		there.Data.Name, here.Data.Name, here.Data.Digest = c.there, c.here, cmp.Or(c.digest, there.Data.Digest)
		if err := there.SameRun("x", here); (err == nil) != c.same {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
