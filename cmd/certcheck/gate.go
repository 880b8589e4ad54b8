package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
)

// gate derives the verdict of "certspec gate" from its record: a line that says what is compared, and a line for each
// image in the order of the test: place among the labelled images; label; class (−1: none is certified at the
// radius), hits and noise samples of the old and the new network.
//
// The seed follows from the other fields, and the order from the seed; since version 2 names and
// engines enter it no more. A class is certified if its hits reject "p ≤
// Φ(r/σ)" (leastHits). An image counts 1 if the new network lost it, −1 if it gained it, else 0. Let S be the sum
// over all N images, a the largest whole number up to drop·N, and S_t the sum of the first t. If S ≤ a, the next
// count d has a mean of at most m = (a−S_t)/(N−t), as all orders are equally likely; so the average over bets f of
// the products of 1 + f·(d−m)/(1+m) reaches 1/level with probability at most level (Ville). Then the change fails. It
// passes by the same test of "S ≥ a+1" with −d. After enough images S is known to be above a, or not.
//
// A record with groups has version 3: the first line gives the group of each labelled image, and each group has such a
// test. The next line is the next image in the order whose group is undecided. The change passes if all groups pass. It
// fails once a group fails: by its images, or by Holm with p = 1/(largest average so far).
func gate(file string, out, errs io.Writer) (code int) {
	data, err := os.ReadFile(file)
	says, reason, at := "", "", 0
	if err != nil {
		reason = err.Error()
	} else {
		var found judged
		found, reason, at = verdict(string(data))
		says = found.says
	}
	if reason != "" {
		fmt.Fprintf(errs, "%s:%d: %s\n", plain(file), at, plain(reason))
		return 1
	}
	if _, err := fmt.Fprintf(out, "%s: %s\n", plain(file), says); err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}

type judged struct {
	says, word, by string
	groups         []*tested
}

// tested is the test of a group, or of all images.
type tested struct {
	name, word                 string
	images, allowed, seen, sum int
	falls, keeps               [7]float64 // logarithms of the products
	most                       float64    // the largest average of falls
}

