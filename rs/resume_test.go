package rs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/rs/ledger/scorefile"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// mixed is a model and images that together meet every way an image can end: at once, late, abstaining, with misses.
func mixed(images int) (classifier.Classifier, memory) {
	shape := pixel.Shape{Height: 1, Width: 1, Channels: 1}
	step := classifier.Step{Shape: shape, Thresholds: []float64{.2, .4, .6, .8}}
	nan := model{Classifier: step, after: nil}
	data := greys(shape, func(i int) int { return i % 5 })
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range images {
		data.IDs = append(data.IDs, 3*i)
		data.Labels = append(data.Labels, i%6-1)
		data.Pixels = append(data.Pixels, uint8(rng.IntN(256)))
	}
	return missing{nan}, data
}

// missing answers Miss for the darkest samples: a function of the input.
type missing struct{ classifier.Classifier }

func (m missing) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	if err := m.Classifier.Classify(ctx, batch, result); err != nil {
		return err
	}
	for i := range batch.N {
		if batch.Grid != nil && batch.Grid[i] < -60 || batch.Grid == nil && batch.Real[i] < -.25 {
			result.Classes[i] = classifier.Miss
		}
	}
	return nil
}

// Whatever the workers, the stops and the resumptions: the file has the same bytes.
func TestLedgerDoesNotDependOnTheWayThere(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, opt := range []rs.Options{
		{Sigma: .25, MaxSamples: 3200, Seed: 5},
		{Sigma: .25, MaxSamples: 3200, Seed: 5, Scores: 1000},
		{Sigma: .12, MaxSamples: 1001, Block: 7, Rule: rs.Fixed, Scores: 7},
		{Sigma: .25, MaxSamples: 4000, Rule: rs.ISS, Selection: 200, Tolerance: .02, Scores: 100},
		{Sigma: .12, MaxSamples: 1001, Block: 7, Rule: rs.Betting, Radii: []float64{.1}, Noise: "gaussian", Scores: 1000},
		{Sigma: .25, MaxSamples: 3000, Rule: rs.Betting, Radii: []float64{.1}, Shard: rs.Shard{Index: 1, Count: 3}, Scores: 10},
		{Sigma: .12, MaxSamples: 1001, Block: 7, Rule: rs.Fixed},
		{Sigma: .5, MaxSamples: 320, Block: 1, Tolerance: 1e-6, Noise: "gaussian"},
		{Sigma: .25, MaxSamples: 4000, Block: 1000},
		{Sigma: .25, MaxSamples: 4000, Rule: rs.ISS, Selection: 200, Tolerance: .02},
		{Sigma: .12, MaxSamples: 700, Block: 7, Rule: rs.ISS, Tolerance: .1, Relative: true},
		{Sigma: .25, MaxSamples: 4000, Rule: rs.Betting, Radii: []float64{0, .05, .1, .4}},
		{Sigma: .12, MaxSamples: 1001, Block: 7, Rule: rs.Betting, Radii: []float64{.1}, Noise: "gaussian"},
		{Sigma: .25, MaxSamples: 3000, Rule: rs.Fixed, Shard: rs.Shard{By: ledger.ShardBlocks, Index: 0, Count: 3}},
		{Sigma: .25, MaxSamples: 3000, Rule: rs.Fixed, Shard: rs.Shard{By: ledger.ShardBlocks, Index: 2, Count: 3}},
		{Sigma: .25, MaxSamples: 3000, Rule: rs.Betting, Radii: []float64{.1}, Shard: rs.Shard{Index: 1, Count: 3}},
	} {
		images := 40
		switch {
		case opt.Block == 1:
			images = 5
		case testing.Short():
			images = 4
		}
		inner, data := mixed(images)
		opt.Ledger = filepath.Join(t.TempDir(), "whole.ledger")
		opt.Workers = 1
		calls := 0
		whole := certify(t, model{Classifier: inner, before: func(classifier.Batch) error { calls++; return nil }}, data, opt)
		want := testkit.Read(t, opt.Ledger)
		var wantScores []byte
		if opt.Scores > 0 {
			wantScores = testkit.Read(t, scorefile.Path(opt.Ledger))
		}
		ways := 4
		if testing.Short() {
			ways = 1
		}
		for range ways {
			opt.Ledger = filepath.Join(t.TempDir(), "sub", "parts.ledger")
			stops := 0
			for {
				opt.Workers = 1 + rng.IntN(5)
				ctx, cancel := context.WithCancel(t.Context())
				left := new(atomic.Int64)
				left.Store(int64(1 + rng.IntN(2*calls/5)))
				lazy := rng.IntN(2) == 0
				run, err := rs.Certify(ctx, model{Classifier: inner, before: func(classifier.Batch) error {
					n := left.Add(-1)
					if n == 0 {
						cancel()
					}
					if lazy && n%5 == 0 {
						time.Sleep(50 * time.Microsecond) // blocks come back in any order
					}
					return nil
				}}, data, opt)
				cancel()
				if err == nil {
					if run.Path != opt.Ledger {
						t.Errorf("the run says its ledger is %s; expected %s", run.Path, opt.Ledger)
					}
					if run.Path = whole.Path; !reflect.DeepEqual(run, whole) {
						t.Errorf("%+v: the run differs:\n%+v\n%+v", opt, run.Rows, whole.Rows)
					}
					break
				}
				if !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				if stops++; rng.IntN(2) == 0 { // a power cut tears the last line
					if b := testkit.Read(t, opt.Ledger); b[len(b)-1] == '\n' {
						tear(t, opt.Ledger, rng.IntN(20))
					}
				}
			}
			if got := testkit.Read(t, opt.Ledger); !bytes.Equal(got, want) {
				t.Errorf("%+v, %d stops: %s", opt, stops, firstDifference(got, want))
			}
			if opt.Scores > 0 {
				if got := testkit.Read(t, scorefile.Path(opt.Ledger)); !bytes.Equal(got, wantScores) {
					t.Errorf("%+v, %d stops: the scores differ", opt, stops)
				}
			}
			if stops == 0 {
				t.Log("never stopped")
			}
		}
	}
}

