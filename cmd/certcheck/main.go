// Certcheck proves what a ledger of certspec, the record of a certification by randomized
// smoothing, claims: by exact rules and big numbers (float64 decides only what its error cannot
// change), with nothing but Go's standard library. Read it in an evening, and trust nobody. This
// file follows a ledger from its first line to its last (package rs/ledger describes the format),
// proof.go is the mathematics.
//
//	certcheck LEDGER…                 exit code 0: all holds; 1: something does not, or nothing is claimed; 2: wrong use
//	certcheck --gate RECORD           the verdict of "certspec gate --out RECORD", in gate.go
//	certcheck --statement FILE OF     a statement on the ledger or record OF, in statement.go
//	certcheck --strength FILE [BYTES [LEDGER]]  a file of "certspec prove", in strength.go
//	certcheck --claims FILE LEDGER    also the claims of "certspec ledger query LEDGER --out FILE", in query.go
//
// Proven: The looks that the header announces spend α, and every image was looked at as announced.
// Its counts sum to its samples, and its class has the most votes of the selection, whose samples
// enter no bound. The hits of that class prove the lower bound and no larger one, at the best look;
// the radius follows from the bound, Φ(radius/σ) ≤ bound; the averages follow from claims and
// labels.
//
// Not proven: that model, data, noise and counts are those that the header names. To replay blocks
// with the model shows it. Who alters a ledger and puts its digest right is found out, except where
// the same claims and averages follow:
//   - what enters no claim: names, engine, digests of model and data, shape of the images, classes
//     that nothing was counted in, noise law, seed, order, tolerance, futility, the budget's words,
//     announced sizes that no image meets; and σ, with the radii that follow from it. Where the
//     header calls the seed derived, "certspec ledger verify" derives it again, which binds
//     digests, shape, classes, noise law and all settings, σ among them; a chosen seed binds none;
//   - counts of the selection with the same winner (under iss: and size); behind it, counts of
//     other classes and misses, and hits after the look of the claim, where that look remains the
//     best;
//   - a label that stays wrong, or that of an abstention, in all lines of its image;
//   - the last digits of a lower bound while k of n prove it at a level from α(1−2·10⁻⁹) to
//     α(1−10⁻⁹), and the radius follows from it;
//   - anything, together with all that follows from it.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"math/big"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// checker stands at a line of a ledger.
type checker struct {
	header
	in                             *bufio.Reader
	line                           string // "" at the end
	digest                         hash.Hash
	at, images, classes, abstained int // at: line, from 0
	sigma, alpha                   *big.Rat
	samples                        []int          // up to each look, those of the selection not counted; 0 in front
	levels                         []level        // α of the looks
	targets, bounds                []*big.Rat     // betting: radii that are tested, and bounds that certify them
	least                          map[string]int // hits that win bets
	all                            []image
	hits                           []int  // memory for those of images
	terms                          int    // of sums that may still be added up, lest a made-up file keeps the checker busy
	derived                        string // the figures that follow, in words
}

// image sums up the looks at an image. Its class is the one that the selection chose.
type image struct {
	id, label, class int
	voted            int // the class before an abstention
	lower            probability
	radius           float64
	hits, samples    []int // up to each look behind the selection
}

// reject rejects a ledger, must where a condition does not hold.
func reject(reason string, args ...any) { panic(fmt.Sprintf(reason, args...)) }

func must(holds bool, reason string, args ...any) {
	if !holds {
		reject(reason, args...)
	}
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) (code int) {
	if len(args) == 2 && args[0] == "--gate" {
		return gate(args[1], out, errs)
	}
	if len(args) == 3 && args[0] == "--statement" {
		return statement(args[1], args[2], out, errs)
	}
	if len(args) > 1 && len(args) <= 4 && args[0] == "--strength" {
		return strength(args[1:], out, errs)
	}
	claims := ""
	if len(args) == 3 && args[0] == "--claims" {
		claims, args = args[1], args[2:]
	}
	if len(args) == 0 || slices.ContainsFunc(args, func(file string) bool { return strings.HasPrefix(file, "-") }) {
		fmt.Fprintln(errs, "usage: certcheck LEDGER…, certcheck --claims FILE LEDGER, certcheck --gate RECORD, "+
			"certcheck --statement FILE LEDGER or certcheck --strength FILE [BYTES [LEDGER]]")
		return 2
	}
	for _, file := range args {
		code = max(code, follow(file, claims, out, errs))
	}
	return code
}

