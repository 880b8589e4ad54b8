package ledgerio

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/certspec/certspec/rs/ledger"
)

func blockShard() (ledger.Header, []ledger.Look) {
	h := header()
	h.Rule = ledger.Rule{Name: "fixed", Budget: "all", Looks: []ledger.Level{{Samples: 300, Alpha: .001}}}
	h.Data.Images = 2
	h.Shard = &ledger.Shard{By: ledger.ShardBlocks, Index: 1, Count: 2}
	return h, []ledger.Look{
		{Image: 20, Label: 7, From: 2, To: 4, Misses: 5, Counts: []ledger.Count{{Class: 7, N: 195}}},
		{Image: 0, Label: -1, From: 2, To: 3, Counts: []ledger.Count{{Class: 1, N: 100}}},
		{Image: 0, Label: -1, From: 3, To: 4, Counts: []ledger.Count{{Class: 2, N: 100}}},
	}
}

func TestBlockShard(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	h, looks := blockShard()
	w, _, err := Open(path, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range looks {
		w.Append(l)
	}
	if err := w.Finish(ledger.Claims{}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	text, _ := os.ReadFile(path)
	if !strings.Contains(string(text), "\n0 -1 3 4 0 2:100\nclaims 0\nsha256 ") {
		t.Errorf("wrote\n%s", text)
	}
	l, err := Read(path)
	if err != nil || !reflect.DeepEqual(l.Looks, looks) || l.Claims == nil || len(l.Claims.Images) != 0 || l.Digest == "" {
		t.Fatalf("read %+v, %v", l, err)
	}
	// The Encoder writes the same.
	var b bytes.Buffer
	e, err := newEncoder(&b, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range looks {
		e.Look(l)
	}
	if err := e.Finish(ledger.Claims{}); err != nil || !bytes.Equal(b.Bytes(), text) {
		t.Errorf("encoded %v\n%s", err, b.Bytes())
	}
	for _, c := range []struct{ old, new, want string }{
		{"claims 0", "claims 2", "which is 0"},
		{"\n0 -1 3 4", "\n0 -1 4 5", "goes on at block 4"},
		{"\n0 -1 3 4", "\n20 -1 3 4", "second time"},
		{`"by":"blocks"`, `"by":"images"`, "begins at block 2"},
	} {
		_, _, err := decode("x", strings.NewReader(strings.Replace(string(text), c.old, c.new, 1)))
		var format *ledger.FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v, want an error with %q", c.new, c.old, err, c.want)
		}
	}
}

// A line may count every class of a model, as many as there may be; how long it may be follows from the header.
func TestLongLines(t *testing.T) {
	for _, classes := range []int{10, 1000, 100_000, MaxClasses} {
		h := header()
		h.Model.Classes, h.Block = classes, 2*classes
		h.Selection, h.Rule.Looks = h.Block, []ledger.Level{{Samples: h.Block, Alpha: .001}}
		path := filepath.Join(t.TempDir(), "l")
		w, _, err := Open(path, h)
		if err != nil {
			t.Fatal(err)
		}
		look := ledger.Look{Image: 1, Label: 2, To: 1}
		for c := range classes {
			look.Counts = append(look.Counts, ledger.Count{Class: int32(c), N: 2})
		}
		w.Append(look)
		look.Image = 3
		w.Append(look)
		if err := errors.Join(w.Sync(), w.Close()); err != nil {
			t.Fatal(err)
		}
		l, err := Read(path)
		if err != nil || len(l.Looks) != 2 || !reflect.DeepEqual(l.Looks[1], look) {
			t.Fatalf("%d classes: %v", classes, err)
		}
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(strings.Repeat("1", longestOf(&h)+1)); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "line 4: longer than") {
			t.Errorf("%d classes: %v", classes, err)
		}
	}
	h := header()
	h.Model.Classes = MaxClasses + 1
	_, _, err := Open(filepath.Join(t.TempDir(), "l"), h)
	if err == nil || !strings.Contains(err.Error(), "want 1 to 1000000") {
		t.Errorf("%v", err)
	}
}
