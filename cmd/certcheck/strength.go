package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"os"
	"sort"
	"strconv"
	"strings"
)

// strength checks a file of "certspec prove": form, totals and digest. With the bytes of the
// images, as "certspec prove --bytes" writes them, it makes the list of every image again, by code
// of its own (orbit.go), and compares how many images were asked, in which order, and the digest of
// their bytes: so none was left out, and nothing else was asked. That the model answered so is left
// to "certspec ledger replay".
//
// Of a proof from a ledger it also checks that, and tests in whole numbers that every image lies
// where the claim holds (ellipsoid.go): the whole claim, given the ledger's counts.
func strength(files []string, out, errs io.Writer) (code int) {
	texts, err := make([][]byte, 3), error(nil)
	for i, file := range files {
		if texts[i], err = os.ReadFile(file); err != nil {
			fmt.Fprintln(errs, plain(err.Error()))
			return 1
		}
	}
	says, reason, at := proven(string(texts[0]), texts[1], texts[2])
	if reason != "" {
		fmt.Fprintf(errs, "%s:%d: %s\n", plain(files[0]), at, plain(reason))
		return 1
	}
	if _, err = fmt.Fprintf(out, "%s: %s\n", plain(files[0]), says); err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}

// strengthHeader is the first line, with all its keys in their order.
type strengthHeader struct {
	Format  string          `json:"format"`
	Version int             `json:"version"`
	Program json.RawMessage `json:"program"`
	Model   struct {
		Name  string `json:"name"`
		Shape struct {
			Height   int `json:"height"`
			Width    int `json:"width"`
			Channels int `json:"channels"`
		} `json:"shape"`
		Classes  int             `json:"classes"`
		Identity json.RawMessage `json:"identity"`
	} `json:"model"`
	Data struct {
		Name   string `json:"name"`
		Digest string `json:"digest"`
		Images int    `json:"images"`
	} `json:"data"`
	Over   string `json:"over"`
	Prover string `json:"prover"`
	Batch  int    `json:"batch,omitempty"`
	Spaced int    `json:"spaced,omitempty"`
	Ledger string `json:"ledger,omitempty"`
}

