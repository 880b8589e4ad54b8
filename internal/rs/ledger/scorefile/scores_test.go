package scorefile

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/noise"
)

func scoredHeader() ledger.Header {
	return ledger.Header{
		Format: ledger.Format, Version: ledger.VersionOf(noise.LawGrid),
		Model: classifier.Info{Name: "toy", Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Classes: 12,
			Identity: classifier.Identity{Weights: "formula", Engine: "toy"}},
		Data: ledger.Data{Name: "grey", Digest: "sha256:00", Images: 3}, Sigma: .25, Noise: "grid/1", Seed: 1,
		Alpha: .001, Selection: 100, Block: 100, Order: "data", Scores: ledger.ScoresScheme(4),
		Rule: ledger.Rule{Name: "fixed", Looks: []ledger.Level{{Samples: 100, Alpha: .001}}},
	}
}

// Every look behind a selection has its scores, in the order of the looks.
func TestScoresOfLooks(t *testing.T) {
	const file = "../../../golden/testdata/rs-scores.ledger"
	l, err := ledgerio.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	scores, err := OpenReader(file, l.Header)
	if err != nil {
		t.Fatal(err)
	}
	defer scores.Close()
	scored, images := 0, 0
	for list := range l.Images() {
		for _, look := range list {
			one, err := scores.Of(look)
			if err != nil || one != nil && one.Class < 0 {
				t.Fatal(one, err)
			}
			if one != nil {
				scored++
			}
		}
		images++
	}
	if want := len(l.Looks) - images; scored != want || scores.Finish(l.Digest) != nil {
		t.Errorf("%d scores, want one for each of %d looks behind a selection", scored, want)
	}
}

// exampleScores are the scores of one look of one block of 100 samples: 40 of ¼ exactly, 50 of ⅝ and 10 unknown.
func exampleScores(h ledger.Header, from int) *Record {
	n := h.Block
	return &Record{
		Image: 7, From: from, To: from + 1, Class: 1, Unknown: n - 2,
		Low: Unit/4 + 5*Unit/8, High: Unit/4 + 5*Unit/8,
		Cells: []Cell{{2, 1}, {5, 1}},
	}
}

func TestScoreIndex(t *testing.T) {
	for _, cells := range []int{1, 3, 10, 333, ledger.MaxScoreCells} {
		edges := make([]float64, cells+1)
		for j := range edges {
			edges[j] = float64(j) / float64(cells)
		}
		for j, edge := range edges {
			if got := Index(edge, cells); got != 2*j {
				t.Errorf("%v of %d cells is in %d, want %d", edge, cells, got, 2*j)
			}
			if got := Index(math.Nextafter(edge, 0), cells); j > 0 && got != 2*j-1 {
				t.Errorf("below %v of %d cells is %d, want %d", edge, cells, got, 2*j-1)
			}
			if got := Index(math.Nextafter(edge, 1), cells); j < cells && got != 2*j+1 {
				t.Errorf("above %v of %d cells is %d, want %d", edge, cells, got, 2*j+1)
			}
		}
		for range 2000 {
			h := float64(float32(rand.Float64()))
			i := Index(h, cells)
			if low := edges[i/2]; h < low || i%2 == 0 && h != low || i%2 == 1 && (h == low || h >= edges[i/2+1]) {
				t.Errorf("%v of %d cells is in %d", h, cells, i)
			}
		}
	}
}

