package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"
)

// query holds claims that "certspec ledger query" derived from a ledger and that the ledger does not state, as text:
// the ledger's digest, the question, and a line for each image,
//
//	certspec-claims 2 sha256:…
//	question top-k K share S norm l2
//	asked radii R,R budgets B:LEVEL classes LEVEL:R,R
//	claims N
//	image class lower upper_1 … upper_K radius
//	certified R count images
//	budget B LEVEL false broken correct images
//	class C R LEVEL false correct images
//
// The third line lists the figures that follow the images, "none" where there are none of a kind: of each radius, of
// each budget, and of each class that is a label at each radius. Version 1 has no such line, so nobody can tell whether
// figures were taken away.
//
// with no upper bounds where S is 0. With K > 1 the class is the label. The lower bound takes (1−S) of what each look
// spends of α, and the upper ones S/K each: the j-th bounds the j-th most probable of the other classes. It is that
// of the j-th largest of their counts: given true bounds on the K most probable others, the j-th largest bound of all
// is no smaller than the j-th largest probability. A miss counts for every class.
type query struct {
	*checker
	again *checker // reads the ledger a second time: the first kept no counts
	lines []string
	at    int
	k     int
	share *big.Rat
	linf  bool
	d     *big.Rat // values of an image
	asks  []string // of version 2: "radii …", "budgets …" and "classes …"
	radii []*big.Rat
	right []bool // of the labelled images: certified as their label
	label []int
}

// asked checks the claims of a file against a ledger that was checked, and is read again.
func (c *checker) asked(ledger io.Reader, text string) (line int, reason string) {
	q := &query{checker: c, lines: strings.Split(text, "\n"), again: &checker{in: bufio.NewReaderSize(ledger, 1<<16),
		digest: sha256.New(), at: -1}}
	defer func() {
		if r := recover(); r != nil {
			line, reason = q.at, fmt.Sprint(r)
		}
	}()
	version, of, _ := strings.Cut(q.next(), " sha256:")
	must((version == "certspec-claims 1" || version == "certspec-claims 2") && "sha256 "+of == c.line,
		"claims on another ledger, or of another version")
	f := strings.Fields(q.next())
	must(len(f) == 7 && f[0]+f[1]+f[3]+f[5] == "questiontop-ksharenorm" && (f[6] == "l2" || f[6] == "linf"),
		"no question")
	q.k, q.share, q.linf = whole(f[2]), exact(json.Number(f[4])), f[6] == "linf"
	must(q.k >= 1 && q.k < c.classes && q.share.Cmp(one) < 0,
		"the top %s of %d classes, a share of %s", f[2], c.classes, f[4])
	must(q.share.Sign() == 0 || c.targets == nil, "the rule betting leaves no share of alpha")
	s := c.Model.Shape
	q.d = times(times(exact(s.Height), exact(s.Width)), exact(s.Channels))
	must(!q.linf || q.d.Cmp(one) >= 0, "images without values")
	if version == "certspec-claims 2" {
		f := strings.Split(q.next(), " ")
		must(len(f) == 7 && f[0]+f[1]+f[3]+f[5] == "askedradiibudgetsclasses", "want asked radii … budgets … classes …")
		q.asks = []string{f[2], f[4], f[6]}
	}
	must(q.next() == fmt.Sprint("claims ", len(c.all)), "want claims %d", len(c.all))
	q.again.next()
	for i := range c.all {
		m := &c.all[i]
		q.again.next() // the selection
		looks := make([]string, len(m.samples))
		for k := range looks {
			q.again.next()
			looks[k] = q.again.line
		}
		q.image(m, looks)
	}
	for q.again.next(); q.again.line != c.line; q.again.next() {
		must(q.again.line != "", "the ledger has changed")
	}
	must(c.line == fmt.Sprintf("sha256 %x", q.again.digest.Sum(nil)), "the ledger has changed")
	for _, begins := range q.figures() {
		line := q.next()
		must(strings.HasPrefix(line, begins+" "), "%q is asked, and the line is %.60q", begins, line)
		q.figure(line)
	}
	for q.asks == nil && q.at < len(q.lines)-1 {
		q.figure(q.next())
	}
	must(q.at == len(q.lines)-1, "a line that was not asked")
	must(q.lines[len(q.lines)-1] == "", "the file was cut within its last line")
	return 0, ""
}