func verdict(text string) (found judged, reason string, at int) {
	at = 1
	defer func() {
		if r := recover(); r != nil {
			reason = fmt.Sprint(r)
		}
	}()
	lines := strings.Split(text, "\n")
	var h gateHeader
	err := json.Unmarshal([]byte(lines[0]), &h)
	must(err == nil && h.Format == "certspec-gate" && (h.Version == "1" || h.Version == "2" || h.Version == "3"),
		"not the record of a gate of version 1 to 3%s", otherThanGate(lines[0], h.Format, err))
	must(lines[len(lines)-1] == "", "the file was cut within its last line")
	again, err := json.Marshal(h)
	must(err == nil && string(again) == lines[0], "the first line has every known key once, in order, and no other")
	must((h.Version == "3") == (h.Groups != nil), "version %s; 3 is that of a record with groups", h.Version)
	seed := h.seed()
	must(h.Seed == fmt.Sprint(seed), "the seed does not follow from the other fields")
	c := &checker{terms: 1e9, sigma: exact(h.Sigma), alpha: exact(h.Alpha), least: map[string]int{}}
	images, most, block := whole(h.Images), whole(h.Samples), whole(h.Block)
	must(images > 0 && images <= mostImages && most > 0 && block > 0 && c.sigma.Sign() > 0, "a setting out of range")
	classes := whole(h.Old.Classes)
	must(classes > 0 && h.Old.Classes == h.New.Classes, "networks of %s and %s classes", h.Old.Classes, h.New.Classes)
	must(c.alpha.Sign() > 0 && c.alpha.Cmp(half) < 0, "a setting out of range")
	q, radius := half, exact(h.Radius)
	if radius.Sign() > 0 { // rounded up to 15 decimals
		units, _ := new(big.Float).Mul(c.phi(radius), number(big.NewRat(whole15, 1))).Int64()
		q = (probability(units) + 1).exact()
	}
	must(q.Cmp(one) < 0, "no number of noise samples certifies the radius %s", h.Radius)
	drop := exact(h.Drop)
	must(radius.Sign() >= 0 && drop.Sign() >= 0 && drop.Cmp(one) < 0, "a setting out of range")
	groups, of := h.tests(images)
	for _, g := range groups {
		exactDrop := times(drop, big.NewRat(int64(g.images), 1))
		g.allowed = int(new(big.Int).Quo(exactDrop.Num(), exactDrop.Denom()).Int64())
	}
	level, _ := exact(h.Level).Float64()
	must(level > 0 && level < 0.5, "a level of %s", h.Level)
	order := rand.New(rand.NewPCG(seed, 1)).Perm(images)
	certified := func(label, class, k, n int) int {
		must(n >= 0 && n <= most && n%block == 0 && k >= 0 && k <= n && class >= -1 && class < classes,
			"%d hits of %d noise samples for class %d of %d", k, n, class, classes)
		must((class >= 0) == (n > 0 && k >= c.leastHits(n, q)), "%d hits of %d noise samples for class %d", k, n, class)
		if class >= 0 && class == label {
			return 1
		}
		return 0
	}
	word, place := "undecided", 0
	for _, line := range lines[1 : len(lines)-1] {
		at++
		var f [8]int
		for i, field := range strings.Fields(line) {
			must(i < len(f), "a line of 8 numbers is expected")
			if f[i] = whole(field); field == "-1" {
				f[i] = -1
			}
		}
		must(line == strings.Trim(fmt.Sprint(f), "[]"), "a line of 8 numbers is expected")
		g := groups[0]
		for ; h.Groups != nil && place < images; place++ {
			if g = groups[of[order[place]]]; g.word == "undecided" {
				break
			}
		}
		must(place < images && f[0] == order[place] && (h.Groups == nil || word == "undecided"),
			"another image follows in the order of the seed, or none")
		place++
		must(f[1] >= 0 && f[1] < classes, "the label %d of %d classes", f[1], classes)
		if h.Groups != nil && h.Groups.By == "class" {
			number, _, _ := strings.Cut(g.name, " ")
			must(number == fmt.Sprint(f[1]), "the label %d in the class %q", f[1], g.name)
		}
		d := certified(f[1], f[2], f[3], f[4]) - certified(f[1], f[5], f[6], f[7])
		if word != "undecided" { // looked at in the same breath
			continue
		}
		word = judge(groups, g, d, level)
	}
	found = judged{word: word, groups: groups}
	if h.Groups == nil {
		g := groups[0]
		found.says = fmt.Sprintf("%s after %d of %s images, net loss %d; a loss of %d of all is allowed; level %s",
			word, g.seen, h.Images, g.sum, g.allowed, h.Level)
		return found, "", at
	}
	found.by = h.Groups.By
	found.says = fmt.Sprintf("%s after %d of %s images, by %s; level %s", word, at-1, h.Images, plain(found.by), h.Level)
	for _, g := range groups {
		found.says += fmt.Sprintf("\n  %s: %s after %d of %d images, net loss %d; a loss of %d is allowed", plain(g.name),
			g.word, g.seen, g.images, g.sum, g.allowed)
	}
	return found, "", at
}

// tests gives the test of each group, and the group of each labelled image; without groups all are one.
func (h gateHeader) tests(images int) (groups []*tested, of []int) {
	if h.Groups == nil {
		return []*tested{{word: "undecided", images: images}}, nil
	}
	g := *h.Groups
	g.Digest = ""
	text, err := json.Marshal(g)
	must(err == nil && h.Groups.Digest == fmt.Sprintf("sha256:%x", sha256.Sum256(text)),
		"the digest of the groups does not follow from them")
	must(len(g.Of) == images, "groups of %d images; there are %d", len(g.Of), images)
	known, first := map[string]bool{}, 0
	for _, name := range g.Names {
		key := name
		if g.By == "class" {
			key, _, _ = strings.Cut(name, " ")
		}
		must(!known[key], "two groups %.40q", key)
		known[key] = true
		groups = append(groups, &tested{name: name, word: "undecided"})
	}
	for _, at := range g.Of {
		must(at >= 0 && at <= first && at < len(groups), "group %d of %d; they are numbered by their first images", at,
			len(groups))
		first = max(first, at+1)
		groups[at].images++
	}
	must(first == len(groups), "a group without an image")
	return groups, g.Of
}

