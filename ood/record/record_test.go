package record

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs/ledger"
)

func header(images int) Header {
	return Header{
		Format: format, Version: version, Program: ledger.Program{Version: "test"},
		Model: Model{Name: "net", Network: "sha256:1", Classes: 10, Trained: []ledger.Data{{Name: "a/train", Digest: "sha256:2", Images: 5}}}, Data: ledger.Data{Name: "b/test", Digest: "sha256:3", Images: images},
		Set: "linf", Epsilon: 0.1, Bound: &Bound{feedforward.CROWN, feedforward.Rigorous, ""},
	}
}

func lines(rng *rand.Rand, n int) []Line {
	out := make([]Line, n)
	for i := range out {
		clean := -2 * rng.Float64()
		out[i] = Line{Image: 3 * i, Label: i%11 - 1, Class: i % 10, Log: clean, Upper: clean * rng.Float64(), Lower: max(clean*1.3, -2.3)}
		if i%5 == 0 {
			out[i].Upper = 0
		}
		if i == 7 {
			out[i].Log, out[i].Upper = math.NaN(), 0
		}
	}
	return out
}

func write(t *testing.T, path string, h Header, all []Line) *File {
	t.Helper()
	w, f, err := Open(path, h)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.Append(all[len(f.Lines):]...)
	if _, _, err := w.Finish(all); err != nil {
		t.Fatal(err)
	}
	f, err = Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Bounds are printed outwards, by less than one in the 18th digit, and read back as they were.
func TestDecimalsRoundOutwards(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	moved := 0
	for range 20000 {
		v := -math.Exp(rng.NormFloat64() * 40)
		for side, text := range map[int]string{1: up(v), -1: down(v)} {
			printed, ok := new(big.Rat).SetString(text)
			exact := new(big.Rat).SetFloat64(v)
			if !ok || printed.Cmp(exact)*side < 0 {
				t.Fatalf("%v is printed as %s, on the wrong side", v, text)
			}
			if text != strconv.FormatFloat(v, 'e', 17, 64) {
				moved++
			}
			if back, err := strconv.ParseFloat(text, 64); err != nil || back != v {
				t.Fatalf("%v is read from %s as %v (%v)", v, text, back, err)
			}
			off := new(big.Rat).Quo(new(big.Rat).Sub(printed, exact), exact)
			if far, _ := off.Abs(off).Float64(); far >= 1e-17 {
				t.Fatalf("%v is printed as %s, off by %v", v, text, far)
			}
		}
	}
	if moved < 10000 {
		t.Errorf("%d of 40000 texts were rounded outwards; about half need it", moved)
	}
	if up(-1-0x1p-52) != "-1.00000000000000022e+00" || up(math.Copysign(0, -1)) != "0e+00" {
		t.Error(up(-1-0x1p-52), up(math.Copysign(0, -1)))
	}
}

// A file of a version that did not say whether layers were compared stays readable and goes on with its bytes; one
// that says so goes on with the same answer alone.
func TestFilesSayWhetherLayersWereCompared(t *testing.T) {
	dir := t.TempDir()
	all := lines(rand.New(rand.NewPCG(3, 4)), 9)
	compared, not := header(9), header(9)
	compared.Model.Compared, not.Model.Compared = "onnxruntime", feedforward.NotCompared
	old := filepath.Join(dir, "old.ood")
	write(t, old, header(9), all)
	want, _ := os.ReadFile(old)
	if strings.Contains(string(want), "compared") {
		t.Fatal("the header of an old file speaks of a comparison")
	}
	for _, h := range []Header{compared, not} {
		testkit.Write(t, want[:len(want)/2], old)
		write(t, old, h, all)
		if got, _ := os.ReadFile(old); string(got) != string(want) {
			t.Errorf("%q: an old file ends with other bytes", h.Model.Compared)
		}
		path := filepath.Join(dir, h.Model.Compared+".ood")
		write(t, path, h, all)
		if f, err := Read(path); err != nil || f.Header.Model.Compared != h.Model.Compared {
			t.Errorf("%+v, %v", f, err)
		}
	}
	var other *MismatchError
	_, _, err := Open(filepath.Join(dir, "no.ood"), compared)
	if !errors.As(err, &other) || !strings.Contains(err.Error(), "compared") {
		t.Errorf("a file of layers that were not compared goes on: %v", err)
	}
}

func TestResumeAndMergeGiveTheSameBytes(t *testing.T) {
	dir := t.TempDir()
	all := lines(rand.New(rand.NewPCG(3, 4)), 23)
	whole := filepath.Join(dir, "whole.ood")
	f := write(t, whole, header(23), all)
	want, _ := os.ReadFile(whole)
	if f.Claims == nil || f.Claims.NaN != 1 || f.Claims.Images != 23 || !strings.HasPrefix(f.Digest, "sha256:") {
		t.Errorf("%+v %s", f.Claims, f.Digest)
	}
	for i, l := range f.Lines {
		if i != 7 && !reflect.DeepEqual(l, all[i]) {
			t.Fatalf("line %d: %+v; want %+v", i, l, all[i])
		}
	}
	// Cut anywhere, as a killed run or a power cut leaves it, and gone on with.
	for cut := 0; cut < len(want); cut += 149 {
		path := testkit.Write(t, want[:cut], dir, "cut.ood")
		write(t, path, header(23), all)
		if got, _ := os.ReadFile(path); string(got) != string(want) {
			t.Fatalf("cut at %d, the file ends with other bytes", cut)
		}
	}
	var paths []string
	for i := range 4 {
		h := header(23)
		h.Shard = &Shard{i, 4}
		from, to := h.Shard.Range(23)
		paths = append([]string{filepath.Join(dir, "part"+strconv.Itoa(i)+".ood")}, paths...)
		write(t, paths[0], h, all[from:to])
	}
	out := filepath.Join(dir, "merged.ood")
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Merge(stopped, out, paths); !errors.Is(err, context.Canceled) {
		t.Errorf("merged after the context had ended: %v", err)
	}
	if _, err := Merge(t.Context(), out, paths); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(out); string(got) != string(want) {
		t.Error("the merged file has other bytes")
	}
	other := header(23)
	other.Shard = &Shard{1, 5}
	from, to := other.Shard.Range(23)
	fifth := filepath.Join(dir, "fifth.ood")
	write(t, fifth, other, all[from:to])
	for _, c := range []struct {
		files []string // paths count down
		want  string
	}{
		{paths[1:], "shard 3 of 4 is missing"}, {paths[:3], "shard 0 of 4 is missing"}, {[]string{paths[3], paths[0], paths[1]}, "shard 1 of 4 is missing"},
		{append([]string{paths[2]}, paths...), "are both shard 1 of 4"}, {[]string{paths[3], fifth, paths[1], paths[0]}, "part0.ood is one of 4 shards, " + fifth + " of 5"},
		{[]string{whole}, "is no shard"},
	} {
		if _, err := Merge(t.Context(), filepath.Join(dir, "x.ood"), c.files); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; expected %q", err, c.want)
		}
	}
}

func TestDamagedFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "whole.ood")
	write(t, path, header(9), lines(rand.New(rand.NewPCG(5, 6)), 9))
	good, _ := os.ReadFile(path)
	for want, change := range map[string]func(s string) string{
		"every key stands there once": func(s string) string { return strings.Replace(s, `"epsilon":0.1`, `"epsilon":0.2,"epsilon":0.1`, 1) },
		"unknown field":               func(s string) string { return strings.Replace(s, `"epsilon":0.1`, `"epsilon":0.1,"extra":1`, 1) },
		"a second time":               func(s string) string { return strings.Replace(s, "\n3 ", "\n0 ", 1) },
		"outside its bounds":          func(s string) string { return strings.Replace(s, "\n3 0 1 -", "\n3 0 1 -0.00", 1) },
		"follows":                     func(s string) string { return strings.Replace(s, "nan 1", "nan 0", 1) },
		"altered or damaged":          func(s string) string { return s[:len(s)-3] + "00\n" },
		"behind the digest":           func(s string) string { return s + "x" },
		"format version 7":            func(s string) string { return strings.Replace(s, `"version":1`, `"version":7`, 1) },
		"which begins with":           func(s string) string { return "{}" + s },
		"want six fields":             func(s string) string { return strings.Replace(s, "\n3 0", "\n3 0 0", 1) },
		"claims behind 8 images": func(s string) string {
			i := strings.Index(s, "\n3 ")
			j := strings.Index(s, "\n6 ")
			return s[:i] + s[j:]
		},
		"epsilon -1, want 0 to 1": func(s string) string { return strings.Replace(s, `"epsilon":0.1`, `"epsilon":-1`, 1) },
		"want a bound or an attack": func(s string) string {
			return strings.Replace(s, `"bound":{"method":"crown","arithmetic":"exact+float32"}`, `"shard":null`, 1)
		},
		"no header: the file is empty":  func(s string) string { return "" },
		"want whole numbers for image,": func(s string) string { return strings.Replace(s, "\n3 0", "\nx 0", 1) },
	} {
		changed := change(string(good))
		if want == "outside its bounds" { // any clean confidence above its bound
			f, _ := decode("x", good)
			l := f.Lines[1]
			changed = strings.Replace(string(good), nearest(l.Log)+" "+up(l.Upper), nearest(l.Upper/2)+" "+up(l.Upper), 1)
		}
		testkit.Write(t, []byte(changed), path)
		var form *FormatError
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &form) || form.Empty != (len(changed) == 0) {
			t.Errorf("%v; expected %q", err, want)
		}
	}
}

func TestOtherRunsAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ood")
	w, _, err := Open(path, header(9))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(path, header(9)); !errors.Is(err, journal.ErrLocked) {
		t.Errorf("opened twice: %v", err)
	}
	w.Close()
	for field, change := range map[string]func(h *Header){
		"epsilon":       func(h *Header) { h.Epsilon = 0.2 },
		"model.network": func(h *Header) { h.Model.Network = "sha256:9" },
		"data.digest":   func(h *Header) { h.Data.Digest = "sha256:9" },
		"bound":         func(h *Header) { h.Bound = &Bound{feedforward.IBP, feedforward.Rigorous, ""} },
		"shard":         func(h *Header) { h.Shard = &Shard{0, 2} },
	} {
		h := header(9)
		change(&h)
		var other *MismatchError
		if _, _, err := Open(path, h); !errors.As(err, &other) || other.Field != field {
			t.Errorf("another %s: %v", field, err)
		}
	}
	other := filepath.Join(t.TempDir(), "notes.txt")
	os.WriteFile(other, []byte("my notes"), 0o666)
	if _, _, err := Open(other, header(9)); err == nil || !strings.Contains(err.Error(), "begins with") {
		t.Errorf("a text file: %v", err)
	}
	if left, _ := os.ReadFile(other); string(left) != "my notes" {
		t.Errorf("the text file now holds %q", left)
	}
}

// What is read is written again with the same bytes.
func FuzzDecode(f *testing.F) {
	h := header(2)
	head, err := h.encode()
	if err != nil {
		f.Fatal(err)
	}
	attack := h
	attack.Bound, attack.Attack = nil, &Attack{Names: []string{"apgd"}}
	other, err := attack.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(false, []byte("0 1 1 -5e-01 -4.00000000000000022e-01 -1.00000000000000000e+00\n3 -1 0 nan 0e+00 -2.00000000000000000e+00\nclaims 2\nnan 1\n"))
	f.Add(true, []byte("0 1 1 -5e-01 -4e-01 apgd\n1 1 1 -5e-01 -5e-01 clean\n"))
	f.Fuzz(func(t *testing.T, attacked bool, body []byte) {
		begin := head
		if attacked {
			begin = other
		}
		data := append(append([]byte{}, begin...), body...)
		file, err := decode("x", data)
		if err != nil {
			return
		}
		again := append([]byte{}, begin...)
		for _, l := range file.Lines {
			again = file.Header.append(again, l)
		}
		if string(again) != string(data[:len(again)]) || file.Claims == nil && file.committed != len(again) {
			t.Errorf("%q is read as %q", data, again)
		}
		if file.Claims != nil {
			if whole, err := file.encode(); err != nil || string(whole) != string(data) {
				t.Errorf("%v: %q is written again as %q", err, data, whole)
			}
		}
	})
}

// Moving the last digit gives what fractions give.
func TestOutwardsByTheLastDigit(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 4))
	quick, numbers := 0, 20000
	if testing.Short() {
		numbers = 2000
	}
	for i := range numbers {
		v := -math.Ldexp(1+rng.Float64(), -rng.IntN(60))
		switch i % 4 {
		case 1:
			v = -float64(rng.IntN(1000)) / 1024
		case 2:
			v = -v
		case 3:
			v = -float64(rng.IntN(100)) / 100
		}
		if v == 0 {
			continue
		}
		text := strconv.FormatFloat(v, 'e', 17, 64)
		for _, side := range []int{-1, 1} {
			got, ok := lastDigit(v, text, side)
			if ok {
				quick++
			}
			if want := exactly(v, text, side); ok && got != want {
				t.Fatalf("%b, side %d: %s, by fractions %s", v, side, got, want)
			}
		}
	}
	if quick < numbers {
		t.Errorf("%d of %d were quick", quick, 2*numbers)
	}
}