func (q *query) next() string {
	must(q.at < len(q.lines)-1, "the file ends too early")
	q.at++
	return q.lines[q.at-1]
}

// figures are how the lines begin that the third line asks, in order.
func (q *query) figures() (begins []string) {
	list := func(i int) []string {
		if q.asks == nil || q.asks[i] == "none" {
			return nil
		}
		return strings.Split(q.asks[i], ",")
	}
	for _, radius := range list(0) {
		begins = append(begins, "certified "+radius)
	}
	for _, budget := range list(1) {
		of, level, _ := strings.Cut(budget, ":")
		begins = append(begins, "budget "+of+" "+level)
	}
	if radii := list(2); radii != nil {
		level, first, _ := strings.Cut(radii[0], ":")
		radii[0] = first
		labels := slices.Clone(q.label)
		slices.Sort(labels)
		for _, label := range slices.Compact(labels) {
			for _, radius := range radii {
				begins = append(begins, fmt.Sprintf("class %d %s %s", label, radius, level))
			}
		}
	}
	return begins
}

// image checks the claim on one image.
func (q *query) image(m *image, looks []string) {
	line := q.next()
	f := strings.Fields(line)
	must(line == strings.Join(f, " "), "the fields of a claim have one blank between them")
	uppers := q.k * q.share.Sign()
	must(len(f) == 4+uppers && whole(f[0]) == m.id, "want the claim on image %d", m.id)
	radius := exact(json.Number(f[len(f)-1]))
	r := radius
	if q.linf { // as an ℓ2 radius, rounded up
		root, _ := new(big.Float).SetPrec(128).Sqrt(number(q.d)).Rat(nil)
		r = times(r, times(root, big.NewRat(1e18+1, 1e18)))
	}
	more := times(new(big.Rat).Add(r, times(q.sigma, big.NewRat(1, 1e9))), big.NewRat(1e6+1, 1e6))
	class, certified := m.voted, f[1] != "-1"
	if q.k > 1 {
		class = m.label
	}
	if m.label >= 0 {
		q.radii, q.label = append(q.radii, radius), append(q.label, m.label)
		q.right = append(q.right, certified && class == m.label)
	}
	must(!certified && radius.Sign() == 0 || class >= 0 && f[1] == strconv.Itoa(class),
		"want class %d, or -1 and the radius 0", class)
	if q.k == 1 && uppers == 0 { // the ledger claims it
		must(certified == (m.class >= 0) && f[2] == m.lower.String(), "another claim than that of the ledger")
		text := strconv.FormatFloat(m.radius, 'f', -1, 64)
		of := exact(json.Number(text))
		must(r.Cmp(of) <= 0 && more.Cmp(of) > 0 && (q.linf || r.Cmp(of) == 0),
			"the radius is %s, in the ledger %s", f[3], text)
		return
	}
	bounds := make([]probability, 1+uppers)
	for i := range bounds {
		text := f[2+i]
		if text == "1.000000000000000" {
			bounds[i] = whole15
			continue
		}
		digits, err := strconv.ParseInt(strings.TrimPrefix(text, "0."), 10, 64)
		bounds[i] = probability(digits)
		must(err == nil && digits >= 0 && text == bounds[i].String(), "no bound: %.40q", text)
	}
	if class < 0 {
		must(!slices.ContainsFunc(bounds, func(p probability) bool { return p > 0 }), "a bound without a class")
		return
	}
	hits, against := q.tally(m, looks, class, uppers)
	q.bound(m, hits, bounds[0], minus(one, q.share))
	for j, u := range bounds[1:] {
		q.bound(m, against[j], whole15-u, times(q.share, big.NewRat(1, int64(q.k))))
	}
	must(!certified || q.inTop(r, 1, bounds), "the bounds do not prove the radius %s", f[len(f)-1])
	must(!q.inTop(more, 0, bounds), "the bounds prove more than the radius %s", f[len(f)-1])
}

