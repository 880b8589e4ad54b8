package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// header is the first line. What is any enters no proof.
type header struct {
	Format                                           string
	Version, Selection, Block                        int
	Sigma, Alpha                                     json.Number
	Model, Data, Shard                               map[string]any
	Program, Noise, Seed, Seed_chosen, Order, Scores any
	Rule                                             struct {
		Name                                  string
		Looks, Sizes, Targets                 []map[string]json.Number
		Tolerance, Relative, Futility, Budget any
	}
}

// checker stands at a line of a ledger.
type checker struct {
	header
	lines                          []string
	at, images, classes, abstained int // at: line, from 0
	terms                          int // of sums that may still be added up
	known                          memory
	sigma, alpha                   *big.Rat
	copies, votes, sizes           []int      // of the looks; iss: of the one look, and the votes from which on it has them
	levels, targets, bounds        []*big.Rat // α of the looks; betting: radii that are tested, and bounds that certify them
}

// memory may be kept from one ledger to the next: the claims that hold, and what is known of bets.
type memory map[string][2]int

// image is what the looks of an image say. Its class is the one that the selection chose.
type image struct {
	id, label, class int
	hits, copies     []int // up to each look behind the selection
}

type wrong string

// must rejects a ledger where a condition does not hold.
func must(holds bool, reason string, args ...any) {
	if !holds {
		panic(wrong(fmt.Sprintf(reason, args...)))
	}
}

var (
	mostTerms = int(1e9) // only a file that was made to keep the checker busy needs so many

	// The lines with numbers: image, label, from, to, misses, class:count …; and image, class, k, n, lower bound, radius.
	lookForm  = regexp.MustCompile(`^(\d{1,9}) (-1|\d{1,9}) (\d{1,9}) (\d{1,9}) (\d{1,9})((?: \d{1,9}:[1-9]\d{0,8})*)$`)
	claimForm = regexp.MustCompile(`^(\d{1,9}) (-1|\d{1,9}) (\d{1,9}) (\d{1,9}) (0\.\d{15}) (\d{1,99}(?:\.\d{0,399}[1-9])?)$`)
	needless  = regexp.MustCompile(`(^|[ :])0\d`) // a zero: numbers have one spelling
)

// read splits a line into fields, and into numbers where they are whole.
func read(form *regexp.Regexp, line string) (fields []string, numbers []int) {
	fields = form.FindStringSubmatch(line)
	must(fields != nil && !needless.MatchString(line), "a line of another kind is expected")
	for _, field := range fields {
		numbers = append(numbers, whole(field))
	}
	return fields[1:], numbers[1:]
}

// whole is a whole number of at most 9 digits, −1 for anything else.
func whole(v any) int {
	n, err := strconv.Atoi(fmt.Sprint(v))
	if err != nil || n < 0 || n >= 1e9 {
		return -1
	}
	return n
}

// exact is a number of the header as it stands there, −1 for one that is of no use.
func exact(n json.Number) *big.Rat {
	if f, err := n.Float64(); err != nil || len(n) > 40 || !(f > 1e-300 && f < 1e300) && n != "0" {
		return big.NewRat(-1, 1)
	}
	return parse(string(n))
}

// check checks a ledger. Where it fails, the checker stands at the line that is wrong.
func check(data []byte, m memory) (c *checker, reason string) {
	c = &checker{known: m, terms: mostTerms, lines: strings.Split(string(data), "\n")}
	defer func() {
		if r := recover(); r != nil {
			reason = string(r.(wrong))
		}
	}()
	last := len(c.lines) - 1 // is empty, as no line of a ledger is
	must(c.lines[last] == "", "the file was cut within its last line")
	c.begin()
	images, seen := []*image{}, map[int]bool{}
	for c.at = 1; c.lines[c.at] != fmt.Sprintf("claims %d", len(images)); {
		must(c.lines[c.at] != "" && c.lines[c.at][0] != '~', "not closed: it claims nothing. The counts of its %d images hold", len(images))
		m := c.image()
		must(!seen[m.id], "image %d came before", m.id)
		seen[m.id], images = true, append(images, m)
	}
	must(len(images) == c.images, "%d images, the header announces %d", len(images), c.images)
	c.claims(images)
	c.expect("sha256 %x", sha256.Sum256([]byte(strings.Join(c.lines[:c.at+1], "\n")+"\n")))
	must(c.at == last-1, "something follows the digest")
	return c, ""
}

