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
	Model, Data                                      map[string]any
	Program, Seed, Seed_chosen, Noise, Order, Scores any
	Rule                                             struct {
		Name                                  string
		Tolerance, Relative, Futility, Budget any
		Looks                                 []struct {
			Copies int
			Alpha  json.Number
		}
		Sizes   []struct{ Hits, Copies int }
		Targets []struct{ Radius, Probability json.Number }
	}
	Shard *struct {
		By           string
		Index, Count int
	}
}

// checker stands at a line of a ledger.
type checker struct {
	header
	*memory
	lines                   []string
	at                      int // line, from 0
	images, classes         int
	abstained               int
	digest                  string
	sigma, alpha            *big.Rat
	levels, targets, bounds []*big.Rat // α of the looks; radii that betting tests, and the bounds that certify them
}

// memory is what may be kept from one ledger to the next: claims that hold, what is known of bets, and how many terms
// may still be added up. Only a file that was made to keep the checker busy needs so many.
type memory struct {
	holds  map[string]bool
	wagers map[string][2]int
	terms  int
}

// image is what the looks of an image say. Its class is the one that the selection chose.
type image struct {
	id, label, class int
	hits, copies     []int // up to each look behind the selection
}

// wrong is why a ledger is rejected, and must rejects it where a condition does not hold.
type wrong string

func must(holds bool, format string, args ...any) {
	if !holds {
		panic(wrong(fmt.Sprintf(format, args...)))
	}
}

// A number has one spelling: no sign but that of −1, no needless zero, no exponent.
var (
	lookForm  = regexp.MustCompile(`^(\d{1,9}) (-1|\d{1,9}) (\d{1,9}) (\d{1,9}) (\d{1,9})((?: [1-9]?\d{1,8}:[1-9]\d{0,8})*)$`)
	claimForm = regexp.MustCompile(`^(\d{1,9}) (-1|\d{1,9}) (\d{1,9}) (\d{1,9}) (0\.\d{15}) ((?:0|[1-9]\d{0,99})(?:\.\d{0,399}[1-9])?)$`)
	needless  = regexp.MustCompile(`(^|[ :])0\d`)
)

// read splits a line into fields, and into numbers where they are whole.
func read(form *regexp.Regexp, line string) (fields []string, numbers []int) {
	fields = form.FindStringSubmatch(line)
	must(fields != nil && !needless.MatchString(line), "a line of another kind was expected")
	for _, field := range fields {
		n, _ := strconv.Atoi(field)
		numbers = append(numbers, n)
	}
	return fields[1:], numbers[1:]
}

// parse reads a decimal whose form was checked.
func parse(text string) *big.Rat {
	r, _ := new(big.Rat).SetString(text)
	return r
}

// exact is a number of the header as it stands there, and −1 for one that is of no use.
func exact(n json.Number) *big.Rat {
	if f, err := n.Float64(); err != nil || len(n) > 40 || !(f > 1e-300 && f < 1e300) && n != "0" {
		return big.NewRat(-1, 1)
	}
	return parse(string(n))
}