// follow checks a file and says what came of it.
func follow(file, claims string, out, errs io.Writer) (code int) {
	c, reason := &checker{}, ""
	in, err := os.Open(file)
	if err != nil {
		reason = err.Error()
	} else {
		defer in.Close()
		c, reason = check(in, 1e9)
	}
	if reason != "" {
		fmt.Fprintf(errs, "%s:%d: %s\n", plain(file), c.at+1, plain(reason))
		return 1
	}
	queried := ""
	if claims != "" {
		if queried, reason = c.query(file, claims); reason != "" {
			fmt.Fprintln(errs, reason)
			return 1
		}
	}
	unread := map[bool]string{true: "Not read: the scores beside the ledger (" + plain(c.Scores) +
		"), and what is proven of confidences by them.\n"}[c.Scores != ""]
	_, err = fmt.Fprintf(out, "%s: all holds: %d images, %d abstentions, %s, σ = %s, α = %s, %s\n"+
		"Derived: at most %d noise samples behind a bound; %s.\n"+
		"Named by the header: model %s, data %s.\n"+
		"Proven: if the counts are what the model said to independent noise samples, each claim is false with "+
		"probability at most α.\n"+
		"Not proven: that it said so; and that model, data, labels, shape, classes, noise law%s are those that the "+
		"header names.\n%s"+
		"\"certspec ledger replay\" asks the model. %s\n%s",
		plain(file), c.images, c.abstained, c.Rule.Name, c.Sigma, c.Alpha, c.line,
		slices.Max(c.samples), c.derived, plain(c.Model.Name), plain(c.Data.Name),
		map[bool]string{true: ", σ and seed", false: " and seed"}[c.SeedChosen], unread, map[bool]string{
			true: "The seed was chosen: nothing ties these fields to it, and whoever chose it may have tried others.",
			false: "The seed is called derived: \"certspec ledger verify\" derives it again from these fields and " +
				"the settings."}[c.SeedChosen], queried)
	if err != nil { // nobody was told
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}

// plain is a text without characters that a terminal would obey.
func plain(text string) string {
	quoted := strconv.Quote(text)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(quoted[1 : len(quoted)-1])
}

// check checks a ledger, line by line. Where it fails, the checker stands at the line that is wrong.
func check(in io.Reader, terms int) (c *checker, reason string) {
	c = &checker{terms: terms, in: bufio.NewReaderSize(in, 1<<16), digest: sha256.New(), least: map[string]int{},
		samples: []int{0}, at: -1}
	defer func() {
		if r := recover(); r != nil {
			reason = fmt.Sprint(r)
		}
	}()
	c.next()
	c.begin()
	seen := map[int]bool{} // nil as long as they ascend
	for c.next(); !strings.HasPrefix(c.line, "claims "); {
		must(c.line != "" && c.line[0] != '~', "not closed: it claims nothing. The counts of its %d images hold",
			len(c.all))
		first := c.at
		m := c.image()
		if n := len(c.all); len(seen) > 0 || n > 0 && m.id <= c.all[n-1].id {
			for i := len(seen); i < n; i++ {
				seen[c.all[i].id] = true
			}
			if seen[m.id] {
				c.at = first
				reject("image %d came before", m.id)
			}
		}
		c.all = append(c.all, m)
	}
	must(len(c.all) == c.images, "%d images, the header announces %d", len(c.all), c.images)
	must(c.line == fmt.Sprint("claims ", len(c.all)), "want claims %d", len(c.all))
	c.claims()
	c.next()
	sum := fmt.Sprintf("%x", c.digest.Sum(nil))
	must(c.line == "sha256 "+sum, "want sha256 %s", sum)
	rest, err := c.in.ReadSlice('\n')
	must(len(rest) == 0 || err != io.EOF, "the file was cut within its last line")
	must(len(rest) == 0, "something follows the digest")
	return c, ""
}

// next goes on to the next line. All lines up to it enter the digest.
func (c *checker) next() {
	if c.at >= 0 {
		io.WriteString(c.digest, c.line)
		c.digest.Write([]byte{'\n'})
	}
	c.at++
	line, err := c.in.ReadSlice('\n')
	c.line = string(line)
	for err == bufio.ErrBufferFull && len(c.line) < 1<<28 {
		line, err = c.in.ReadSlice('\n')
		c.line += string(line)
	}
	must(err == nil || err == io.EOF, "%v", err)
	must(err == nil || c.line == "", "the file was cut within its last line")
	c.line = strings.TrimSuffix(c.line, "\n")
}

// expect goes on to the next line, which must be this one.
func (c *checker) expect(format string, args ...any) {
	c.next()
	must(c.line == fmt.Sprintf(format, args...), "want "+format, args...)
}

// cut takes a whole number of at most 9 digits, in its only form, and what stands before it, off a
// line; −1 and an end that nothing follows for anything else. A label may be −1.
func cut(line, before string) (n int, rest string) {
	line, found := strings.CutPrefix(line, before)
	if found && before != "" && strings.HasPrefix(line, "-1") {
		return -1, line[2:]
	}
	i := 0
	for ; i < len(line) && i < 10 && '0' <= line[i] && line[i] <= '9'; i++ {
		n = 10*n + int(line[i]-'0')
	}
	if !found || i == 0 || i == 10 || i > 1 && line[0] == '0' {
		return -1, "!"
	}
	return n, line[i:]
}

// whole is a whole number of at most 9 digits, −1 for anything else.
func whole[T ~string](text T) int {
	n, rest := cut(string(text), "")
	if rest != "" {
		return -1
	}
	return n
}

// exact is a number as it stands there.
func exact(n json.Number) *big.Rat {
	f, err := n.Float64()
	must(err == nil && (f > 1e-300 && f < 1e300 || f == 0 && !strings.Contains(string(n), "-")) && len(n) < 400,
		"%.40q is no number of use", n)
	r, _ := new(big.Rat).SetString(string(n))
	return r
}

// begin checks what was announced before the first noise sample was drawn, and that the looks spend α.
func (c *checker) begin() {
	c.read(c.line)
	c.images, c.classes, c.sigma, c.alpha = whole(c.Data.Images), whole(c.Model.Classes), exact(c.Sigma), exact(c.Alpha)
	usable := func(n int) bool { return n > 0 && n < 1e9 && c.Block > 0 && n%c.Block == 0 }
	must(c.images > 0 && usable(c.Selection), "want images, and a selection of whole blocks")
	must(c.sigma.Sign() > 0 && c.alpha.Sign() > 0 && c.alpha.Cmp(half) < 0,
		"want sigma above 0, and alpha between 0 and ½")
	rule, spent := c.Rule.Name, new(big.Rat)
	must(rule == "fixed" || rule == "staged" || c.Version >= 2 && (rule == "iss" || rule == "betting" ||
		rule == "anytime"), "unknown rule %.40q", rule)
	must((rule == "iss") == (c.Rule.Sizes != nil) && (rule == "betting") == (c.Rule.Targets != nil),
		"sizes or targets under rule %s", rule)
	must(rule != "anytime" || strings.Contains(c.Rule.Budget, "Beta(60 p, 60 (1-p))"),
		"rule anytime announces no prior Beta(60 p, 60 (1-p))")
	for i, l := range c.Rule.Looks {
		n, alpha := whole(l.Samples), exact(l.Alpha)
		must(usable(n) && n > c.samples[i] && (i == 0 || rule == "staged" || rule == "betting"),
			"a look after %s noise samples under rule %s", l.Samples, rule)
		must(alpha.Sign() > 0 && (rule != "betting" || alpha.Cmp(c.alpha) == 0), "a look at level %s", l.Alpha)
		c.levels, c.samples = append(c.levels, near(alpha)), append(c.samples, n)
		if i == 0 || rule == "staged" { // betting spends α once: its test holds at all looks together
			spent.Add(spent, alpha)
		}
	}
	// 10⁻¹² is for rounded α/11; the 10⁻⁹ that every bound leaves covers it
	spends, _ := spent.Quo(spent, c.alpha).Float64()
	must(spends > 1-1e-12 && spends < 1+1e-12, "the looks spend %v of alpha", spends)
	for _, s := range c.Rule.Sizes {
		must(whole(s.Hits) >= 0 && (s.Samples == "0" || usable(whole(s.Samples))), "a look of %s noise samples",
			s.Samples)
	}
	for i, t := range c.Rule.Targets {
		r, q := exact(t.Radius), exact(json.Number(t.Probability))
		must(r.Sign() >= 0 && (i == 0 || r.Cmp(c.targets[i-1]) > 0) && q.Cmp(one) < 0, "a bad target radius %s",
			t.Radius)
		p, less := c.phi(r), number(minus(q, big.NewRat(1, 1e15)))
		must(p.Cmp(number(q)) <= 0 && p.Cmp(less) > 0, "%s is not Φ(%s/σ) rounded up", t.Probability, t.Radius)
		c.targets, c.bounds = append(c.targets, r), append(c.bounds, q)
	}
	if c.Shard != nil { // of the images whose position is index modulo count
		index, count := whole(c.Shard.Index), whole(c.Shard.Count)
		must(c.Shard.By == "images" && c.Version >= 2 && 0 <= index && index < count,
			"a shard by blocks claims nothing: merge the shards first")
		c.images = (c.images - index + count - 1) / count
	}
}

// image checks the looks of an image: blocks as announced, counts that sum to their samples. The line of a look is
// image, label, first block, block behind the last, misses, class:count …
func (c *checker) image() image {
	m, ends, votes, hits, rest := image{class: -1}, c.samples[:1], 0, 0, ""
	m.id, rest = cut(c.line, "")
	if cap(c.hits)-len(c.hits) < len(c.samples) {
		c.hits = make([]int, 0, max(1<<10, len(c.samples)))
	}
	begin := len(c.hits)
	m.label, _ = cut(rest, " ")
	for from, look := 0, 0; look == 0 || look < len(ends) && ends[look] > ends[look-1]; look++ { // 0 is the selection
		var f [5]int
		f[0], rest = cut(c.line, "")
		if look > 1 && f[0] != m.id {
			break // staged and betting may end after any look
		}
		for i := 1; i < len(f); i++ {
			f[i], rest = cut(rest, " ")
		}
		to, sum, above := c.Selection+ends[look], f[4], -1
		if sum < 0 {
			reject("a line of another kind is expected")
		}
		if c.Rule.Name == "anytime" && look == 1 { // which has any number of samples up to the header's
			to = min(to, max(c.Selection/c.Block+1, f[3])*c.Block)
		}
		if f[0] != m.id || f[1] != m.label || f[2]*c.Block != from || f[3]*c.Block != to || m.id < 0 ||
			m.label >= c.classes {
			reject("want %d %d %d %d, misses, and class:count", m.id, m.label, from/c.Block, to/c.Block)
		}
		for class, n := 0, 0; rest != ""; sum, above = sum+n, class {
			class, rest = cut(rest, " ")
			n, rest = cut(rest, ":")
			if class <= above || class >= c.classes || n <= 0 {
				reject("want ascending classes below %d, and counts above 0", c.classes)
			}
			if look == 0 && n > votes {
				m.class, votes = class, n
			} else if class == m.class {
				hits += n
			}
		}
		if sum != to-from {
			reject("counts and misses sum to %d, the look has %d noise samples", sum, to-from)
		}
		if from = to; look > 0 {
			c.hits = append(c.hits, hits)
			if at := len(c.hits) - begin; at < len(c.samples) && c.samples[at] == to-c.Selection && len(m.samples) == at-1 {
				m.samples = c.samples[1 : at+1 : at+1] // as nearly all have it
			} else {
				m.samples = append(m.samples, to-c.Selection)
			}
		} else if m.voted = m.class; votes > 0 { // else it abstains
			ends = c.samples
			for _, s := range c.Rule.Sizes { // of the one look, by votes
				if votes >= whole(s.Hits) {
					ends = []int{0, whole(s.Samples)}
				}
			}
		}
		c.next()
	}
	m.hits = c.hits[begin:len(c.hits):len(c.hits)]
	return m
}

// claims checks the claims, image, class, k, n, lower bound, radius, and the figures that follow from them.
func (c *checker) claims() {
	labelled, sum, radii := int64(0), new(big.Rat), []float64{} // of the images that are certified and correct
	for i := range c.all {
		m := &c.all[i]
		c.next()
		f := strings.Fields(c.line)
		must(len(f) == 6, "a claim is expected")
		k, n, radius := whole(f[2]), whole(f[3]), exact(json.Number(f[5]))
		decimals, _ := strconv.ParseInt(strings.TrimPrefix(f[4], "0."), 10, 64)
		lower, r := probability(decimals), 0.0
		if r, _ = radius.Float64(); lower < whole15/2 {
			m.class, r = -1, 0
			c.abstained++
		}
		want := fmt.Sprintf("%d %d %d %d %s %s", m.id, m.class, k, n, lower, strconv.FormatFloat(r, 'f', -1, 64))
		must(c.line == want && lower < whole15, "want %s", want)
		m.lower, m.radius = lower, r
		c.claim(m, k, n, lower, radius)
		labelled += min(1, int64(m.label)+1) // −1: no label
		if m.label >= 0 && m.label == m.class {
			sum, radii = sum.Add(sum, radius), append(radii, r)
		}
	}
	c.derived = "no image has a label, so that no accuracy follows"
	if labelled == 0 {
		return
	}
	sum.Mul(sum, big.NewRat(1e9, labelled))
	sum.SetFrac(new(big.Int).Quo(sum.Num(), sum.Denom()), big.NewInt(1e9)) // cut to 9 decimals
	c.expect("acr %s %d", sum.FloatString(9), labelled)
	mean := sum.FloatString(9)
	c.derived = "average certified radius " + mean[:len(mean)-5] + "; certified accuracy" // cut to 4 decimals
	slices.Sort(radii)
	for i := 0; c.states(i); i++ {
		at := float64(i) / 4 // or the targets
		if c.targets != nil {
			at, _ = c.targets[i].Float64()
		}
		right := len(radii) - sort.SearchFloat64s(radii, at)
		c.expect("certified %s %d %d", strconv.FormatFloat(at, 'f', -1, 64), right, labelled)
		share := new(big.Rat).SetFrac64(int64(1e4*int64(right)/labelled), 1e4) // cut, too
		c.derived += fmt.Sprintf("%s %s at %v", strings.Repeat(",", min(i, 1)), share.FloatString(4), at)
	}
}

// states reports whether a further accuracy follows, the i-th: they stand at all targets or, under
// other rules, at 0 and the multiples of ¼ that an image whose samples all hit would reach, no more
// and no less.
func (c *checker) states(i int) bool {
	if c.targets != nil || i == 0 {
		return i < max(len(c.targets), 1)
	}
	ahead, _ := c.in.Peek(len("certified "))
	r, stated := big.NewRat(int64(i), 4), string(ahead) == "certified "
	must(!stated || c.reaches(r, -3, 0), "no image can reach the radius %v", float64(i)/4)
	must(stated || !c.reaches(times(r, big.NewRat(1e9+3, 1e9)), 3, 1e-5), "want the certified accuracy at %v",
		float64(i)/4)
	return stated
}

// claim checks that a look has k hits of n, and that they prove as much as is claimed and no more.
func (c *checker) claim(m *image, k, n int, lower probability, radius *big.Rat) {
	at, best, won, bound, target := slices.Index(m.samples, n), len(m.samples)-1, 0, new(big.Rat), new(big.Rat)
	must(at >= 0 && m.hits[at] == k || best < 0 && k == 0 && n == 0 && lower == 0, "no look has %d hits of %d", k, n)
	if c.Rule.Name == "anytime" {
		if best == 0 {
			c.mixture(k, n, lower)
		}
	} else if c.targets == nil { // the claim comes from the best look
		c.clopperPearson(m, at, lower)
	} // else targets are won in ascending order, each at the first look that allows it
	for i := range m.samples {
		for ; won < len(c.targets) && m.hits[i] >= c.leastHits(m.samples[i], c.bounds[won]); won++ {
			best, bound, target = i, c.bounds[won], c.targets[won]
		}
	}
	must(c.targets == nil || at == best && lower.exact().Cmp(bound) == 0 && radius.Cmp(target) == 0,
		"%d targets are won, at the look number %d", won, best+1)
	if c.targets == nil && lower >= whole15/2 {
		c.radius(radius, lower)
	}
}
