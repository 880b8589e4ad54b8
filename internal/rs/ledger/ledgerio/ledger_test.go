package ledgerio

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/noise"
)

func header() ledger.Header {
	return ledger.Header{
		Format: ledger.Format, Version: ledger.VersionOf(noise.LawGrid),
		Model: classifier.Info{Name: "toy", Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Classes: 12,
			Identity: classifier.Identity{Weights: "formula <&>", Engine: "toy"}},
		Data: ledger.Data{Name: "grey", Digest: "sha256:00", Images: 3}, Sigma: .25, Noise: "grid/1", Seed: 1<<64 - 1, SeedChosen: true,
		Alpha: .001, Selection: 100, Block: 100, Order: "data",
		Rule: ledger.Rule{Name: "staged", Tolerance: .01, Budget: "union bound", Looks: []ledger.Level{{Samples: 100, Alpha: .0005}, {Samples: 300, Alpha: .0005}}},
	}
}

func looks() []ledger.Look {
	return []ledger.Look{
		{Image: 20, Label: 7, From: 0, To: 1, Counts: []ledger.Count{{Class: 3, N: 98}, {Class: 7, N: 2}}},
		{Image: 20, Label: 7, From: 1, To: 3, Misses: 5, Counts: []ledger.Count{{Class: 7, N: 195}}},
		{Image: 0, Label: -1, From: 0, To: 1, Misses: 100, Counts: []ledger.Count{}},
		{Image: 5, Label: 0, From: 0, To: 1, Counts: []ledger.Count{{Class: 0, N: 50}, {Class: 11, N: 50}}},
		{Image: 5, Label: 0, From: 1, To: 4, Counts: []ledger.Count{{Class: 11, N: 300}}},
	}
}

func claims() ledger.Claims {
	return ledger.Claims{
		Images: []ledger.Claim{{Image: 20, Class: 7, K: 195, N: 200, Lower: "0.941122334455667", Radius: "0.391234567"}, {Image: 0, Class: -1, K: 0, N: 0, Lower: "0.000000000000000", Radius: "0"}, {Image: 5, Class: 11, K: 300, N: 300, Lower: "0.97", Radius: "0.470198321"}},
		ACR:    "0.391234567", Labelled: 2, Certified: []ledger.Certified{{Radius: "0", Count: 1}, {Radius: "0.25", Count: 1}},
	}
}