// tear cuts a few bytes off the end, but not off the header.
func tear(t *testing.T, path string, n int) {
	t.Helper()
	b := testkit.Read(t, path)
	keep := max(bytes.IndexByte(b, '\n')+1, len(b)-n)
	testkit.Write(t, b[:keep], path)
}

func firstDifference(got, want []byte) string {
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d is\n%s\nwant\n%s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// A model in the same process that ignores its context does not hold a run after an interrupt: what is complete is
// kept, the error says so, and a later run ends with the same bytes. The call that was left behind writes into nothing
// that is used (go test -race).
func TestInterruptLeavesAStuckModel(t *testing.T) {
	defer rs.SetGrace(time.Millisecond, 50*time.Millisecond)()
	shape := pixel.Shape{Height: 1, Width: 1, Channels: 1}
	for _, opt := range []rs.Options{
		{Sigma: .25, Rule: rs.Fixed, MaxSamples: 10_000, Workers: 3, Scores: 10},
		{Sigma: .25, Rule: rs.Anytime, Workers: 3, Until: rs.Until{Samples: 12_000}},
	} {
		constant := classifier.Constant{Shape: shape, Classes: 2}
		opt.Ledger = filepath.Join(t.TempDir(), "whole")
		if _, err := rs.Certify(t.Context(), constant, greys(shape, always(0), 30), opt); err != nil {
			t.Fatal(err)
		}
		want := testkit.Read(t, opt.Ledger)
		opt.Ledger = filepath.Join(t.TempDir(), "stuck")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		release, calls := make(chan struct{}), new(atomic.Int64)
		deaf := model{Classifier: constant, before: func(classifier.Batch) error {
			if calls.Add(1) > 20 {
				cancel()
				<-release
			}
			return nil
		}}
		ended := make(chan error, 1)
		go func() {
			_, err := rs.Certify(ctx, deaf, greys(shape, always(0), 30), opt)
			ended <- err
		}()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "is left behind") {
				t.Errorf("%s: %v", opt.Rule, err)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: the run waits for its model", opt.Rule)
		}
		close(release) // the calls return into buffers that nobody has
		if _, err := rs.Certify(t.Context(), constant, greys(shape, always(0), 30), opt); err != nil {
			t.Errorf("%s: %v", opt.Rule, err)
		}
		if got := testkit.Read(t, opt.Ledger); !bytes.Equal(got, want) {
			t.Errorf("%s: %s", opt.Rule, firstDifference(got, want))
		}
	}
}

// An interrupt loses no finished block: what the second run computes and what the first saved make up the whole.
func TestInterruptLosesNoFinishedBlock(t *testing.T) {
	shape := pixel.Shape{Height: 1, Width: 1, Channels: 1}
	opt := rs.Options{Sigma: .25, Rule: rs.Fixed, MaxSamples: 10_000, Workers: 2, Ledger: filepath.Join(t.TempDir(), "l")}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calls := new(atomic.Int64)
	count := model{Classifier: classifier.Constant{Shape: shape, Classes: 2}, before: func(classifier.Batch) error {
		if calls.Add(1) == 50 { // in the midst of the one look
			cancel()
		}
		return nil
	}}
	if _, err := rs.Certify(ctx, count, greys(shape, always(0), 3), opt); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want that of the context", err)
	}
	if _, err := rs.Certify(t.Context(), count, greys(shape, always(0), 3), opt); err != nil {
		t.Fatal(err)
	}
	if n := calls.Load(); n != 101 {
		t.Errorf("%d calls of the model for 101 blocks", n)
	}
}

