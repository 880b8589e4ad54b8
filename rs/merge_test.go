package rs_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/rs/ledger/beside"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/ledger/scorefile"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// shards certifies the shards of a run into files of their own.
func shards(t *testing.T, m classifier.Classifier, data memory, opt rs.Options, by string, of []rs.Shard) []string {
	t.Helper()
	dir := t.TempDir()
	var files []string
	for _, s := range of {
		opt.Shard = rs.Shard{By: by, Index: s.Index, Count: s.Count}
		opt.Ledger = filepath.Join(dir, fmt.Sprintf("%d-of-%d.ledger", s.Index, s.Count))
		certify(t, m, data, opt)
		files = append(files, opt.Ledger)
	}
	return files
}

// split are all shards of a split into n.
func split(n int) []rs.Shard {
	all := make([]rs.Shard, n)
	for i := range all {
		all[i] = rs.Shard{Index: i, Count: n}
	}
	return all
}

var mergeOptions = map[string]rs.Options{
	"staged":  {Sigma: .25, MaxSamples: 1600},
	"fixed":   {Sigma: .25, MaxSamples: 1000, Rule: rs.Fixed, Block: 50, Selection: 150},
	"iss":     {Sigma: .25, MaxSamples: 2000, Rule: rs.ISS, Selection: 200},
	"betting": {Sigma: .25, MaxSamples: 2000, Rule: rs.Betting, Radii: []float64{0, .1, .2}, Block: 20},
	"scores":  {Sigma: .25, MaxSamples: 1600, Scores: 100},
}

// However a run is split, its shards merge into the bytes of the run.
func TestMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	m, data := mixed(14)
	for name, opt := range mergeOptions {
		opt.Ledger = filepath.Join(t.TempDir(), "whole")
		certify(t, m, data, opt)
		want := testkit.Read(t, opt.Ledger)
		splits := [][]rs.Shard{split(1), split(2), split(5), split(14), {{Index: 1, Count: 2}, {Index: 0, Count: 4}, {Index: 2, Count: 4}}}
		if testing.Short() {
			splits = splits[2:3]
		}
		for _, by := range []string{ledger.ShardImages, ledger.ShardBlocks} {
			if by == ledger.ShardBlocks && opt.Rule != rs.Fixed {
				continue
			}
			for i, of := range splits {
				if by == ledger.ShardBlocks && i == 4 {
					continue // blocks of two splits do not meet
				}
				files := shards(t, m, data, opt, by, of)
				copied := testkit.Write(t, testkit.Read(t, files[0]), t.TempDir(), "again")
				if opt.Scores > 0 {
					testkit.Write(t, testkit.Read(t, scorefile.Path(files[0])), scorefile.Path(copied))
				}
				files = append(files, copied)
				rng.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
				out := filepath.Join(t.TempDir(), "sub", "merged")
				merged, err := rs.Merge(t.Context(), out, files, false)
				if err != nil {
					t.Fatalf("%s by %s in %v: %v", name, by, of, err)
				}
				if got := testkit.Read(t, out); !bytes.Equal(got, want) {
					t.Errorf("%s by %s in %v: %s", name, by, of, firstDifference(got, want))
				}
				if opt.Scores > 0 && !bytes.Equal(testkit.Read(t, scorefile.Path(out)), testkit.Read(t, scorefile.Path(opt.Ledger))) {
					t.Errorf("%s by %s in %v: the scores differ", name, by, of)
				}
				if !merged.Complete || merged.Images != 14 || merged.Repeated == 0 || merged.Ledgers != len(files) || merged.Dropped != 0 {
					t.Errorf("%s by %s in %v: %+v", name, by, of, merged)
				}
				times, err := beside.ReadTimes(out)
				if err != nil || len(times) != 14 {
					t.Errorf("%d times, %v", len(times), err)
				}
				samples, passes := 0, 0
				for i, time := range times {
					samples += time.Samples
					if time.Image != 3*i {
						t.Errorf("times are of the images %+v", times)
						break
					}
				}
				run, err := rs.Open(out)
				if err != nil {
					t.Fatal(err)
				}
				// A run may compute blocks that a decision then makes needless.
				if passes = run.Passes(); samples < passes || samples > 3*passes {
					t.Errorf("%s by %s in %v: the times name %d noise samples, the run has %d", name, by, of, samples, passes)
				}
			}
		}
	}
}