// write makes a ledger in a new file; with provisional looks instead of claims if there are some.
func write(t testing.TB, provisional ...ledger.Look) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "folder", "x.ledger")
	w, l, err := Open(path, header())
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Looks) != 0 || !reflect.DeepEqual(l.Header, header()) {
		t.Fatalf("new ledger: %+v", l)
	}
	for _, look := range looks() {
		w.Append(look)
	}
	if len(provisional) > 0 {
		err = w.SyncProvisional(provisional)
	} else {
		err = w.Finish(claims())
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRoundTrip(t *testing.T) {
	path := write(t)
	l, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	c := claims()
	if !reflect.DeepEqual(l.Header, header()) || !reflect.DeepEqual(l.Looks, looks()) || !reflect.DeepEqual(l.Claims, &c) || l.Torn {
		t.Errorf("read %+v", l)
	}
	text, _ := os.ReadFile(path)
	lines := strings.Split(string(text), "\n")
	// The form that other programs read: a change of it is a new version.
	for i, want := range []string{1: "20 7 0 1 0 3:98 7:2", 2: "20 7 1 3 5 7:195", 3: "0 -1 0 1 100", 6: "claims 3",
		7: "20 7 195 200 0.941122334455667 0.391234567", 8: "0 -1 0 0 0.000000000000000 0", 10: "acr 0.391234567 2", 11: "certified 0 1 2"} {
		if want != "" && lines[i] != want {
			t.Errorf("line %d is %q, want %q", i+1, lines[i], want)
		}
	}
	if want := `{"format":"certspec-ledger","version":3,"program":{"version":""},"model":{"name":"toy",`; !strings.HasPrefix(lines[0], want) {
		t.Errorf("header %s", lines[0])
	}
	if !strings.Contains(lines[0], `"seed":"18446744073709551615"`) || !strings.Contains(lines[0], "formula <&>") {
		t.Errorf("header %s", lines[0])
	}
}

// Wherever a power cut tears the file, the whole lines before are read, and a run goes on to the same bytes.
func TestTornAnywhere(t *testing.T) {
	whole := testkit.Read(t, write(t))
	path := filepath.Join(t.TempDir(), "torn")
	body := bytes.IndexByte(whole, '\n')
	for n := 0; n < len(whole); n++ {
		if n%50 == 1 && n+49 < body {
			n += 49 // the header is long
		}
		testkit.Write(t, whole[:n], path)
		w, l, err := Open(path, header())
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if !reflect.DeepEqual(l.Looks, looks()[:len(l.Looks)]) && len(l.Looks) > 0 || l.Claims != nil {
			t.Fatalf("%d bytes: %+v", n, l)
		}
		if want := max(0, bytes.Count(whole[:n], []byte("\n"))-1); len(l.Looks) != min(want, 5) {
			t.Fatalf("%d bytes: %d looks, want %d", n, len(l.Looks), want)
		}
		for _, look := range looks()[len(l.Looks):] {
			w.Append(look)
		}
		if err := w.Finish(claims()); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if got, _ := os.ReadFile(path); !bytes.Equal(got, whole) {
			t.Fatalf("torn at %d bytes and finished:\n%s", n, got)
		}
	}
}

func TestProvisional(t *testing.T) {
	more := []ledger.Look{{Image: 5, Label: 0, From: 4, To: 6, Counts: []ledger.Count{{Class: 11, N: 200}}}, {Image: 9, Label: 1, From: 0, To: 1, Counts: []ledger.Count{{Class: 1, N: 100}}}}
	path := write(t, more...)
	l, err := Read(path)
	if err != nil || !reflect.DeepEqual(l.Provisional, more) || !reflect.DeepEqual(l.Looks, looks()) {
		t.Fatalf("%+v, %v", l, err)
	}
	w, _, err := Open(path, header())
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := Read(path); len(got.Provisional) != 2 {
		t.Error("provisional lines are gone before there is something in their place")
	}
	if err := w.SyncProvisional(more[:1]); err != nil {
		t.Fatal(err)
	}
	if got, _ := Read(path); !reflect.DeepEqual(got.Provisional, more[:1]) {
		t.Errorf("provisional %+v", got.Provisional)
	}
	if err := w.Finish(claims()); err != nil {
		t.Fatal(err)
	}
	w.Close()
	got, _ := os.ReadFile(path)
	if want, _ := os.ReadFile(write(t)); !bytes.Equal(got, want) {
		t.Errorf("provisional lines left a trace:\n%s", got)
	}
}

// Any change of one byte of a closed ledger is noticed.
func TestAlteredByte(t *testing.T) {
	whole, _ := os.ReadFile(write(t))
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		b := bytes.Clone(whole)
		i := rng.IntN(len(b))
		b[i] ^= byte(1 + rng.IntN(255))
		l, _, err := decode("x", bytes.NewReader(b))
		if err == nil && l != nil && l.Claims != nil && !l.Torn {
			t.Fatalf("byte %d from %q to %q: unnoticed", i, whole[i], b[i])
		}
	}
}