func TestCompleteLedgerNeedsNoModel(t *testing.T) {
	inner, data := mixed(10)
	opt := rs.Options{Sigma: .25, MaxSamples: 400, Ledger: filepath.Join(t.TempDir(), "l")}
	first := certify(t, inner, data, opt)
	if err := os.Chmod(opt.Ledger, 0o444); err != nil {
		t.Fatal(err)
	}
	again := certify(t, model{Classifier: inner, before: func(classifier.Batch) error { return errors.New("called") }}, data, opt)
	opened, err := rs.Open(opt.Ledger)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(first, again) || !reflect.DeepEqual(first, opened) || !opened.Complete() {
		t.Errorf("runs differ:\n%+v\n%+v\n%+v", first, again, opened)
	}
}

func TestOpenUnfinishedLedger(t *testing.T) {
	inner, data := mixed(12)
	opt := rs.Options{Sigma: .25, MaxSamples: 800, Ledger: filepath.Join(t.TempDir(), "l")}
	whole := certify(t, inner, data, opt)
	lines := bytes.SplitAfter(testkit.Read(t, opt.Ledger), []byte("\n"))
	at := bytes.Index(bytes.Join(lines, nil), []byte("claims"))
	b := testkit.Read(t, opt.Ledger)[:at]
	b = b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1] // and the last look
	testkit.Write(t, b, opt.Ledger)
	run, err := rs.Open(opt.Ledger)
	if err != nil {
		t.Fatal(err)
	}
	if run.Complete() || !reflect.DeepEqual(run.Rows, whole.Rows[:11]) {
		t.Errorf("rows %+v, want the first 11 of %+v", run.Rows, whole.Rows)
	}
}

func TestForeignLedgers(t *testing.T) {
	inner, data := mixed(6)
	opt := rs.Options{Sigma: .25, MaxSamples: 400, Seed: 1, Ledger: filepath.Join(t.TempDir(), "l")}
	certify(t, inner, data, opt)
	closed := testkit.Read(t, opt.Ledger)
	at := bytes.Index(closed, []byte("claims"))
	for _, b := range [][]byte{closed, closed[:at], closed[:at-30]} {
		try := func(name, field string, change func(*rs.Options, *model, *memory)) {
			t.Helper()
			testkit.Write(t, b, opt.Ledger)
			o, m, images := opt, model{Classifier: inner}, *data.Images
			source := memory{&images}
			change(&o, &m, &source)
			_, err := rs.Certify(t.Context(), m, source, o)
			var mismatch *ledger.MismatchError
			if !errors.As(err, &mismatch) || mismatch.Field != field || mismatch.Ledger == mismatch.Run {
				t.Errorf("%s: error %v, want a mismatch of %s", name, err, field)
			}
			if got := testkit.Read(t, opt.Ledger); !bytes.Equal(got, b) {
				t.Errorf("%s: the foreign ledger was changed", name)
			}
		}
		try("σ", "sigma", func(o *rs.Options, _ *model, _ *memory) { o.Sigma = .5; o.Tolerance = .01 })
		try("seed", "seed", func(o *rs.Options, _ *model, _ *memory) { o.Seed = 2 })
		try("n", "rule.looks", func(o *rs.Options, _ *model, _ *memory) { o.MaxSamples = 1600 })
		try("rule", "rule.name", func(o *rs.Options, _ *model, _ *memory) { o.Rule = rs.Fixed })
		try("α", "alpha", func(o *rs.Options, _ *model, _ *memory) { o.Alpha = .01 })
		try("noise", "noise", func(o *rs.Options, _ *model, _ *memory) { o.Noise = "gaussian" })
		try("weights", "model.identity.weights", func(_ *rs.Options, m *model, _ *memory) {
			m.info = func(i *classifier.Info) { i.Identity.Weights = "sha256:other" }
		})
		try("engine", "model.identity.engine", func(_ *rs.Options, m *model, _ *memory) {
			m.info = func(i *classifier.Info) { i.Identity.Engine = "xla" }
		})
		try("data", "data.digest", func(_ *rs.Options, _ *model, d *memory) { d.Digest = "sha256:other" })
	}
	// Another program may go on.
	b := bytes.Replace(closed[:at-30], []byte(`"version":"devel"`), []byte(`"version":"v0.0.1"`), 1)
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	testkit.Write(t, b, opt.Ledger)
	if run := certify(t, inner, data, opt); !run.Complete() {
		t.Error("not complete")
	}
	// A line that contradicts the data or the rule is named.
	for _, c := range []struct{ old, new, want string }{
		{"\n3 0 ", "\n4 0 ", "image number 1"},
		{"\n3 0 0 1 ", "\n3 1 0 1 ", "image 3 goes on"},
		{"\n0 -1 0 1 ", "\n0 -1 0 2 ", "sum to 100"},
	} {
		testkit.Write(t, bytes.ReplaceAll(closed[:at], []byte(c.old), []byte(c.new)), opt.Ledger)
		if _, err := rs.Certify(t.Context(), inner, data, opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: error %v, want one with %q", c.new, c.old, err, c.want)
		}
	}
}