func proven(text string, data, ledger []byte) (says, reason string, at int) {
	known := data != nil
	defer func() {
		if r := recover(); r != nil {
			reason = r.(string)
		}
	}()
	at = 1
	must(strings.HasSuffix(text, "\n"), "the file was cut within its last line")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var h strengthHeader
	err := json.Unmarshal([]byte(lines[0]), &h)
	must(err == nil && h.Format == "certspec-strength" && h.Version == 1,
		"not the header of proven strengths of version 1: %v", err)
	list := h.Prover == "list"
	must((list && h.Batch > 0 && h.Spaced > 0 && h.Ledger == "") != (h.Prover == "ellipsoid" && h.Batch == 0 &&
		h.Spaced == 0 && h.Ledger != ""), "want the prover list with its settings, or ellipsoid with a ledger")
	var e *ellipsoid
	if !list && ledger != nil {
		e = readEllipsoid(ledger, h.Ledger, h.Data.Digest)
	}
	must(lines[0] == quote(h), "the header has every known key once, in order, and no other")
	s := h.Model.Shape
	size := s.Height * s.Width * s.Channels
	must(s.Height > 0 && s.Width > 0 && s.Channels > 0 && max(s.Height, s.Width, s.Channels) <= 1<<15 &&
		h.Model.Classes > 1, "images of %d×%d×%d", s.Height, s.Width, s.Channels)
	n := h.Data.Images
	must(n > 0 && len(lines) == n+6, "%d lines; a finished file of %d images has %d", len(lines), n, n+6)
	o := newOrbit(h.Over, s.Height, s.Width, s.Channels)
	head := []byte("certspec images 1\n")
	for _, v := range []int{s.Height, s.Width, s.Channels, n} {
		head = binary.LittleEndian.AppendUint64(head, uint64(v))
	}
	if known {
		must(h.Data.Digest == fmt.Sprintf("sha256:%x", sha256.Sum256(data)), "the bytes are not those of the data %s",
			h.Data.Digest)
		must(len(data) == len(head)+16*n+n*size && bytes.HasPrefix(data, head), "the bytes are of other images")
	}
	seen := map[int]bool{}
	var labelled, right, same, robust, spaced, wrong int
	for k, line := range lines[1 : n+1] {
		at = k + 2
		l := readStrength(line, list)
		must(!seen[l.id], "image %d came before", l.id)
		must(max(l.label, l.class, l.other) < h.Model.Classes && (l.agree <= h.Spaced || !list),
			"a class of %d or above, or more than %d spaced strengths", h.Model.Classes, h.Spaced)
		must(l.flip != "" || l.class < 0 || l.from == o.name(0) && l.to == o.name(o.len-1) && (l.agree == h.Spaced || !list),
			"no change of class is named, and the proven interval or the spaced strengths are not all")
		seen[l.id] = true
		if known {
			word := func(i int) int { return int(binary.LittleEndian.Uint64(data[len(head)+8*i:])) }
			must(word(k) == l.id && word(n+k) == l.label, "the data has image %d with label %d there", word(k), word(n+k))
			o.follow(l, data[len(head)+16*n+k*size:][:size], e)
		}
		add := func(to *int, holds bool) bool {
			if holds {
				*to++
			}
			return holds
		}
		add(&labelled, l.label >= 0)
		whole := add(&same, l.class >= 0 && l.flip == "")
		if add(&right, l.label >= 0 && l.label == l.class) {
			add(&robust, whole)
			if add(&spaced, list && l.agree == h.Spaced) {
				add(&wrong, !whole)
			}
		}
	}
	body := strings.Join(lines[:n+1], "\n") + "\n"
	for _, want := range strings.Split(fmt.Sprintf("claims %d\nright %d %d\nproven %d %d\nspaced %d %d", n,
		right, labelled, same, robust, spaced, wrong), "\n") {
		at++
		must(lines[at-1] == want, "want %s", want)
		body += want + "\n"
	}
	at++
	sum := sha256.New()
	io.WriteString(sum, body)
	must(lines[at-1] == fmt.Sprintf("sha256 %x", sum.Sum(nil)), "want sha256 %x", sum.Sum(nil))
	says = fmt.Sprintf("all holds: %s, %d strengths, %d images, %d with one class at all of them, %d of these as labelled",
		h.Over, o.len, n, same, robust)
	if e != nil && known {
		return says + "\nProven: given the ledger's claims, all images of these lists keep theirs", "", 0
	}
	if !list {
		return says + "\nNot proven: anything but form and totals; name the images and the ledger, too", "", 0
	}
	if known {
		return says + "\nProven: the list of every image is complete up to its first change of class.\n" +
			"Not proven: that the model answered so; \"certspec ledger replay\" asks it", "", 0
	}
	return says + "\nNot proven: that the lists are complete (name the images: certcheck --strength FILE BYTES), and " +
		"that the model answered so", "", 0
}

// strengthLine is a line: an interval of strengths, how many different images were asked, their
// digest, and the change.
type strengthLine struct {
	id, label, class, asked, agree, other int
	from, to, digest, flip                string
	list                                  bool
}