func TestForeignLines(t *testing.T) {
	path := write(t)
	whole, _ := os.ReadFile(path)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for _, c := range []struct {
		line int // from 1, that is replaced
		text string
		want string
	}{
		{1, "idx\tlabel\n", "not the header"},
		{1, "{}\n", "not the header"},
		{1, `{"format":"certspec-ledger","version":1,"colour":"red"}` + "\n", "colour"},
		{1, `{"format":"certspec-ledger","version":1,"block":0}` + "\n", "classes"},
		{2, "\n", "want whole numbers"},
		{2, "20 7 0 1 0 3:98  7:2\n", "class:count"},
		{2, "20 7 0 1 0 3:98 7:1\n", "sum to 99"},
		{2, "20 7 0 1 0 3:98 7:3\n", "sum to 101"},
		{2, "20 7 0 1 0 3:100 7:0\n", "positive"},
		{2, "20 7 0 1 0 3:102 7:-2\n", "sum to 102"},
		{2, "20 7 0 1 0 7:2 3:98\n", "ascending"},
		{2, "20 7 0 1 0 7:2 12:98\n", "below 12"},
		{2, "20 7 0 1 0 3:098 7:2\n", "positive whole"},
		{2, "20 7 0 1 0 3:98 7:2 \n", "class:count"},
		{2, "20 7 1 1 0 3:98 7:2\n", "at least one block"},
		{2, "20 7 1 2 0 3:98 7:2\n", "begins at block 1"},
		{2, "20 7 0 9999999999999999999999999 0 3:98 7:2\n", "whole numbers"},
		{2, "20 7 0 99999999999999 0 3:98 7:2\n", "are more than"},
		{2, "-20 7 0 1 0 3:98 7:2\n", "not negative"},
		{2, "20 -2 0 1 0 3:98 7:2\n", "not negative"},
		{3, "20 8 1 3 5 7:195\n", "goes on at block 1 with label 8"},
		{3, "20 7 2 4 5 7:195\n", "goes on at block 2"},
		{5, "20 7 0 1 0 3:98 7:2\n", "second time"},
		{4, "~0 -1 0 1 100\n", "behind a provisional line"},
		{7, "claims 4\n", "which is 3"},
		{8, "20 7 195 200 0.94 0.39 1\n", "want a claim"},
		{8, "20 7 195 200 0.94 -0.39\n", "want a claim"},
		{8, "20 7 195 200 nan 0.39\n", "want a claim"},
		{8, "20 7 201 200 0.94 0.39\n", "201 hits of 200"},
		{8, "20 12 195 200 0.94 0.39\n", "class 12"},
		{8, "21 7 195 200 0.94 0.39\n", "image 21, want image 20"},
		{11, "acr 0.39 4\n", "want acr"},
		{12, "certified 0 3 2\n", "want certified"},
		{13, "hello\n", "want acr, certified"},
		{14, "sha256 00\n", "altered or damaged"},
		{15, "20 7 0 1 0 3:98 7:2\n", "behind the digest"},
	} {
		var b []byte
		for i, line := range lines {
			if i+1 == c.line {
				line = []byte(c.text)
			}
			b = append(b, line...)
		}
		testkit.Write(t, b, path)
		_, err := Read(path)
		var format *ledger.FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("line %d %q: error %v, want one with %q", c.line, c.text, err, c.want)
			continue
		}
		if want := c.line; format.Line != want && c.line != 4 || format.File != path {
			t.Errorf("line %d %q: error %v names line %d", c.line, c.text, err, format.Line)
		}
		// A writer leaves a foreign file as it is.
		if _, _, err := Open(path, header()); err == nil {
			t.Errorf("line %d %q: opened for writing", c.line, c.text)
		}
		if got, _ := os.ReadFile(path); !bytes.Equal(got, b) {
			t.Errorf("line %d %q: changed", c.line, c.text)
		}
	}
}

func TestNewerVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	os.WriteFile(path, []byte(`{"format":"certspec-ledger","version":7,"all":"new"}`+"\n"), 0o666)
	_, err := Read(path)
	var version *ledger.VersionError
	if !errors.As(err, &version) || version.Version != 7 || !strings.Contains(err.Error(), "version 7") || !strings.Contains(err.Error(), "versions 1 to 4") {
		t.Errorf("error %v", err)
	}
}

func TestNoVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	for version, want := range map[string]string{"0": "version 0, want 1 to", "-1": "not the header", "01": "not the header", "": "not the header"} {
		os.WriteFile(path, []byte(`{"format":"certspec-ledger","version":`+version+"}\n"), 0o666)
		var format *ledger.FormatError
		if _, err := Read(path); !errors.As(err, &format) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v", err)
		}
	}
}

func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"empty": "", "no newline": "hello", "binary": strings.Repeat("\x00\xff", 2<<20), "text": "hello\n"} {
		path := filepath.Join(dir, name)
		os.WriteFile(path, []byte(text), 0o666)
		var format *ledger.FormatError
		if _, err := Read(path); !errors.As(err, &format) || format.Line != 1 {
			t.Errorf("%s: error %v", name, err)
		}
		_, _, err := Open(path, header())
		if text == "" && err != nil || text != "" && err == nil {
			t.Errorf("%s: opened for writing: %v", name, err)
		}
		if got, _ := os.ReadFile(path); text != "" && string(got) != text {
			t.Errorf("%s: changed", name)
		}
	}
	if _, _, err := Open(dir, header()); err == nil {
		t.Error("a folder was opened as a ledger")
	}
}