// begin checks what was announced before the first copy was drawn, and that the looks spend α.
func (c *checker) begin() {
	dec := json.NewDecoder(strings.NewReader(c.lines[0]))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	err := dec.Decode(&c.header)
	_, end := dec.Token()
	must(c.Format == "certspec-ledger" && (c.Version == 1 || c.Version == 2), "not the header of a ledger of version 1 or 2")
	must(err == nil && end == io.EOF, "the header cannot be read: %v", err)
	c.sigma, c.alpha = exact(c.Sigma), exact(c.Alpha)
	usable := func(n int) bool { return n > 0 && n < 1e9 && n%c.Block == 0 }
	must(c.Block > 0 && usable(c.Selection) && c.sigma.Sign() > 0 && c.alpha.Sign() > 0 && c.alpha.Cmp(half) < 0,
		"want a selection of whole blocks, sigma above 0, and alpha between 0 and ½")
	rule, spent, last := c.Rule.Name, new(big.Rat), 0
	must(rule == "fixed" || rule == "staged" || c.Version == 2 && (rule == "iss" || rule == "betting"), "unknown rule %.40q", rule)
	must((rule == "iss") == (c.Rule.Sizes != nil) && (rule == "betting") == (c.Rule.Targets != nil), "sizes or targets under rule %s", rule)
	for i, l := range c.Rule.Looks {
		a := exact(l.Alpha)
		must(usable(l.Copies) && l.Copies > last && a.Sign() > 0 && (i == 0 || rule == "staged" || rule == "betting"), "bad look after %d copies", l.Copies)
		must(rule != "betting" || a.Cmp(c.alpha) == 0, "level %s, want that of the header", l.Alpha)
		last, c.levels = l.Copies, append(c.levels, a)
		spent.Add(spent, a)
	}
	if rule == "betting" && last > 0 { // the test holds at all its looks together
		spent.Set(c.alpha)
	}
	// A level such as α/11 was rounded to a float64; the 10⁻⁹ that every bound leaves covers that.
	spends, _ := spent.Quo(spent, c.alpha).Float64()
	must(spends > 1-1e-12 && spends < 1+1e-12, "the looks spend %v of alpha", spends)
	for i, s := range c.Rule.Sizes {
		must((s.Copies == 0 || usable(s.Copies)) && s.Copies <= last && (i == 0 || s.Hits > c.Rule.Sizes[i-1].Hits), "bad size from %d hits on", s.Hits)
	}
	for i, t := range c.Rule.Targets {
		r, q := exact(t.Radius), exact(t.Probability)
		must(r.Sign() >= 0 && c.within(r) && (i == 0 || r.Cmp(c.targets[i-1]) > 0) && q.Cmp(one) < 0, "bad target radius %s", t.Radius)
		p := c.phi(r, one)
		must(p.Cmp(number(q)) <= 0 && p.Cmp(number(minus(q, big.NewRat(1, 1e15)))) > 0, "%s is not Φ(%s/σ) rounded up", t.Probability, t.Radius)
		c.targets, c.bounds = append(c.targets, r), append(c.bounds, q)
	}
	c.images, _ = strconv.Atoi(fmt.Sprint(c.Data["images"]))
	c.classes, _ = strconv.Atoi(fmt.Sprint(c.Model["classes"]))
	if s := c.Shard; s != nil { // of the images whose position is index modulo count
		must(s.By == "images" && c.Version == 2, "a shard by %.40q claims nothing: merge the shards and check the whole", s.By)
		must(0 <= s.Index && s.Index < s.Count && s.Count < 1e9, "shard %d of %d", s.Index, s.Count)
		c.images = (c.images - s.Index + s.Count - 1) / s.Count
	}
}

// check checks a ledger. Where it fails, the checker stands at the line that is wrong.
func check(data []byte, m *memory) (c *checker, reason string) {
	c = &checker{memory: m, lines: strings.Split(string(data), "\n")}
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
	c.digest = fmt.Sprintf("sha256 %x", sha256.Sum256([]byte(strings.Join(c.lines[:c.at+1], "\n")+"\n")))
	c.expect("%s", c.digest)
	must(c.at == last-1, "something follows the digest")
	return c, ""
}

// expect goes on to the next line, which must be this one.
func (c *checker) expect(format string, args ...any) {
	c.at++
	must(c.lines[c.at] == fmt.Sprintf(format, args...), "want "+format, args...)
}

// image checks the looks of an image: blocks as announced, counts that sum to their copies.
func (c *checker) image() *image {
	fields, v := read(lookForm, c.lines[c.at])
	m, votes, total := &image{id: v[0], label: v[1], class: -1}, 0, 0
	for from, to := 0, c.Selection; to > from; from, to = to, c.next(votes, len(m.hits)) {
		if from > c.Selection && !strings.HasPrefix(c.lines[c.at], fields[0]+" ") {
			break // staged and betting may end after any look
		}
		fields, v = read(lookForm, c.lines[c.at])
		must(v[0] == m.id && v[1] == m.label && v[2]*c.Block == from && v[3]*c.Block == to,
			"want the blocks %d to %d of image %d, label %d", from/c.Block, to/c.Block, m.id, m.label)
		sum, above := v[4], -1
		for _, count := range strings.Fields(fields[5]) {
			name, copies, _ := strings.Cut(count, ":")
			class, _ := strconv.Atoi(name)
			n, _ := strconv.Atoi(copies)
			must(class > above, "want ascending classes")
			if sum, above = sum+n, class; from == 0 && n > votes {
				m.class, votes = class, n
			} else if from > 0 && class == m.class {
				total += n
			}
		}
		must(above < c.classes && m.label < c.classes, "a label or class is not below %d", c.classes)
		must(sum == to-from, "counts and misses sum to %d, the look has %d copies", sum, to-from)
		if from > 0 {
			m.hits, m.copies = append(m.hits, total), append(m.copies, to-c.Selection)
		}
		c.at++
	}
	return m
}