func TestScoresRoundTrip(t *testing.T) {
	h := scoredHeader()
	path := filepath.Join(t.TempDir(), "l")
	a, b := exampleScores(h, 1), exampleScores(h, 2)
	digest := "sha256:" + string(bytes.Repeat([]byte("0f"), 32))
	write := func(w *Writer) error {
		w.Append(a)
		w.Append(b)
		return w.Finish(digest)
	}
	if err := Create(path, h, write); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, h, write); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := Create(path, h, func(w *Writer) error { w.Append(a); return w.Finish(digest) }); !errors.Is(err, os.ErrExist) {
		t.Errorf("another content: %v", err)
	}
	h.Program = ledger.Program{Version: "another"} // may differ
	s, err := scanScores(path, h)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, want := range []*Record{a, b} {
		if got, provisional, err := s.Next(); err != nil || provisional || !reflect.DeepEqual(&got, want) || !got.Equal(want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	if _, _, err := s.Next(); err != io.EOF || s.Digest() != digest {
		t.Errorf("%v, digest %s", err, s.Digest())
	}
	if a.Equal(b) || a.Equal(nil) || !(*Record)(nil).Equal(nil) {
		t.Error("Equal")
	}
	other := h
	other.Seed++
	if _, err := scanScores(path, other); !isScoresError(err) {
		t.Errorf("of another seed: %v", err)
	}
	// Every flip of a bit is found.
	whole := testkit.Read(t, Path(path))
	for i := range whole {
		bad := bytes.Clone(whole)
		bad[i] ^= 1 << (i % 8)
		if _, digest, err := scanAll(bad, h); err == nil && digest != "" && i < len(whole)-64 {
			t.Errorf("byte %d altered, and nothing is wrong", i)
		}
	}
	// A tail that a power cut tore is no part of it.
	for n := range whole {
		records, digest, err := scanAll(whole[:n], h)
		if err != nil && err != io.EOF || digest != "" || records > 2 {
			t.Errorf("%d of %d bytes: %d records, digest %q, %v", n, len(whole), records, digest, err)
		}
	}
}

func isScoresError(err error) bool {
	var s *Error
	return errors.As(err, &s)
}

// scanAll counts whole records.
func scanAll(b []byte, h ledger.Header) (records int, digest string, err error) {
	s, err := newScoresScanner("test", bytes.NewReader(b), h)
	for err == nil {
		if _, _, err = s.Next(); err == nil {
			records++
		}
	}
	if err == io.EOF {
		err = nil
	}
	return records, s.digest, err
}

func TestScoresCheck(t *testing.T) {
	h := scoredHeader()
	if err := exampleScores(h, 1).check(&h, 4); err != nil {
		t.Fatal(err)
	}
	for name, alter := range map[string]func(*Record){
		"class":             func(s *Record) { s.Class = int32(h.Model.Classes) },
		"no blocks":         func(s *Record) { s.To = s.From },
		"too many unknown":  func(s *Record) { s.Unknown++ },
		"index":             func(s *Record) { s.Cells[1].Index = 9 },
		"not ascending":     func(s *Record) { s.Cells[1].Index = 2 },
		"empty cell":        func(s *Record) { s.Cells[0].N = 0 },
		"sums reversed":     func(s *Record) { s.High = s.Low - 1 },
		"sums apart":        func(s *Record) { s.High = s.Low + 3 },
		"sum above":         func(s *Record) { s.Low, s.High = 2*Unit+1, 2*Unit+1 },
		"sum below cells":   func(s *Record) { s.Low, s.High = Unit/2, Unit/2 },
		"sum above cells":   func(s *Record) { s.Low, s.High = Unit+100, Unit+100 },
		"more than a block": func(s *Record) { s.Cells[0].N += h.Block },
	} {
		s := exampleScores(h, 1)
		alter(s)
		if err := s.check(&h, 4); err == nil {
			t.Errorf("%s: %+v passes", name, s)
		}
	}
	for _, scheme := range []string{"", "uniform/", "uniform/0", "uniform/1001", "uniform/01", "uniform/1x", "log/10"} {
		h.Scores = scheme
		if cells, err := h.ScoreCells(); err == nil {
			t.Errorf("%q has %d cells", scheme, cells)
		}
	}
}

// A ledger whose looks have no scores is refused; scores beyond it are cut off; provisional looks without scores go.
func TestOpenScores(t *testing.T) {
	h := scoredHeader()
	h.Selection = h.Block
	path := filepath.Join(t.TempDir(), "l")
	counts := func(from, to int) ledger.Look {
		return ledger.Look{Image: 7, Label: 1, From: from, To: to, Counts: []ledger.Count{{Class: 1, N: (to - from) * h.Block}}}
	}
	l := &ledger.Ledger{Header: h, Looks: []ledger.Look{counts(0, 1)}}
	w, found, err := Open(path, l)
	if err != nil || len(found) != 0 {
		t.Fatal(err, found)
	}
	w.Append(exampleScores(h, 1))
	w.Append(exampleScores(h, 2))
	if err := w.SyncProvisional([]*Record{exampleScores(h, 3)}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	// The ledger lost a look that it had as provisional before.
	l = &ledger.Ledger{Header: h, Looks: []ledger.Look{counts(0, 1), counts(1, 2)}, Provisional: []ledger.Look{counts(2, 3), counts(3, 5), counts(5, 6)}}
	w, found, err = Open(path, l)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := found[Address{7, 2, 3}]; !ok || len(l.Provisional) != 1 {
		t.Errorf("%v, %v", found, l.Provisional)
	}
	w.Append(exampleScores(h, 2))
	if err := w.SyncProvisional(nil); err != nil {
		t.Fatal(err)
	}
	w.Close()
	got, err := os.ReadFile(Path(path))
	line, _ := scoresHeaderOf(h)
	want := appendScores(appendScores(line, scoresLook, exampleScores(h, 1)), scoresLook, exampleScores(h, 2))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	l = &ledger.Ledger{Header: h, Looks: []ledger.Look{counts(0, 1), counts(1, 2), counts(2, 3), counts(3, 4)}}
	if _, _, err := Open(path, l); !isScoresError(err) {
		t.Errorf("a look without scores: %v", err)
	}
	if err := os.Remove(Path(path)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(path, l); !isScoresError(err) {
		t.Errorf("no scores at all: %v", err)
	}
	testkit.Write(t, []byte("something else"), Path(path))
	if _, _, err := Open(path, &ledger.Ledger{Header: h}); !isScoresError(err) {
		t.Errorf("a foreign file: %v", err)
	}
}

// What is read, written again, has the same bytes.
func FuzzScores(f *testing.F) {
	h := scoredHeader()
	line, err := scoresHeaderOf(h)
	if err != nil {
		f.Fatal(err)
	}
	whole := appendScores(appendScores(line, scoresLook, exampleScores(h, 1)), scoresProvisional, exampleScores(h, 2))
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add(line)
	f.Add([]byte{})
	f.Add(append(bytes.Clone(line), scoresEnd, 64))
	f.Add(append(bytes.Clone(line), 'L', 0x80, 0))
	f.Add(append(bytes.Clone(line), 'L', 0xff, 0xff, 0xff, 0xff, 0x7f))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := newScoresScanner("fuzz", bytes.NewReader(b), h)
		if err != nil {
			if err != io.EOF && !isScoresError(err) {
				t.Fatal(err)
			}
			return
		}
		again := bytes.Clone(line)
		for {
			scores, provisional, err := s.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				if !isScoresError(err) {
					t.Fatal(err)
				}
				return
			}
			if err := scores.check(&h, 4); err != nil {
				t.Fatal(err)
			}
			tag := byte(scoresLook)
			if provisional {
				tag = scoresProvisional
			}
			again = appendScores(again, tag, &scores)
		}
		if s.digest != "" {
			again = appendScoresEnd(again, s.digest, s.body[32:])
		}
		if !bytes.HasPrefix(b, again) || int64(len(again)) != s.at {
			t.Fatalf("%q was read, and written again is %q", b, again)
		}
	})
}