// full is a disk with room for some bytes.
type full struct {
	journal.File
	room int
}

func (f *full) Write(b []byte) (int, error) {
	n := min(len(b), f.room)
	f.room -= n
	if _, err := f.File.Write(b[:n]); err != nil || n == len(b) {
		return n, err
	}
	return n, syscall.ENOSPC
}

func TestFullDisk(t *testing.T) {
	want, _ := os.ReadFile(write(t))
	for room := 0; room < 160; room += 3 {
		path := filepath.Join(t.TempDir(), "x")
		w, _, err := Open(path, header())
		if err != nil {
			t.Fatal(err)
		}
		w.w.Through(func(f journal.File) journal.File { return &full{f, room} })
		for _, look := range looks() {
			w.Append(look)
			if err = w.SyncProvisional([]ledger.Look{{Image: 77, To: 1, Counts: []ledger.Count{{Class: 0, N: 100}}}}); err != nil {
				break
			}
		}
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) {
			t.Fatalf("room for %d bytes: error %v", room, err)
		}
		if again := w.Sync(); again == nil {
			t.Error("goes on after an error")
		}
		w.Close()
		// What was there is there, and with room again the run ends with the same bytes.
		w, l, err := Open(path, header())
		if err != nil || l.Torn {
			t.Fatalf("room for %d bytes: %v, torn %v", room, err, l.Torn)
		}
		for _, look := range looks()[len(l.Looks):] {
			w.Append(look)
		}
		if err := w.Finish(claims()); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if got, _ := os.ReadFile(path); !bytes.Equal(got, want) {
			t.Fatalf("room for %d bytes:\n%s", room, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	closed, _ := os.ReadFile(write(f))
	open, _ := os.ReadFile(write(f, ledger.Look{Image: 5, Label: 0, From: 4, To: 6, Counts: []ledger.Count{{Class: 11, N: 200}}}))
	first := bytes.IndexByte(closed, '\n') + 1
	bases := [][]byte{closed, open, closed[:first], nil}
	for which := range bases {
		f.Add(uint8(which), uint16(0), uint8(0), []byte{})
	}
	f.Add(uint8(2), uint16(first), uint8(0), []byte("1 -1 0 9999999999999 0 1:1\n"))
	f.Add(uint8(3), uint16(0), uint8(0), []byte("{}\n"))
	f.Fuzz(func(t *testing.T, which uint8, at uint16, cut uint8, put []byte) {
		for _, b := range [][]byte{testkit.Edit(bases[int(which)%len(bases)], at, cut, put)} {
			l, committed, err := decode("x", bytes.NewReader(b))
			if err != nil || l == nil {
				continue
			}
			// What is read is written as the bytes that were read.
			out := bytes.Clone(b[:bytes.IndexByte(b, '\n')+1])
			for _, look := range l.Looks {
				out = appendLook(out, look)
			}
			if l.Claims == nil && int64(len(out)) != committed || !bytes.HasPrefix(b, out) {
				t.Errorf("%q was read as %q", b, out)
			}
		}
	})
}

func BenchmarkRead10000Images(b *testing.B) {
	h := header()
	h.Data.Images = 10_000
	path := filepath.Join(b.TempDir(), "x")
	w, _, err := Open(path, h)
	if err != nil {
		b.Fatal(err)
	}
	c := ledger.Claims{ACR: "0.5", Labelled: 10_000}
	rng := rand.New(rand.NewPCG(1, 1))
	lines := 0
	for image := range 10_000 {
		at, size := 0, 1
		for look := range 9 {
			n := size * h.Block
			other := 1 + rng.IntN(n/10)
			w.Append(ledger.Look{Image: image, Label: image % 10, From: at, To: at + size, Counts: []ledger.Count{{Class: 3, N: n - other}, {Class: 7, N: other}}})
			lines++
			if at += size; look > 0 {
				size *= 2
			}
		}
		c.Images = append(c.Images, ledger.Claim{Image: image, Class: 3, K: 12000, N: 12800, Lower: fmt.Sprintf("%.15f", rng.Float64()), Radius: fmt.Sprintf("%.9f", rng.Float64())})
	}
	if err := w.Finish(c); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		l, err := Read(path)
		if err != nil || len(l.Looks) != lines {
			b.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
}
