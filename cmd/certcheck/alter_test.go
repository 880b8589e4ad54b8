package main

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// altered is a ledger with one thing changed.
type altered struct {
	kind  string
	lines []string // without the digest
	free  bool     // nothing that the ledger claims follows from what was changed
}

// alter changes one thing at random: a count, a label, a number of a claim, or a figure at the end. looks is the number of looks.
func alter(rng *rand.Rand, t toy, lines []string, looks int, selection, block int) (a altered) {
	a.lines = slices.Clone(lines)
	derived := func() string { return strings.Join(t.close(a.lines[1:1+looks]), "\n") }
	before := derived()
	fields := func(at int) []string { return strings.Fields(a.lines[at]) }
	put := func(at int, f []string) { a.lines[at] = strings.Join(f, " ") }
	other := func(n string) string { // another number near by, or anywhere
		v, _ := strconv.Atoi(n)
		return strconv.Itoa(max(0, v+[]int{1, -1, 7, -7, 100}[rng.IntN(5)]))
	}
	look := 1 + rng.IntN(looks)
	claims := 2 + looks // the first claim
	images := len(gather(a.lines[1:1+looks], selection, block))
	claim := claims + rng.IntN(images)
	switch a.kind = []string{"count", "move", "label", "labels", "claim", "lower", "radius", "figure"}[rng.IntN(8)]; a.kind {
	case "count": // one number of a look other than its image and label
		f := fields(look)
		i := 2 + rng.IntN(len(f)-2)
		class, n, isCount := strings.Cut(f[i], ":")
		switch {
		case !isCount:
			f[i] = other(f[i])
		case rng.IntN(3) == 0:
			a.kind, f[i] = "move", other(class)+":"+n // all samples of a class
		default:
			f[i] = class + ":" + other(n)
		}
		put(look, f)
	case "move": // one sample goes over to another class, or to the misses: two numbers change, and the sum is as before
		f := fields(look)
		if len(f) < 7 {
			return alter(rng, t, lines, looks, selection, block)
		}
		i, j := 5+rng.IntN(len(f)-5), 4+rng.IntN(len(f)-4)
		ci, ni, _ := strings.Cut(f[i], ":")
		n, _ := strconv.Atoi(ni)
		if i == j || n < 2 {
			return alter(rng, t, lines, looks, selection, block)
		}
		f[i] = fmt.Sprint(ci, ":", n-1)
		if cj, nj, ok := strings.Cut(f[j], ":"); ok {
			n, _ := strconv.Atoi(nj)
			f[j] = fmt.Sprint(cj, ":", n+1)
		} else {
			n, _ := strconv.Atoi(f[j])
			f[j] = strconv.Itoa(n + 1)
		}
		put(look, f)
	case "label": // in one line
		f := fields(look)
		f[1] = strconv.Itoa(rng.IntN(toyClasses+1) - 1)
		put(look, f)
	case "labels": // in all lines of the image
		id := fields(look)[0]
		label := strconv.Itoa(rng.IntN(toyClasses+1) - 1)
		for at := 1; at <= looks; at++ {
			if f := fields(at); f[0] == id {
				f[1] = label
				put(at, f)
			}
		}
	case "claim": // image, class, k or n
		f := fields(claim)
		i := rng.IntN(4)
		f[i] = other(f[i])
		put(claim, f)
	case "lower": // a digit of the lower bound
		f := fields(claim)
		f[4] = otherDigit(rng, f[4])
		put(claim, f)
	case "radius": // by one in the last digit
		f := fields(claim)
		f[5] = lastDigit(rng, f[5])
		put(claim, f)
	case "figure": // the number of claims, the average, a radius or count of certified accuracy
		at := []int{claims - 1}
		for i := claims + images; i < len(lines); i++ {
			at = append(at, i)
		}
		i := at[rng.IntN(len(at))]
		f := fields(i)
		if k := 1 + rng.IntN(len(f)-1); strings.Contains(f[k], ".") {
			f[k] = lastDigit(rng, f[k])
		} else {
			f[k] = other(f[k])
		}
		put(i, f)
	}
	if slices.Equal(a.lines, lines) {
		return alter(rng, t, lines, looks, selection, block)
	}
	switch a.kind {
	case "move", "labels":
		a.free = derived() == before
	case "label": // an image of one line
		a.free = len(gather(a.lines[1:1+looks], selection, block)) == images && before == derived() && labelsAgree(a.lines[1:1+looks])
	case "lower":
		// The line of the claim names k, n and the bound; what k of n prove is known to a relative 10⁻⁹ of α only.
		f, g := strings.Fields(a.lines[claim]), strings.Fields(lines[claim])
		a.free = t.rule != "betting" && hides(t, f, g)
	}
	return a
}

func labelsAgree(looks []string) bool {
	label := map[string]string{}
	for _, l := range looks {
		f := strings.Fields(l)
		if v, ok := label[f[0]]; ok && v != f[1] {
			return false
		}
		label[f[0]] = f[1]
	}
	return true
}

// hides reports whether an altered lower bound is still one that a program may have computed: α(1−2·10⁻⁹) ≤ tail ≤ α(1−10⁻⁹), by the
// slope of the tail, and the radius still follows from it.
func hides(t toy, f, g []string) bool {
	if f[3] == "0" || f[2] == "0" || (f[4] < "0.5") != (g[4] < "0.5") || f[4] >= "0.5" && cutRadius(t.sigma, f[4]) != g[5] {
		return false
	}
	k, _ := strconv.Atoi(f[2])
	n, _ := strconv.Atoi(f[3])
	p, _ := strconv.ParseFloat(g[4], 64)
	q, _ := strconv.ParseFloat(f[4], 64)
	z := math.Sqrt(float64(n)*p*(1-p)) / (p * (1 - p))
	_ = k
	return math.Abs(p-q)*z*4 < 2e-9+4e-15*z
}