// tally reads the looks of an image: up to each, the hits of a class, and the samples against the j-th most
// frequent of the others.
func (q *query) tally(m *image, looks []string, class, uppers int) (hits []int, against [][]int) {
	counts, misses := map[int]int{}, 0
	against = make([][]int, uppers)
	for i, n := range m.samples {
		f := strings.Fields(looks[i])
		must(len(f) >= 5, "the ledger has changed")
		misses += whole(f[4])
		for _, field := range f[5:] {
			c, count, _ := strings.Cut(field, ":")
			counts[whole(c)] += whole(count)
		}
		others := make([]int, uppers)
		for c, count := range counts {
			if c != class {
				others = append(others, count)
			}
		}
		slices.Sort(others)
		hits = append(hits, counts[class])
		for j := range against {
			against[j] = append(against[j], n-misses-others[len(others)-1-j])
		}
	}
	return hits, against
}

// bound checks that some look proves the lower bound p with a part of its level, and none proves a larger one.
func (q *query) bound(m *image, hits []int, p probability, part *big.Rat) {
	proven, won := p == 0, new(big.Rat)
	for i, k := range hits {
		n := m.samples[i]
		switch {
		case q.targets != nil:
			for _, b := range q.bounds {
				if b.Cmp(won) > 0 && k >= q.leastHits(n, b) {
					won = b
				} else if b.Cmp(won) > 0 {
					break
				}
			}
		case q.Rule.Name == "anytime":
			alpha := near(times(q.levels[0].Rat, part))
			proven = proven || q.wealth(k, n, p, alpha.near) >= 1+8e-7
			must(q.wealth(k, n, p+5, alpha.near) <= 1+1.3e-6, "%d hits of %d prove a larger bound than %s", k, n, p)
		default:
			alpha := near(times(q.levels[i].Rat, part))
			proven = proven || q.rare(k, n, p, alpha, 1-0.99e-9)
			must(p+5 >= whole15 || !q.rare(k, n, p+5, alpha, 1-2.01e-9), "%d hits of %d prove a larger bound than %s",
				k, n, p)
		}
	}
	if q.targets != nil {
		low := minus(won, p.exact())
		proven = low.Sign() >= 0 && low.Cmp(big.NewRat(5, whole15)) <= 0
	}
	must(proven, "no look proves the bound %s", p)
}

// inTop reports whether a class is among the k most probable wherever the shift is below r. At a shift of r the class
// keeps at least Φ(Φ⁻¹(p) − r/σ), and t others have together at most Φ(Φ⁻¹(s) + r/σ), where s bounds their sum
// (Neyman and Pearson). If k others are at least as probable as the class, so are the t rarest of them, 1 ≤ t ≤ k: t
// times the first is then at most the second. side 1 asks for a proof, 0 whether it nearly is one.
func (q *query) inTop(r *big.Rat, side int, bounds []probability) bool {
	p, sum := bounds[0], probability(0)
	if p <= 0 {
		return false
	}
	shift, _ := new(big.Rat).Quo(r, q.sigma).Float64()
	shift *= 1 + 0x1p-50*float64(2*side-1)
	for t := 1; t <= q.k; t++ {
		rest := whole15 - p
		if len(bounds) > 1 {
			sum += bounds[1+q.k-t]
			rest = min(rest, sum)
		} else if t < q.k {
			continue
		}
		a, b := q.quantile(p, -side), q.quantile(max(rest, 1), side)
		keeps, gains := q.normal(a-shift), q.normal(b+shift)
		keeps.Mul(keeps, big.NewFloat(float64(t)))
		if a-shift > -9 && b+shift < 9 && keeps.Cmp(gains) >= 0 {
			return true
		}
	}
	return false
}

// normal is Φ(x), for a negative x 1−Φ(−x), which errs by less than 10⁻¹³ of itself. It is cut at −9 and 9.
func (q *query) normal(x float64) *big.Float {
	x = min(max(x, -9), 9)
	p := q.phi(times(q.sigma, new(big.Rat).SetFloat64(math.Abs(x))))
	if x < 0 {
		p.Sub(number(one), p)
	}
	return p
}