// expect goes on to the next line, which must be this one.
func (c *checker) expect(format string, args ...any) {
	c.at++
	must(c.lines[c.at] == fmt.Sprintf(format, args...), "want "+format, args...)
}

// begin checks what was announced before the first copy was drawn, and that the looks spend α.
func (c *checker) begin() {
	dec := json.NewDecoder(strings.NewReader(c.lines[0]))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	err := dec.Decode(&c.header)
	_, end := dec.Token()
	must(c.Format == "certspec-ledger" && (c.Version == 1 || c.Version == 2) && err == nil && end == io.EOF,
		"not the header of a ledger of version 1 or 2: %v", err)
	c.images, c.classes, c.sigma, c.alpha = whole(c.Data["images"]), whole(c.Model["classes"]), exact(c.Sigma), exact(c.Alpha)
	usable := func(n int) bool { return n > 0 && n < 1e9 && n%c.Block == 0 }
	must(c.images > 0 && c.Block > 0 && usable(c.Selection) && c.sigma.Sign() > 0 && c.alpha.Sign() > 0 && c.alpha.Cmp(half) < 0,
		"want images, a selection of whole blocks, sigma above 0, and alpha between 0 and ½")
	rule, spent, last := c.Rule.Name, new(big.Rat), 0
	must(rule == "fixed" || rule == "staged" || c.Version == 2 && (rule == "iss" || rule == "betting"), "unknown rule %.40q", rule)
	must((rule == "iss") == (c.Rule.Sizes != nil) && (rule == "betting") == (c.Rule.Targets != nil), "sizes or targets under rule %s", rule)
	for _, l := range c.Rule.Looks {
		n, level := whole(l["copies"]), exact(l["alpha"])
		must(usable(n) && n > last && (last == 0 || rule == "staged" || rule == "betting"), "a look after %d copies under rule %s", n, rule)
		must(level.Sign() > 0 && (rule != "betting" || level.Cmp(c.alpha) == 0), "a look at level %s", l["alpha"])
		if c.levels, c.copies, last = append(c.levels, level), append(c.copies, n), n; rule != "betting" || spent.Sign() == 0 {
			spent.Add(spent, level) // all of α is spent once by betting, whose test holds at all looks together
		}
	}
	spends, _ := spent.Quo(spent, c.alpha).Float64() // 10⁻¹² is for rounded α/11; the 10⁻⁹ that every bound leaves covers it
	must(spends > 1-1e-12 && spends < 1+1e-12, "the looks spend %v of alpha", spends)
	for _, s := range c.Rule.Sizes {
		votes, n := whole(s["hits"]), whole(s["copies"])
		must((n == 0 || usable(n)) && n <= last && votes >= 0 && (c.votes == nil || votes > slices.Max(c.votes)), "bad size from %d hits on", votes)
		c.votes, c.sizes = append(c.votes, votes), append(c.sizes, n)
	}
	for i, t := range c.Rule.Targets {
		r, q := exact(t["radius"]), exact(t["probability"])
		must(r.Sign() >= 0 && c.within(r) && (i == 0 || r.Cmp(c.targets[i-1]) > 0) && q.Cmp(one) < 0, "bad target radius %s", t["radius"])
		p, less := c.phi(r, one), minus(q, big.NewRat(1, 1e15))
		must(p.Cmp(number(q)) <= 0 && p.Cmp(number(less)) > 0, "%s is not Φ(%s/σ) rounded up", t["probability"], t["radius"])
		c.targets, c.bounds = append(c.targets, r), append(c.bounds, q)
	}
	if c.Shard != nil { // of the images whose position is index modulo count
		index, count := whole(c.Shard["index"]), whole(c.Shard["count"])
		must(c.Shard["by"] == "images" && c.Version == 2 && 0 <= index && index < count, "a shard by blocks claims nothing: merge the shards first")
		c.images = (c.images - index + count - 1) / count
	}
}