// next is where the next look ends, in copies, those of the selection counted; c.Selection where there is none.
func (c *checker) next(votes, looks int) int {
	copies := 0
	if votes > 0 && looks < len(c.Rule.Looks) && c.Rule.Sizes == nil {
		copies = c.Rule.Looks[looks].Copies
	}
	for _, s := range c.Rule.Sizes {
		if votes >= max(1, s.Hits) && looks == 0 {
			copies = s.Copies
		}
	}
	return c.Selection + copies
}

// claims checks the claims and the figures that follow from them.
func (c *checker) claims(images []*image) {
	labelled, sum, radii := 0, new(big.Rat), []float64{} // of the images that are certified and correct
	for _, m := range images {
		c.at++
		f, v := read(claimForm, c.lines[c.at])
		class, lower := m.class, parse(f[4])
		if lower.Cmp(half) < 0 {
			class = -1
			c.abstained++
		}
		must(v[0] == m.id && v[1] == class && (class >= 0 || f[5] == "0"), "want a claim on image %d, class %d", m.id, class)
		if key := fmt.Sprintln(c.lines[0], m.hits, m.copies, f[2:]); !c.holds[key] {
			c.claim(m, v[2], v[3], lower, parse(f[5]))
			c.holds[key] = true
		}
		if m.label >= 0 {
			labelled++
		}
		if m.label >= 0 && m.label == class {
			sum.Add(sum, parse(f[5]))
			radius, _ := strconv.ParseFloat(f[5], 64)
			radii = append(radii, radius)
		}
	}
	if labelled == 0 {
		return
	}
	sum.Mul(sum, big.NewRat(1e9, int64(labelled)))
	cut := new(big.Int).Quo(sum.Num(), sum.Denom())
	c.expect("acr %s %d", sum.SetFrac(cut, big.NewInt(1e9)).FloatString(9), labelled)
	slices.Sort(radii)
	for i := 0; ; i++ { // at the targets, or at the multiples of ¼ as far as any image reaches or further
		at := float64(i) / 4
		if i < len(c.targets) {
			at, _ = c.targets[i].Float64()
		}
		count := len(radii) - sort.SearchFloat64s(radii, at)
		if i > 0 && !strings.HasPrefix(c.lines[c.at+1], "certified ") && (i == len(c.targets) || c.targets == nil && count == 0) {
			break
		}
		must(c.targets == nil || i < len(c.targets), "want certified accuracies at the %d targets", i)
		c.expect("certified %s %d %d", strconv.FormatFloat(at, 'f', -1, 64), count, labelled)
	}
}

// claim checks that k hits of n are those of a look, and prove as much as is claimed and no more.
func (c *checker) claim(m *image, k, n int, lower, radius *big.Rat) {
	at := slices.Index(m.copies, n)
	if len(m.copies) == 0 {
		must(k == 0 && n == 0 && lower.Sign() == 0, "want 0 hits of 0, and an abstention")
		return
	}
	must(at >= 0 && m.hits[at] == k, "no look has %d hits of %d", k, n)
	if c.targets == nil {
		for i := range m.copies { // the claim is that of the best look
			c.clopperPearson(m.hits[i], m.copies[i], lower, c.levels[i], i == at)
		}
		if lower.Cmp(half) >= 0 {
			c.radius(radius, lower)
		}
		return
	}
	won, best := 0, len(m.copies)-1 // targets are won in ascending order, each at the first look that allows it
	bounds, radii := append([]*big.Rat{new(big.Rat)}, c.bounds...), append([]*big.Rat{new(big.Rat)}, c.targets...)
	for i := range m.copies {
		for ; won < len(c.targets) && c.wins(m.hits[i], m.copies[i], c.bounds[won]); won++ {
			best = i
		}
	}
	must(at == best && lower.Cmp(bounds[won]) == 0 && radius.Cmp(radii[won]) == 0, "%d targets are won, at the look of %d copies", won, m.copies[best])
}
