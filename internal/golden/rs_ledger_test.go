package golden

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/rs/certlog"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

var rsBook = openBook("rs.json")

// greys are images of one value, cut into five classes by a model in Go, which gives the same answers on every machine.
type greys int

func (n greys) Load(context.Context) (*dataset.Images, error) {
	images := &dataset.Images{Name: "greys", Digest: "sha256:greys", Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}}
	for i := range int(n) {
		images.IDs, images.Labels = append(images.IDs, 2*i), append(images.Labels, i*5/int(n)-i%2*i%3)
		images.Pixels = append(images.Pixels, uint8(255*i/int(n)))
	}
	return images, nil
}

var step = classifier.Step{Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Thresholds: []float64{.2, .4, .6, .8}}

// certified are runs of every kind. Their ledgers are kept in testdata as they were.
var certified = map[string]rs.Options{
	"fixed":        {Sigma: .125, Rule: rs.Fixed, MaxSamples: 1000},
	"fixed-chosen": {Sigma: .125, Rule: rs.Fixed, MaxSamples: 1000, Alpha: .01, Block: 50, Seed: 7},
	"staged":       {Sigma: .125, MaxSamples: 3200},
	"iss":          {Sigma: .125, Rule: rs.ISS, MaxSamples: 2000},
	"iss-relative": {Sigma: .125, Rule: rs.ISS, MaxSamples: 2000, Relative: true, Tolerance: .1},
	"betting":      {Sigma: .125, Rule: rs.Betting, MaxSamples: 2000, Radii: []float64{0, .0625, .125}},
	"gaussian":     {Sigma: .125, Rule: rs.Fixed, MaxSamples: 1000, Noise: "gaussian"},
	"scores":       {Sigma: .125, MaxSamples: 800, Scores: 20},
	"shard":        {Sigma: .125, MaxSamples: 3200, Shard: rs.Shard{Index: 1, Count: 3}},
	"shard-blocks": {Sigma: .125, Rule: rs.Fixed, MaxSamples: 1000, Shard: rs.Shard{By: ledger.ShardBlocks, Index: 1, Count: 2}},
}

// comparable is a ledger, or the scores beside one, without the program that wrote it and the digests that this enters, in version 2 of the
// header. Version 3 came so that identities could leave out what does not compute; that of a model in Go is as it was, and so is its seed.
func comparable(b []byte) []byte {
	b = bytes.Replace(b, []byte(`"version":3,"program"`), []byte(`"version":2,"program"`), 1)
	b = regexp.MustCompile(`"program":\{[^}]*\}`).ReplaceAll(b, []byte(`"program":{}`))
	b = regexp.MustCompile(`(?m)^sha256 [0-9a-f]{64}$`).ReplaceAll(b, []byte("sha256"))
	if end := len(b) - 66; end > 0 && b[end] == 'E' && b[end+1] == 64 { // the last record of scores is two digests
		b = b[:end]
	}
	return b
}

func kept(name string) string { return filepath.Join("testdata", "rs-"+name+".ledger") }

// A run writes the ledger that it wrote.
func TestLedgers(t *testing.T) {
	for name, opt := range certified {
		opt.Ledger = filepath.Join(t.TempDir(), "ledger")
		if _, err := rs.Certify(t.Context(), step, greys(9), opt); err != nil {
			t.Fatal(name, err)
		}
		for _, suffix := range []string{"", ".scores"} {
			have, err := os.ReadFile(opt.Ledger + suffix)
			if errors.Is(err, fs.ErrNotExist) && suffix != "" {
				continue
			}
			old, err := os.ReadFile(kept(name) + suffix)
			if errors.Is(err, fs.ErrNotExist) && *keep {
				err = os.WriteFile(kept(name)+suffix, have, 0o666)
				old = have
			}
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(comparable(have), comparable(old)) {
				t.Errorf("%s%s is now\n%s\nwas\n%s", name, suffix, have, old)
			}
		}
	}
}