func otherDigit(rng *rand.Rand, text string) string {
	b := []byte(text)
	for {
		i := rng.IntN(len(b))
		if d := byte('0' + rng.IntN(10)); b[i] != '.' && b[i] != d {
			b[i] = d
			return string(b)
		}
	}
}

// lastDigit changes the 9th significant digit of a radius by one, or the last of an average.
func lastDigit(rng *rand.Rand, text string) string {
	if text == "0" {
		return "0.1"
	}
	v, _ := strconv.ParseFloat(text, 64)
	e := fmt.Sprintf("%.8e", v)
	m, _ := strconv.ParseInt(strings.Replace(e[:10], ".", "", 1), 10, 64)
	exp, _ := strconv.Atoi(e[11:])
	v, _ = strconv.ParseFloat(fmt.Sprintf("%de%d", m+int64(2*rng.IntN(2)-1), exp-8), 64)
	if regexp.MustCompile(`\.\d{9}$`).MatchString(text) && v < 1 {
		return strconv.FormatFloat(v, 'f', 9, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// One thing is altered at random, a thousand times, and the digest put right in every second case. All is rejected but what the
// comment at the head of the program says cannot be told.
func TestAlterations(t *testing.T) {
	quickstart, err := os.ReadFile("../../notebooks/results/quickstart.ledger")
	if err != nil {
		t.Fatal(err)
	}
	real := toy{rule: "staged", sigma: 0.25, alpha: 0.001, levels: slices.Repeat([]float64{0.000125}, 8), samples: []int{100, 200, 400, 800, 1600, 3200, 6400, 10000}}
	each := 200
	if testing.Short() {
		each = 20
	}
	rejected, passed, free := map[string]int{}, map[string]int{}, map[string]int{}
	for i, toy := range append(slices.Clone(toys), real) {
		rng := rand.New(rand.NewPCG(uint64(i), 2))
		selection, block := toySelection, toyBlock
		var lines []string
		looks := 0
		if toy.version == 0 {
			selection, block = 100, 100
			lines = strings.Split(string(quickstart), "\n")
			looks = slices.IndexFunc(lines[1:], func(l string) bool { return strings.HasPrefix(l, "966 ") }) // behind 60 of 500 images
			lines = lines[:1+looks]
			lines[0] = strings.Replace(lines[0], `"images":500`, `"images":60`, 1)
			lines = append(lines, toy.close(lines[1:])...)
		} else {
			drawn := toy.draw(rng)
			lines, looks = slices.Concat([]string{toy.header()}, drawn, toy.close(drawn)), len(drawn)
		}
		digest := fmt.Sprintf("sha256 %x", sha256.Sum256([]byte(strings.Join(lines, "\n")+"\n")))
		if _, reason := check(strings.NewReader(sealed(lines)), 1e9); reason != "" {
			t.Fatalf("%s: before any alteration: %s", toy.rule, reason)
		}
		for j := range each {
			a := alter(rng, toy, lines, looks, selection, block)
			text := sealed(a.lines)
			if j%2 == 0 {
				text = strings.Join(append(a.lines, digest), "\n") + "\n"
			}
			c, reason := check(strings.NewReader(text), 1e9)
			switch {
			case reason != "":
				rejected[a.kind]++
				if j%2 == 1 && a.free {
					t.Logf("%s: %s: rejected though free: line %d: %s", toy.rule, a.kind, c.at+1, reason)
				}
			case j%2 == 0 || !a.free:
				t.Errorf("%s: %s: passed, digest put right: %v; %s", toy.rule, a.kind, j%2 == 1, difference(a.lines, lines))
				passed[a.kind]++
			default:
				if why := harmless(a, lines, looks, selection, block); why == "" {
					t.Errorf("%s: %s: passed, and is of no kind that the head of the program lists: %s", toy.rule, a.kind, difference(a.lines, lines))
				} else {
					free[why]++
				}
			}
		}
	}
	t.Logf("rejected: %v; cannot be told: %v; passed: %v", rejected, free, passed)
}

// harmless names the kind, of those that the head of the program lists, which an alteration that cannot be told is of.
func harmless(a altered, lines []string, looks, selection, block int) string {
	was, is := gather(lines[1:1+looks], selection, block), gather(a.lines[1:1+looks], selection, block)
	for i := range was {
		claim := strings.Fields(lines[2+looks+i])
		class, n := claim[1], claim[3]
		switch {
		case was[i].label != is[i].label:
			if was[i].label >= 0 && is[i].label >= 0 && (class == "-1" || strconv.Itoa(was[i].label) != class && strconv.Itoa(is[i].label) != class) {
				return "label that stays wrong"
			}
			return ""
		case was[i].class != is[i].class || !slices.Equal(was[i].samples, is[i].samples):
			return ""
		case !slices.Equal(was[i].hits, is[i].hits):
			at := slices.Index(was[i].samples, func() int { v, _ := strconv.Atoi(n); return v }())
			if at >= 0 && slices.Equal(was[i].hits[:at+1], is[i].hits[:at+1]) {
				return "hits behind the look of the claim"
			}
			return ""
		}
	}
	switch a.kind {
	case "move":
		return "counts that decide nothing"
	case "lower":
		return "last digits of a lower bound"
	}
	return ""
}

func difference(a, b []string) string {
	for i := range a {
		if a[i] != b[i] {
			return fmt.Sprintf("%q for %q", a[i], b[i])
		}
	}
	return ""
}