// quantile is Φ⁻¹(p), rounded down, up, or not at all where side is −1, 1 or 0. The library's value is only a guess:
// Φ decides.
func (q *query) quantile(p probability, side int) float64 {
	z := -math.Sqrt2 * math.Erfcinv(2*float64(p)/whole15)
	want := number(p.exact())
	for width := 1e-14; side != 0; width *= 4 {
		must(width < 1e-3, "Φ⁻¹(%s) is not found", p)
		if edge := z + float64(side)*width; q.normal(edge).Cmp(want) == side {
			return edge
		}
	}
	return z
}

// figure checks a line on the whole set.
func (q *query) figure(line string) {
	f, kind := strings.Fields(line), ""
	if len(f) > 0 {
		kind = f[0]
	}
	must(line == strings.Join(f, " "), "the fields of a figure have one blank between them")
	switch {
	case kind == "certified" && len(f) == 4:
		want := fmt.Sprint(q.certified(-1, exact(json.Number(f[1]))), len(q.label))
		must(f[2]+" "+f[3] == want, "another number is certified at %s", f[1])
	case kind == "budget" && len(f) == 7: // the smallest radii are broken first
		n := len(q.label)
		wrong := q.wrong(f[3], n, exact(json.Number(f[2])))
		var radii []*big.Rat
		for i, r := range q.radii {
			if q.right[i] {
				radii = append(radii, r)
			}
		}
		slices.SortFunc(radii, (*big.Rat).Cmp)
		left, broken := times(exact(json.Number(f[1])), big.NewRat(int64(n), 1)), 0
		for broken < len(radii) && left.Sub(left, radii[broken]).Sign() >= 0 {
			broken++
		}
		want := fmt.Sprint(broken, max(0, len(radii)-broken-wrong), n)
		must(strings.Join(f[4:], " ") == want, "the budget breaks %d of %d images", broken, len(radii))
	case kind == "class" && len(f) == 7:
		seen := map[int]int{}
		for _, l := range q.label {
			seen[l]++
		}
		class := whole(f[1])
		n := seen[class]
		must(n > 0, "no image has the label %s", f[1])
		level := exact(json.Number(f[3]))
		must(level.Cmp(half) < 0, "a level of %s", f[3])
		wrong := q.wrong(f[4], n, times(level, big.NewRat(1, int64(len(seen)))))
		want := fmt.Sprint(max(0, q.certified(class, exact(json.Number(f[2])))-wrong), n)
		must(f[5]+" "+f[6] == want, "another number of class %s is certified", f[1])
	default:
		reject("certified, budget or class is expected")
	}
}

// certified counts the images of a class, or of all, that are certified as their label at a radius.
func (q *query) certified(class int, r *big.Rat) (n int) {
	for i := range q.radii {
		if (class < 0 || q.label[i] == class) && q.right[i] && q.radii[i].Cmp(r) >= 0 {
			n++
		}
	}
	return n
}

// wrong is a number of claims that may be false, which is the least that more of n than it are false with probability
// at most level.
func (q *query) wrong(text string, n int, level *big.Rat) int {
	f := whole(text)
	must(f >= 0 && f <= n && level.Sign() > 0 && level.Cmp(half) < 0, "%s of %d claims may be false", text, n)
	rarer := func(k int) float64 {
		if k > n {
			return 0
		}
		return q.tail(k, n, q.alpha, level)
	}
	must(rarer(f+1) < 1 && (f == 0 || rarer(f) > 1-1e-8), "more than %d of %d claims are false at another level", f, n)
	return f
}

// query checks a file of claims against a ledger, and says what came of it.
func (c *checker) query(ledger, file string) (words, reason string) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err.Error()
	}
	in, err := os.Open(ledger)
	if err != nil {
		return "", err.Error()
	}
	defer in.Close()
	if line, reason := c.asked(in, string(data)); reason != "" {
		return "", fmt.Sprintf("%s:%d: %s", plain(file), line, plain(reason))
	}
	words = fmt.Sprintf("%s: all %d claims follow from the counts of %s\n", plain(file), len(c.all), plain(ledger))
	if bytes.HasPrefix(data, []byte("certspec-claims 1 ")) {
		words += "Version 1 of such files does not say which figures were asked: lines may have been taken away.\n"
	}
	return words, ""
}