func readStrength(line string, list bool) (l strengthLine) {
	f := strings.Split(line, " ")
	must(len(f) == 8 || list && len(f) == 11 && f[8] == "flip" || !list && len(f) == 10 && f[8] == "outside",
		"want 8 fields, and flip and two more, or of an ellipsoid outside and one")
	number := func(text string) int {
		if text == "-1" {
			return -1
		}
		n := whole(text)
		must(n >= 0, "%.40q is no whole number", text)
		return n
	}
	l = strengthLine{id: whole(f[0]), label: number(f[1]), class: number(f[2]), from: f[3], to: f[4],
		asked:  whole(f[5]),
		digest: f[6], other: -1, list: list}
	if l.agree = whole(f[7]); !list && strings.HasPrefix(f[7], "-") {
		l.agree = -max(whole(f[7][1:]), 0)
	}
	must(fmt.Sprint(l.agree) == f[7], "%.40q is no whole number", f[7])
	if len(f) == 11 {
		l.flip, l.other = f[9], number(f[10])
		must(l.other != l.class && l.class >= 0, "a change to the same class, or from none")
	}
	if len(f) == 10 {
		l.flip = f[9]
	}
	must(l.id >= 0 && l.asked >= 0 && (l.agree >= 0 || !list) &&
		(l.class >= 0 || l.asked == 0 && l.agree == 0 && l.from == "-"),
		"a number out of range, or strengths of an image whose class is not known")
	return l
}

// orbit is the list of what an image becomes, in the order of its strengths, and where it changes
// least.
type orbit struct {
	len, unchanged int
	name           func(i int) string
	at             func(image []byte, i int) []byte
}

// follow asks in the order of the prover: outward from the strength that changes least, one up and
// one down in turns, images that differ from their neighbour on the inner side; up to the change of
// class.
func (o *orbit) follow(l strengthLine, image []byte, e *ellipsoid) {
	e.begin(l)
	if l.class < 0 {
		return
	}
	sum, asked, found := sha256.New(), 0, false
	ask := func(i int, inner []byte) []byte {
		next := o.at(image, i)
		found = o.name(i) == l.flip
		if inner == nil || !bytes.Equal(next, inner) {
			must(e == nil || e.inside(image, next) != found, "the strength %s is inside or outside, unlike the line", o.name(i))
			if l.list || !found {
				sum.Write(next)
				asked++
			}
		}
		return next
	}
	low, high := o.unchanged, o.unchanged
	below := ask(low, nil)
	above, from, to := below, "-", "-"
	for !found {
		if from, to = o.name(low), o.name(high); low == 0 && high == o.len-1 {
			break
		}
		if high < o.len-1 && (low == 0 || high-o.unchanged <= o.unchanged-low) {
			if above = ask(high+1, above); !found {
				high++
			}
		} else if below = ask(low-1, below); !found {
			low--
		}
	}
	must(found == (l.flip != ""), "the class changes at %.40q, which is no strength", l.flip)
	must(l.from == from && l.to == to, "the interval up to the change is %s to %s", from, to)
	must(l.asked == asked, "%d different images are in the list up to there, %d were asked", asked, l.asked)
	must(l.digest == fmt.Sprintf("%x", sum.Sum(nil)), "the images up to there have the digest %x", sum.Sum(nil))
	e.end(l)
}

// newOrbit reads a range of strengths, as jpeg=10:100.
func newOrbit(text string, height, width, channels int) *orbit {
	kind, ends, _ := strings.Cut(text, "=")
	first, last, _ := strings.Cut(ends, ":")
	a, ok := new(big.Rat).SetString(first)
	b, found := new(big.Rat).SetString(last)
	must(ok && found && a.Cmp(b) <= 0 && len(ends) < 20, "no range of strengths: %.40q", text)
	most, known := map[string][3]int64{"brightness": {-255, 255, 0}, "jpeg": {1, 100, 100},
		"shift": {-16, 16, 0}, "contrast": {0, 10, 1}}[kind]
	must(known && a.Cmp(big.NewRat(most[0], 1)) >= 0 && b.Cmp(big.NewRat(most[1], 1)) <= 0,
		"strengths out of range: %.40q", text)
	if kind == "contrast" {
		return contrastOrbit(a, b)
	}
	must(a.IsInt() && b.IsInt(), "strengths that are no whole numbers: %.40q", text)
	from, to := int(a.Num().Int64()), int(b.Num().Int64())
	if kind == "shift" {
		must(from == -to && to < height && to < width, "shifts out of range: %.40q", text)
		return shiftOrbit(to, height, width, channels)
	}
	o := &orbit{len: to - from + 1, unchanged: min(max(int(most[2]), from), to) - from,
		name: func(i int) string { return strconv.Itoa(from + i) }}
	if o.at = func(image []byte, i int) []byte {
		return mapped(image, func(v int) int { return v + from + i })
	}; kind == "jpeg" {
		must(channels == 1 || channels == 3, "JPEG of %d channels", channels)
		o.at = func(image []byte, i int) []byte { return jpeg(image, height, width, channels, from+i) }
	}
	return o
}