// image checks the looks of an image: blocks as announced, counts that sum to their copies.
func (c *checker) image() *image {
	f, v := read(lookForm, c.lines[c.at])
	m, ends, votes, total := &image{id: v[0], label: v[1], class: -1}, []int(nil), 0, 0
	for from, look := 0, 0; look == 0 || look <= len(ends); look++ { // 0 is the selection
		if look > 1 && !strings.HasPrefix(c.lines[c.at], f[0]+" ") {
			break // staged and betting may end after any look
		}
		f, v = read(lookForm, c.lines[c.at])
		to, sum, above := c.Selection, v[4], -1
		if look > 0 {
			to += ends[look-1]
		}
		must(v[0] == m.id && v[1] == m.label && v[2]*c.Block == from && v[3]*c.Block == to,
			"want the blocks %d to %d of image %d, label %d", from/c.Block, to/c.Block, m.id, m.label)
		for _, count := range strings.Fields(f[5]) {
			name, copies, _ := strings.Cut(count, ":")
			class, n := whole(name), whole(copies)
			must(class > above && class < c.classes, "want ascending classes below %d", c.classes)
			if sum, above = sum+n, class; look == 0 && n > votes {
				m.class, votes = class, n
			} else if class == m.class {
				total += n
			}
		}
		must(sum == to-from && m.label < c.classes, "counts and misses sum to %d, the look has %d copies; or the label is no class", sum, to-from)
		if i := sort.SearchInts(c.votes, votes+1); look > 0 {
			m.hits, m.copies = append(m.hits, total), append(m.copies, to-c.Selection)
		} else if votes > 0 && c.sizes == nil {
			ends = c.copies
		} else if votes > 0 && i > 0 && c.sizes[i-1] > 0 { // else it abstains
			ends = c.sizes[i-1 : i]
		}
		from = to
		c.at++
	}
	return m
}

// claims checks the claims and the figures that follow from them.
func (c *checker) claims(images []*image) {
	labelled, sum, radii := 0, new(big.Rat), []float64{} // of the images that are certified and correct
	for _, m := range images {
		c.at++
		f, v := read(claimForm, c.lines[c.at])
		lower, radius := parse(f[4]), parse(f[5])
		if lower.Cmp(half) < 0 {
			m.class = -1
			c.abstained++
		}
		must(v[0] == m.id && v[1] == m.class && (m.class >= 0 || f[5] == "0"), "want a claim on image %d, class %d", m.id, m.class)
		key := fmt.Sprintln(c.lines[0], m.hits, m.copies, f[2:])
		if _, holds := c.known[key]; !holds {
			c.claim(m, v[2], v[3], lower, radius)
			c.known[key] = [2]int{}
		}
		labelled += min(1, m.label+1)
		if r, _ := radius.Float64(); m.label >= 0 && m.label == m.class {
			sum, radii = sum.Add(sum, radius), append(radii, r)
		}
	}
	if labelled == 0 {
		return
	}
	sum.Mul(sum, big.NewRat(1e9, int64(labelled)))
	sum.SetFrac(new(big.Int).Quo(sum.Num(), sum.Denom()), big.NewInt(1e9)) // cut to 9 decimals
	c.expect("acr %s %d", sum.FloatString(9), labelled)
	slices.Sort(radii)
	for i := 0; i == 0 || i < len(c.targets) || strings.HasPrefix(c.lines[c.at+1], "certified "); i++ {
		at := float64(i) / 4 // or the targets
		if must(c.targets == nil || i < len(c.targets), "want %d certified accuracies", i); c.targets != nil {
			at, _ = c.targets[i].Float64()
		}
		c.expect("certified %s %d %d", strconv.FormatFloat(at, 'f', -1, 64), len(radii)-sort.SearchFloat64s(radii, at), labelled)
	}
}

// claim checks that k hits of n are those of a look, and prove as much as is claimed and no more.
func (c *checker) claim(m *image, k, n int, lower, radius *big.Rat) {
	at, best, won := slices.Index(m.copies, n), len(m.copies)-1, 0
	must(at >= 0 && m.hits[at] == k || best < 0 && k == 0 && n == 0 && lower.Sign() == 0, "no look has %d hits of %d", k, n)
	for i := range m.copies {
		if c.targets == nil { // the claim is that of the best look
			c.clopperPearson(m.hits[i], m.copies[i], lower, c.levels[i], i == at)
		} // else targets are won in ascending order, each at the first look that allows it
		for ; won < len(c.targets) && c.wins(m.hits[i], m.copies[i], c.bounds[won]); won++ {
			best = i
		}
	}
	if c.targets == nil && lower.Cmp(half) >= 0 {
		c.radius(radius, lower)
	} else if c.targets != nil {
		must(at == best && (won == 0 && lower.Sign() == 0 || won > 0 && lower.Cmp(c.bounds[won-1]) == 0 && radius.Cmp(c.targets[won-1]) == 0),
			"%d targets are won, at the look number %d", won, best+1)
	}
}