// What there is of a run merges into an unfinished ledger, from which the run goes on and ends with its bytes.
func TestMergePartial(t *testing.T) {
	m, data := mixed(14)
	for name, opt := range mergeOptions {
		for _, by := range []string{ledger.ShardImages, ledger.ShardBlocks} {
			if by == ledger.ShardBlocks && opt.Rule != rs.Fixed {
				continue
			}
			opt.Ledger = filepath.Join(t.TempDir(), "whole")
			whole := certify(t, m, data, opt)
			want := testkit.Read(t, opt.Ledger)
			losses := []int{0, 1, 2, 3}
			if testing.Short() {
				losses = losses[1:2]
			}
			for _, lost := range losses {
				files := shards(t, m, data, opt, by, split(4))
				tear(t, files[lost], len(testkit.Read(t, files[lost]))/2)
				absent := (lost + 2) % 4
				files = slices.Delete(files, absent, absent+1)
				out := filepath.Join(t.TempDir(), "merged")
				merged, err := rs.Merge(t.Context(), out, files, true)
				if err != nil {
					t.Fatalf("%s by %s: %v", name, by, err)
				}
				if merged.Complete || by == ledger.ShardImages && merged.Images < 7 {
					t.Errorf("%s by %s: %+v", name, by, merged)
				}
				l, err := ledgerio.Read(out)
				if err != nil {
					t.Fatal(err)
				}
				have := 0
				for _, look := range slices.Concat(l.Looks, l.Provisional) {
					have += look.To - look.From
				}
				calls := new(atomic.Int64)
				again := opt
				again.Ledger = out
				certify(t, model{Classifier: m, before: func(classifier.Batch) error { calls.Add(1); return nil }}, data, again)
				if got := testkit.Read(t, out); !bytes.Equal(got, want) {
					t.Errorf("%s by %s, %d lost: %s", name, by, lost, firstDifference(got, want))
				}
				if opt.Scores > 0 && !bytes.Equal(testkit.Read(t, scorefile.Path(out)), testkit.Read(t, scorefile.Path(opt.Ledger))) {
					t.Errorf("%s by %s, %d lost: the scores differ", name, by, lost)
				}
				// Nothing that the shards had is computed again. During a selection the first look may be for nothing.
				if all := whole.Passes() / whole.Header.Block; have == 0 && lost != 0 && absent != 0 || have+int(calls.Load()) > all*5/4+14 || by == ledger.ShardBlocks && have+int(calls.Load()) != all {
					t.Errorf("%s by %s, %d lost: %d calls of the model and %d blocks of shards make %d", name, by, lost, calls.Load(), have, all)
				}
			}
		}
	}
}

// altered changes the only occurrence of a text in a closed ledger, and its digest with it.
func altered(t testing.TB, file, old, new string) string {
	t.Helper()
	b := testkit.Read(t, file)
	if n := strings.Count(string(b), old); n != 1 {
		t.Fatalf("%q comes %d times in\n%s", old, n, b)
	}
	b = []byte(strings.Replace(string(b), old, new, 1))
	b = sealed(b)
	return testkit.Write(t, b, t.TempDir(), "altered.ledger")
}

// sealed gives a closed ledger the digest of its lines.
func sealed(b []byte) []byte {
	end := bytes.LastIndex(b, []byte("\nsha256 ")) + 1
	return fmt.Appendf(b[:end:end], "sha256 %x\n", sha256.Sum256(b[:end]))
}