// A ledger of version 1 goes on, and is closed as its version had it: only the header says 1.
func TestResumeVersion1(t *testing.T) {
	inner, data := mixed(20)
	opt := rs.Options{Sigma: .25, MaxSamples: 1600, Ledger: filepath.Join(t.TempDir(), "l")}
	certify(t, inner, data, opt)
	now := testkit.Read(t, opt.Ledger)
	old := bytes.Replace(now, []byte(`"version":3`), []byte(`"version":1`), 1)
	at := bytes.Index(old, []byte("claims "))
	testkit.Write(t, old[:at/2], opt.Ledger)
	run := certify(t, inner, data, opt)
	want, got := bytes.Split(old, []byte("\n")), bytes.Split(testkit.Read(t, opt.Ledger), []byte("\n"))
	for i := range want[:len(want)-2] { // the last line is the digest, of another header
		if !bytes.Equal(want[i], got[i]) {
			t.Fatalf("line %d is\n%s\nwant\n%s", i+1, got[i], want[i])
		}
	}
	if again, err := rs.Open(opt.Ledger); err != nil || run.Header.Version != 1 || !reflect.DeepEqual(again, run) {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestTwoRunsOnOneLedger(t *testing.T) {
	inner, data := mixed(6)
	opt := rs.Options{Sigma: .25, MaxSamples: 400, Ledger: filepath.Join(t.TempDir(), "l"), Workers: 1}
	tried := false
	certify(t, model{Classifier: inner, before: func(classifier.Batch) error {
		if !tried {
			tried = true
			if _, err := rs.Certify(context.Background(), inner, data, opt); !errors.Is(err, ledger.ErrLocked) {
				t.Errorf("second run: error %v, want %v", err, ledger.ErrLocked)
			}
		}
		return nil
	}}, data, opt)
}

// The ledger that the process started by TestKill writes, and the number of calls of the model after which it kills itself.
const (
	killedVariable = "CERTSPEC_TEST_KILLED_LEDGER"
	killedAfter    = "CERTSPEC_TEST_KILLED_AFTER"
)

// killedRun kills its process in a call of the model; after 0 calls means never.
func killedRun(path string, after int) (*rs.Run, error) {
	rs.SetSavePause(10 * time.Millisecond)
	inner, data := mixed(40)
	calls := new(atomic.Int64)
	slow := model{Classifier: inner, before: func(classifier.Batch) error {
		time.Sleep(time.Millisecond)
		if calls.Add(1) == int64(after) {
			self, err := os.FindProcess(os.Getpid())
			if err != nil {
				return err
			}
			return self.Kill()
		}
		return nil
	}}
	return rs.Certify(context.Background(), slow, data, rs.Options{Sigma: .25, MaxSamples: 3200, Seed: 9, Ledger: path, Scores: 200})
}

func TestMain(m *testing.M) {
	if path := os.Getenv(killedVariable); path != "" {
		after, err := strconv.Atoi(os.Getenv(killedAfter))
		if err == nil {
			_, err = killedRun(path, after)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A process that is killed without warning at random moments, and started again until it is done, leaves the
// bytes of an undisturbed one.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	run, err := killedRun(filepath.Join(dir, "whole"), 0)
	if err != nil {
		t.Fatal(err)
	}
	calls := run.Passes() / run.Header.Block
	want, wantScores := testkit.Read(t, filepath.Join(dir, "whole")), testkit.Read(t, scorefile.Path(filepath.Join(dir, "whole")))
	rng := rand.New(rand.NewPCG(8, 9))
	path := filepath.Join(dir, "killed")
	most := 8
	if testing.Short() {
		most = 3
	}
	for kills := 0; ; kills++ {
		after := 1 + rng.IntN(calls/most)
		if kills == most {
			after = 0
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killedVariable+"="+path, killedAfter+"="+strconv.Itoa(after))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err := cmd.Run()
		if err == nil {
			if kills < most {
				t.Errorf("killed %d times only", kills)
			}
			break
		}
		if stderr.Len() > 0 || kills == most {
			t.Fatal(err, stderr.String())
		}
	}
	if got := testkit.Read(t, path); !bytes.Equal(got, want) {
		t.Error(firstDifference(got, want))
	}
	if !bytes.Equal(testkit.Read(t, scorefile.Path(path)), wantScores) {
		t.Error("the scores differ")
	}
}
