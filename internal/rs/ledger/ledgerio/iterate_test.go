package ledgerio

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs/ledger"
)

// The iterators give what Read and Next give, in that order, end with an error where a file is damaged, and stop where the caller does.
func TestIterators(t *testing.T) {
	const file = "../../../golden/testdata/rs-scores.ledger"
	l, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	images, looks := 0, 0
	for list := range l.Images() {
		for _, look := range list {
			if look.Image != list[0].Image || look.Image != l.Looks[looks].Image || look.From != l.Looks[looks].From {
				t.Errorf("look %d is %+v", looks, look)
			}
			looks++
		}
		images++
	}
	if images != len(l.Claims.Images) || looks != len(l.Looks) {
		t.Errorf("%d images, %d looks; want %d and %d", images, looks, len(l.Claims.Images), len(l.Looks))
	}
	for list := range l.Images() {
		if list[0].Image != l.Looks[0].Image {
			t.Error(list)
		}
		break
	}
	s, err := Scan(file)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	kinds := map[Kind]int{}
	for r, err := range s.All() {
		if err != nil {
			t.Fatal(err)
		}
		kinds[r.Kind]++
	}
	if kinds[LookLine] != looks || kinds[ClaimLine] != images || kinds[DigestLine] != 1 {
		t.Errorf("%v", kinds)
	}
	whole := testkit.Read(t, file)
	bad := filepath.Join(t.TempDir(), "x")
	os.WriteFile(bad, append(whole[:len(whole)/2], "\nno line\n"...), 0o666)
	damaged, err := Scan(bad)
	if err != nil {
		t.Fatal(err)
	}
	defer damaged.Close()
	var last error
	for _, err := range damaged.All() {
		if last != nil {
			t.Error("something follows an error")
		}
		last = err
	}
	var format *ledger.FormatError
	if !errors.As(last, &format) {
		t.Error(last)
	}
}

// A scanner gives the looks of images, and then the records behind them, wherever the looks end.
func TestScannerImages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	h := header()
	w, _, err := Open(path, h)
	if err != nil {
		t.Fatal(err)
	}
	look := func(image, from, to int) ledger.Look {
		return ledger.Look{Image: image, Label: 1, From: from, To: to, Counts: []ledger.Count{{Class: 1, N: (to - from) * h.Block}}}
	}
	for _, l := range []ledger.Look{look(3, 0, 1), look(3, 1, 2), look(5, 0, 1), look(4, 0, 1)} {
		w.Append(l)
	}
	if err := w.SyncProvisional([]ledger.Look{look(9, 0, 1)}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	s, err := Scan(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got []int
	for looks, err := range s.Images() {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, looks[0].Image, len(looks)); looks[0].Image == 3 {
			break
		}
	}
	for looks := range s.Images() {
		got = append(got, looks[0].Image, len(looks))
	}
	for r, err := range s.All() {
		if err != nil || r.Kind != ProvisionalLine {
			t.Fatalf("%+v, %v", r, err)
		}
		got = append(got, r.Look.Image)
	}
	if want := []int{3, 2, 5, 1, 4, 1, 9}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