func TestMergeRefuses(t *testing.T) {
	m, data := mixed(6)
	opt := mergeOptions["fixed"]
	opt.Seed = 3
	files := shards(t, m, data, opt, ledger.ShardImages, split(3))
	blocks := shards(t, m, data, opt, ledger.ShardBlocks, split(2))
	thirds := shards(t, m, data, opt, ledger.ShardBlocks, split(3))
	first := strings.Split(string(testkit.Read(t, files[0])), "\n")[1] // of image 0, blocks 0 to 3
	words := strings.Fields(first)
	var class, n, misses int
	word := words[len(words)-1]
	fmt.Sscanf(words[4], "%d", &misses)
	fmt.Sscanf(word, "%d:%d", &class, &n)
	words[4], words[len(words)-1] = fmt.Sprint(misses+1), fmt.Sprintf("%d:%d", class, n-1)
	moved := strings.Join(words, " ")
	other := func(change func(*rs.Options, *model, *memory)) string {
		o, mm, images := opt, model{Classifier: m}, *data.Images
		source := memory{&images}
		change(&o, &mm, &source)
		return shards(t, mm, source, o, ledger.ShardImages, split(3))[1]
	}
	unfinished := filepath.Join(t.TempDir(), "unfinished")
	b := testkit.Read(t, files[1])
	os.WriteFile(unfinished, b[:bytes.Index(b, []byte("\n3 "))+1], 0o666)
	for name, c := range map[string]struct {
		files []string
		want  []string
	}{
		"none":    {nil, []string{"no ledgers"}},
		"missing": {[]string{files[1]}, []string{"2 of 3 shards by images are missing, counted from 0: 0, 2"}},
		"α":       {[]string{files[0], other(func(o *rs.Options, _ *model, _ *memory) { o.Alpha = .01 }), files[2]}, []string{"alpha is 0.001 in the first, 0.01 in the second"}},
		"n":       {[]string{files[0], other(func(o *rs.Options, _ *model, _ *memory) { o.MaxSamples = 2000 }), files[2]}, []string{"rule.looks"}},
		"seed":    {[]string{files[0], other(func(o *rs.Options, _ *model, _ *memory) { o.Seed = 4 }), files[2]}, []string{"seed"}},
		"data":    {[]string{files[0], other(func(_ *rs.Options, _ *model, d *memory) { d.Digest = "sha256:other" }), files[2]}, []string{"data.digest"}},
		"weights": {[]string{files[0], other(func(_ *rs.Options, m *model, _ *memory) {
			m.info = func(i *classifier.Info) { i.Identity.Weights = "w" }
		}), files[2]}, []string{"model.identity.weights"}},
		"engine": {[]string{files[0], other(func(_ *rs.Options, m *model, _ *memory) {
			m.info = func(i *classifier.Info) { i.Identity.Engine = "e" }
		}), files[2]}, []string{"model.identity.engine"}},
		"conflict":   {[]string{files[0], files[1], files[2], altered(t, files[0], first, moved)}, []string{"image 0, blocks 0 to 3", word, fmt.Sprintf("%d:%d and %d misses", class, n-1, misses+1), files[0], "altered.ledger"}},
		"unfinished": {[]string{files[0], unfinished, files[2]}, []string{unfinished, "shard 1 of 3 by images, is not finished", "has 0 of 2 images"}},
		"overlap":    {[]string{blocks[0], thirds[1], thirds[2]}, []string{"overlap"}},
		"gap":        {[]string{blocks[0], thirds[2]}, []string{"no ledger has image 0 from block 11 on"}},
		"twice":      {[]string{files[0], altered(t, altered(t, files[1], "\n3 0 0 3 ", "\n0 0 0 3 "), "\n3 0 3 23 ", "\n0 0 3 23 "), files[2]}, []string{"image 0"}},
		"claim":      {[]string{files[0], files[1], alteredBound(t, files[2])}, []string{"from its counts follows"}},
	} {
		out := filepath.Join(t.TempDir(), "out")
		_, err := rs.Merge(t.Context(), out, c.files, false)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %q", name, err, want)
			}
		}
		if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: left a file", name)
		}
	}
	_, err := rs.Merge(t.Context(), filepath.Join(t.TempDir(), "out"), []string{files[0], files[1], files[2], altered(t, files[0], first, moved)}, false)
	var conflict *rs.ConflictError
	if !errors.As(err, &conflict) || conflict.Image != 0 || conflict.From != 0 || conflict.To != 3 {
		t.Errorf("%v is no ConflictError", err)
	}
	// A file that is there is not overwritten, unless it has the same bytes.
	out := filepath.Join(t.TempDir(), "out")
	for range 2 {
		if _, err := rs.Merge(t.Context(), out, files, false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := rs.Merge(t.Context(), files[0], files, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a shard: %v", err)
	}
	entries, _ := os.ReadDir(filepath.Dir(out))
	if len(entries) != 2 { // and its times
		t.Errorf("%d files beside the output", len(entries))
	}
}

// alteredBound raises the first lower bound of a closed ledger in its last digit.
func alteredBound(t testing.TB, file string) string {
	t.Helper()
	l, err := ledgerio.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range l.Claims.Images {
		if last := len(c.Lower) - 1; c.Lower[last] < '9' {
			line := fmt.Sprintf("\n%d %d %d %d %s", c.Image, c.Class, c.K, c.N, c.Lower)
			return altered(t, file, line, fmt.Sprintf("%s%c", line[:len(line)-1], c.Lower[last]+1))
		}
	}
	t.Fatal("all bounds end with 9")
	return ""
}