// judge takes the next difference of g, and gives the verdict on the change. Holm compares the smallest p that is left
// with the level over the number of groups that have not failed; p is 0 where the images left cannot save a group.
func judge(groups []*tested, g *tested, d int, level float64) (word string) {
	left := float64(g.images - g.seen)
	g.most = max(g.most, grow(&g.falls, float64(d), float64(g.allowed-g.sum)/left))
	kept := grow(&g.keeps, float64(-d), float64(g.sum-g.allowed-1)/left)
	g.seen, g.sum = g.seen+1, g.sum+d
	rest := g.images - g.seen
	if g.sum-rest > g.allowed {
		g.most = math.Inf(1)
	}
	for open := len(groups); ; open-- {
		var next *tested
		for _, other := range groups {
			if other.word == "undecided" && (next == nil || other.most > next.most) {
				next = other
			}
		}
		if next == nil || next.most*level < room*float64(open) {
			break
		}
		next.word = "fail"
	}
	if g.word == "undecided" && (kept*level >= room || g.sum+rest <= g.allowed) {
		g.word = "pass"
	}
	word = "pass"
	for _, other := range groups {
		if other.word == "fail" || word == "pass" {
			word = other.word
		}
	}
	return word
}

// mostImages is the largest set that is shuffled: its order takes 8 bytes an image.
const mostImages = 1e8

// gateHeader is the first line of a record: all its keys, in their order.
type gateHeader struct {
	Format    string      `json:"format"`
	Version   json.Number `json:"version"`
	Old       network     `json:"old"`
	New       network     `json:"new"`
	Data      string      `json:"data"`
	Digest    string      `json:"digest"`
	Images    json.Number `json:"images"`
	Sigma     json.Number `json:"sigma"`
	Noise     string      `json:"noise"`
	Radius    json.Number `json:"radius"`
	Drop      json.Number `json:"drop"`
	Level     json.Number `json:"level"`
	Alpha     json.Number `json:"alpha"`
	Samples   json.Number `json:"samples"`
	Selection json.Number `json:"selection"`
	Block     json.Number `json:"block"`
	Seed      string      `json:"seed"`
	Groups    *gateGroups `json:"groups,omitempty"`
}

// gateGroups give the group of each labelled image.
type gateGroups struct {
	By     string   `json:"by,omitempty"`
	Names  []string `json:"names,omitempty"`
	Of     []int    `json:"of,omitempty"`
	Digest string   `json:"digest,omitempty"`
}

// seed is that which follows from the other fields: in version 1 from all, since then from content alone.
func (h gateHeader) seed() uint64 {
	h.Seed = "0"
	if h.Version != "1" {
		h.Data, h.Old, h.New = "", h.Old.content(), h.New.content()
	}
	if h.Groups != nil {
		h.Groups = &gateGroups{Of: h.Groups.Of}
	}
	text, err := json.Marshal(h)
	must(err == nil, "%v", err)
	digest := sha256.Sum256(text)
	return binary.BigEndian.Uint64(digest[:8]) | 1
}

// content is a network without its name and without what runs it.
func (n network) content() network {
	n.Name, n.Identity = "", identity{Weights: n.Identity.Weights, Threads: "0"}
	return n
}

// otherThanGate says what a file is that is no record of a gate.
func otherThanGate(line, format string, err error) string {
	if format == "certspec-ledger" {
		return ": this is a ledger; certcheck FILE checks it"
	}
	return otherKind(line, format, err)
}

// grow takes a difference into the products, and gives their average.
func grow(logs *[7]float64, d, mean float64) (average float64) {
	for i, f := range []float64{0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95} {
		if mean > -1 && mean < 1 {
			logs[i] += math.Log1p(f * (d - mean) / (1 + mean))
		}
		average += math.Exp(logs[i]) / 7
	}
	return average
}

// room for rounding: an average times the level rejects from here on.
const room = 1 + 1e-9
