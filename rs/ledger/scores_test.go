package ledger

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
)

func scoredHeader() Header {
	h := header()
	h.Scores = ScoresScheme(4)
	return h
}

// exampleScores are the scores of one look of one block of 100 samples: 40 of ¼ exactly, 50 of ⅝ and 10 unknown.
func exampleScores(h Header, from int) *Scores {
	n := h.Block
	return &Scores{
		Image: 7, From: from, To: from + 1, Class: 1, Unknown: n - 2,
		Low: ScoreUnit/4 + 5*ScoreUnit/8, High: ScoreUnit/4 + 5*ScoreUnit/8,
		Cells: []ScoreCell{{2, 1}, {5, 1}},
	}
}

func TestScoreIndex(t *testing.T) {
	for _, cells := range []int{1, 3, 10, 333, MaxScoreCells} {
		edges := make([]float64, cells+1)
		for j := range edges {
			edges[j] = float64(j) / float64(cells)
		}
		for j, edge := range edges {
			if got := ScoreIndex(edge, cells); got != 2*j {
				t.Errorf("%v of %d cells is in %d, want %d", edge, cells, got, 2*j)
			}
			if got := ScoreIndex(math.Nextafter(edge, 0), cells); j > 0 && got != 2*j-1 {
				t.Errorf("below %v of %d cells is %d, want %d", edge, cells, got, 2*j-1)
			}
			if got := ScoreIndex(math.Nextafter(edge, 1), cells); j < cells && got != 2*j+1 {
				t.Errorf("above %v of %d cells is %d, want %d", edge, cells, got, 2*j+1)
			}
		}
		for range 2000 {
			h := float64(float32(rand.Float64()))
			i := ScoreIndex(h, cells)
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
	write := func(w *ScoresWriter) error {
		w.Append(a)
		w.Append(b)
		return w.Finish(digest)
	}
	if err := CreateScores(path, h, write); err != nil {
		t.Fatal(err)
	}
	if err := CreateScores(path, h, write); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := CreateScores(path, h, func(w *ScoresWriter) error { w.Append(a); return w.Finish(digest) }); !errors.Is(err, os.ErrExist) {
		t.Errorf("another content: %v", err)
	}
	h.Program = Program{Version: "another"} // may differ
	s, err := scanScores(path, h)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, want := range []*Scores{a, b} {
		if got, provisional, err := s.Next(); err != nil || provisional || !reflect.DeepEqual(&got, want) || !got.Equal(want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	if _, _, err := s.Next(); err != io.EOF || s.Digest() != digest {
		t.Errorf("%v, digest %s", err, s.Digest())
	}
	if a.Equal(b) || a.Equal(nil) || !(*Scores)(nil).Equal(nil) {
		t.Error("Equal")
	}
	other := h
	other.Seed++
	if _, err := scanScores(path, other); !isScoresError(err) {
		t.Errorf("of another seed: %v", err)
	}
	// Every flip of a bit is found.
	whole, err := os.ReadFile(ScoresPath(path))
	if err != nil {
		t.Fatal(err)
	}
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
	var s *ScoresError
	return errors.As(err, &s)
}

// scanAll counts whole records.
func scanAll(b []byte, h Header) (records int, digest string, err error) {
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
	for name, alter := range map[string]func(*Scores){
		"class":             func(s *Scores) { s.Class = int32(h.Model.Classes) },
		"no blocks":         func(s *Scores) { s.To = s.From },
		"too many unknown":  func(s *Scores) { s.Unknown++ },
		"index":             func(s *Scores) { s.Cells[1].Index = 9 },
		"not ascending":     func(s *Scores) { s.Cells[1].Index = 2 },
		"empty cell":        func(s *Scores) { s.Cells[0].N = 0 },
		"sums reversed":     func(s *Scores) { s.High = s.Low - 1 },
		"sums apart":        func(s *Scores) { s.High = s.Low + 3 },
		"sum above":         func(s *Scores) { s.Low, s.High = 2*ScoreUnit+1, 2*ScoreUnit+1 },
		"sum below cells":   func(s *Scores) { s.Low, s.High = ScoreUnit/2, ScoreUnit/2 },
		"sum above cells":   func(s *Scores) { s.Low, s.High = ScoreUnit+100, ScoreUnit+100 },
		"more than a block": func(s *Scores) { s.Cells[0].N += h.Block },
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
	counts := func(from, to int) Look {
		return Look{Image: 7, Label: 1, From: from, To: to, Counts: []Count{{1, (to - from) * h.Block}}}
	}
	l := &Ledger{Header: h, Looks: []Look{counts(0, 1)}}
	w, found, err := OpenScores(path, l)
	if err != nil || len(found) != 0 {
		t.Fatal(err, found)
	}
	w.Append(exampleScores(h, 1))
	w.Append(exampleScores(h, 2))
	if err := w.SyncProvisional([]*Scores{exampleScores(h, 3)}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	// The ledger lost a look that it had as provisional before.
	l = &Ledger{Header: h, Looks: []Look{counts(0, 1), counts(1, 2)}, Provisional: []Look{counts(2, 3), counts(3, 5), counts(5, 6)}}
	w, found, err = OpenScores(path, l)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := found[ScoresAddress{7, 2, 3}]; !ok || len(l.Provisional) != 1 {
		t.Errorf("%v, %v", found, l.Provisional)
	}
	w.Append(exampleScores(h, 2))
	if err := w.SyncProvisional(nil); err != nil {
		t.Fatal(err)
	}
	w.Close()
	got, err := os.ReadFile(ScoresPath(path))
	line, _ := scoresHeaderOf(h)
	want := appendScores(appendScores(line, scoresLook, exampleScores(h, 1)), scoresLook, exampleScores(h, 2))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	l = &Ledger{Header: h, Looks: []Look{counts(0, 1), counts(1, 2), counts(2, 3), counts(3, 4)}}
	if _, _, err := OpenScores(path, l); !isScoresError(err) {
		t.Errorf("a look without scores: %v", err)
	}
	if err := os.Remove(ScoresPath(path)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := OpenScores(path, l); !isScoresError(err) {
		t.Errorf("no scores at all: %v", err)
	}
	if err := os.WriteFile(ScoresPath(path), []byte("something else"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := OpenScores(path, &Ledger{Header: h}); !isScoresError(err) {
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