func clip(v int) byte { return byte(min(max(v, 0), 255)) }

// mapped is an image with every value replaced, and clipped.
func mapped(image []byte, to func(v int) int) []byte {
	var table [256]byte
	for v := range table {
		table[v] = clip(to(v))
	}
	out := make([]byte, len(image))
	for i, v := range image {
		out[i] = table[v]
	}
	return out
}

// shiftOrbit goes around no shift ring by ring, in each by rows.
func shiftOrbit(k, height, width, channels int) *orbit {
	var steps [][2]int
	for ring := range k + 1 {
		for down := -ring; down <= ring; down++ {
			for right := -ring; right <= ring; right++ {
				if max(down, -down, right, -right) == ring {
					steps = append(steps, [2]int{down, right})
				}
			}
		}
	}
	return &orbit{len: len(steps), name: func(i int) string { return fmt.Sprintf("%d,%d", steps[i][0], steps[i][1]) },
		at: func(image []byte, i int) (out []byte) {
			for p := range height * width {
				y, x := p/width-steps[i][0], p%width-steps[i][1]
				at := (min(max(y, 0), height-1)*width + min(max(x, 0), width-1)) * channels
				out = append(out, image[at:at+channels]...)
			}
			return out
		}}
}

// contrastOrbit has ⌊(v − 127.5)·θ + 128⌋ of every value v, clipped, for all real θ from a to b. A
// value moves only where (v − 127.5)·θ is a whole number. So there are an image at each such θ and
// one for each gap, of which equal neighbours are one.
func contrastOrbit(a, b *big.Rat) *orbit {
	at := []*big.Rat{a, b}
	for v := 128; v < 256; v++ {
		for k := int64(0); k <= 256; k++ {
			if r := big.NewRat(2*k, int64(2*v-255)); r.Cmp(a) > 0 && r.Cmp(b) < 0 {
				at = append(at, r)
			}
		}
	}
	sort.Slice(at, func(i, j int) bool { return at[i].Cmp(at[j]) < 0 })
	table := func(t *big.Rat) string {
		n, d := t.Num().Int64(), t.Denom().Int64()
		return string(mapped(allBytes, func(v int) int {
			up := int64(2*v-255)*n + 256*d // over 2d; negative ones are clipped, however they are rounded
			return int(up / (2 * d))
		}))
	}
	var tables, names []string
	o := &orbit{}
	put := func(t *big.Rat) {
		made := table(t)
		if len(tables) > 0 && made == tables[len(tables)-1] {
			return
		}
		if t.Cmp(one) <= 0 {
			o.unchanged = len(tables)
		}
		tables, names = append(tables, made), append(names, t.RatString())
	}
	for i, t := range at {
		if i > 0 && t.Cmp(at[i-1]) > 0 {
			put(times(new(big.Rat).Add(t, at[i-1]), half))
		}
		put(t)
	}
	names[len(names)-1] = b.RatString()
	o.len, o.name = len(tables), func(i int) string { return names[i] }
	o.at = func(image []byte, i int) []byte { return mapped(image, func(v int) int { return int(tables[i][v]) }) }
	return o
}

var allBytes = func() (all []byte) {
	for v := range 256 {
		all = append(all, byte(v))
	}
	return all
}()