// A kept ledger that was cut anywhere goes on to its old bytes, header and seed included; whole, it is left as it is.
func TestKeptLedgersGoOn(t *testing.T) {
	for name, opt := range certified {
		whole := testkit.Read(t, kept(name))
		scores, _ := os.ReadFile(kept(name) + ".scores")
		first := bytes.IndexByte(whole, '\n') + 1
		for _, end := range []int{first, first + (len(whole)-first)/3, len(whole) - 5, len(whole)} {
			opt.Ledger = filepath.Join(t.TempDir(), "ledger")
			os.WriteFile(opt.Ledger, whole[:end], 0o666)
			if scores != nil {
				os.WriteFile(opt.Ledger+".scores", scores, 0o666)
			}
			if _, err := rs.Certify(t.Context(), step, greys(9), opt); err != nil {
				t.Errorf("%s cut at byte %d: %v", name, end, err)
				continue
			}
			if have := testkit.Read(t, opt.Ledger); !bytes.Equal(have, whole) {
				t.Errorf("%s cut at byte %d goes on to\n%s\nwas\n%s", name, end, have, whole)
			}
			if scores != nil && !bytes.Equal(testkit.Read(t, opt.Ledger+".scores"), scores) {
				t.Errorf("%s cut at byte %d: other scores", name, end)
			}
		}
		if _, err := rs.Verify(t.Context(), kept(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Merged, canonical and exported forms of the kept ledgers.
func TestFormsOfLedgers(t *testing.T) {
	figures(t)
	for name := range certified {
		canonical := filepath.Join(t.TempDir(), "canonical")
		if _, err := rs.Canonical(t.Context(), canonical, kept(name)); err != nil {
			t.Fatal(name, err)
		}
		if !bytes.Equal(testkit.Read(t, canonical), testkit.Read(t, kept(name))) {
			t.Errorf("%s is not its own canonical form", name)
		}
		run, err := rs.Open(kept(name))
		if err != nil {
			t.Fatal(name, err)
		}
		var tsv, csv bytes.Buffer
		if err := errors.Join(certlog.Write(&tsv, certlog.TSV, run.Rows, nil), certlog.Write(&csv, certlog.CSV, run.Rows, nil)); err != nil {
			t.Fatal(name, err)
		}
		rsBook.check(t, "export of "+name+", TSV", tsv.Bytes())
		rsBook.check(t, "export of "+name+", CSV", csv.Bytes())
	}
	cut := filepath.Join(t.TempDir(), "cut")
	whole := testkit.Read(t, kept("staged"))
	os.WriteFile(cut, whole[:len(whole)/2], 0o666)
	canonical := filepath.Join(t.TempDir(), "canonical")
	if _, err := rs.Canonical(t.Context(), canonical, cut); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(whole, testkit.Read(t, canonical)) {
		t.Error("the canonical form of half a ledger is not its beginning")
	}
	rsBook.check(t, "canonical form of half of staged", testkit.Read(t, canonical))
}

// Shards merge into the kept whole, but for the program.
func TestShardsMerge(t *testing.T) {
	for whole, opt := range map[string]rs.Options{"staged": certified["shard"], "fixed": certified["shard-blocks"]} {
		var parts []string
		for i := range opt.Shard.Count {
			opt.Shard.Index, opt.Ledger = i, filepath.Join(t.TempDir(), "part")
			if _, err := rs.Certify(t.Context(), step, greys(9), opt); err != nil {
				t.Fatal(err)
			}
			parts = append(parts, opt.Ledger)
		}
		merged := filepath.Join(t.TempDir(), "merged")
		if _, err := rs.Merge(t.Context(), merged, parts, false); err != nil {
			t.Fatal(err)
		}
		if have, want := testkit.Read(t, merged), testkit.Read(t, kept(whole)); !bytes.Equal(comparable(have), comparable(want)) {
			t.Errorf("merged\n%s\nkept\n%s", have, want)
		}
	}
}

// Single images: predicted, certified, and blocks drawn again.
func TestSingleImages(t *testing.T) {
	p, err := rs.Predict(t.Context(), step, []uint8{90}, rs.PredictOptions{Sigma: .125, Image: 3})
	if err != nil {
		t.Fatal(err)
	}
	c, err := rs.CertifyOne(t.Context(), step, []uint8{90}, rs.Options{Sigma: .125, MaxSamples: 1600})
	if err != nil {
		t.Fatal(err)
	}
	r, err := rs.Replay(t.Context(), kept("staged"), step, greys(9), rs.ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Flips) > 0 || !r.EqualIdentity || r.Blocks == 0 {
		t.Errorf("replay of a kept ledger: %v", r)
	}
	text, err := json.Marshal([]any{p, c})
	if err != nil {
		t.Fatal(err)
	}
	rsBook.check(t, "predict and certify one", text)
}
