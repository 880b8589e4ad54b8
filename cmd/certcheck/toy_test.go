package main

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mathext"
)

// toy writes small ledgers with formulas that the checker does not use: bounds from the regularised incomplete beta function,
// radii from the normal quantile, the wealth from log gamma functions.
type toy struct {
	rule    string
	sigma   float64
	alpha   float64
	levels  []float64
	samples []int
	sizes   [][2]int // votes, samples
	radii   []float64
	bounds  []string
	images  int
	version int
}

const (
	toyBlock     = 20
	toySelection = 40
	toyClasses   = 5
)

var toys = []toy{
	{rule: "fixed", sigma: 0.25, alpha: 0.001, levels: []float64{0.001}, samples: []int{1000}, images: 40, version: 1},
	{rule: "staged", sigma: 0.5, alpha: 0.001, levels: slices.Repeat([]float64{0.001 / 5}, 5), samples: []int{100, 200, 400, 800, 1000}, images: 40, version: 2},
	{rule: "iss", sigma: 0.25, alpha: 0.01, levels: []float64{0.01}, samples: []int{2000}, sizes: [][2]int{{0, 0}, {18, 1000}, {30, 400}, {38, 2000}}, images: 40, version: 2},
	{rule: "betting", sigma: 0.25, alpha: 0.001, levels: slices.Repeat([]float64{0.001}, 6), samples: []int{60, 100, 200, 400, 800, 1600},
		radii: []float64{0, 0.25, 0.5},
		// Φ(0), Φ(1) = .841344746068542948…, Φ(2) = .977249868051820792…, rounded up
		bounds: []string{"0.500000000000000", "0.841344746068543", "0.977249868051821"}, images: 40, version: 2},
	{rule: "anytime", sigma: 0.25, alpha: 0.001, levels: []float64{0.001}, samples: []int{5000}, images: 40, version: 3},
}

func (t toy) header() string {
	var looks, extra []string
	for i, n := range t.samples {
		looks = append(looks, fmt.Sprintf(`{"copies":%d,"alpha":%v}`, n, t.levels[i]))
	}
	rule := fmt.Sprintf(`"name":%q,"looks":[%s]`, t.rule, strings.Join(looks, ","))
	for _, s := range t.sizes {
		extra = append(extra, fmt.Sprintf(`{"hits":%d,"copies":%d}`, s[0], s[1]))
	}
	for i, r := range t.radii {
		extra = append(extra, fmt.Sprintf(`{"radius":%v,"probability":%q}`, r, t.bounds[i]))
	}
	switch t.rule {
	case "iss":
		rule += `,"sizes":[` + strings.Join(extra, ",") + `]`
	case "betting":
		rule += `,"targets":[` + strings.Join(extra, ",") + `],"futility":0.001`
	}
	words := "as said"
	if t.rule == "anytime" {
		words = "a mixture with the prior Beta(60 p, 60 (1-p)) against p"
	}
	return fmt.Sprintf(`{"format":"certspec-ledger","version":%d,"program":{"version":"test"},"model":{"name":"toy","shape":{"height":1,"width":1,"channels":1},"classes":%d,"identity":{"weights":"none","engine":"toy","engine_version":"1","threads":0,"instruction_set":""}},`+
		`"data":{"name":"toy","digest":"none","images":%d},"sigma":%v,"noise":"grid/1","seed":"1","seed_chosen":true,"alpha":%v,"selection":%d,"block":%d,"rule":{%s,"budget":%q},"order":"data"}`,
		t.version, toyClasses, t.images, t.sigma, t.alpha, toySelection, toyBlock, rule, words)
}

// draw makes up the looks of all images.
func (t toy) draw(rng *rand.Rand) []string {
	var lines []string
	for i := range t.images {
		p := make([]float64, toyClasses+1) // the last: misses
		top := rng.IntN(toyClasses)
		p[top] = []float64{1, 0.999, 0.97, 0.9, 0.7, 0.45}[rng.IntN(6)]
		for j := range p {
			if j != top {
				p[j] = (1 - p[top]) / toyClasses
			}
		}
		if i == 7 {
			p = []float64{0, 0, 0, 0, 0, 1} // no vote at all
		}
		label := top
		switch rng.IntN(8) {
		case 0:
			label = -1
		case 1:
			label = (top + 1) % toyClasses
		}
		from, ends := 0, []int{}
		for look := 0; ; look++ {
			to := toySelection
			if look > 0 {
				to += ends[look-1]
			}
			counts := make([]int, toyClasses+1)
			for range to - from {
				u, j := rng.Float64(), 0
				for ; j < toyClasses && u >= p[j]; j++ {
					u -= p[j]
				}
				counts[j]++
			}
			line := fmt.Sprint(3*i, " ", label, " ", from/toyBlock, " ", to/toyBlock, " ", counts[toyClasses])
			for j, n := range counts[:toyClasses] {
				if n > 0 {
					line += fmt.Sprintf(" %d:%d", j, n)
				}
			}
			lines = append(lines, line)
			if look == 0 {
				ends = t.ends(slices.Max(counts[:toyClasses]))
				if t.rule == "anytime" && ends != nil {
					ends = []int{toyBlock * (1 + rng.IntN(250))}
				}
			}
			if from = to; look == len(ends) || look > 0 && t.rule != "fixed" && t.rule != "iss" && rng.IntN(4) == 0 {
				break
			}
		}
	}
	return lines
}

func (t toy) ends(votes int) []int {
	if votes == 0 {
		return nil
	}
	if t.rule != "iss" {
		return t.samples
	}
	n := 0
	for _, s := range t.sizes {
		if votes >= s[0] {
			n = s[1]
		}
	}
	if n == 0 {
		return nil
	}
	return []int{n}
}

type seen struct {
	id, label, class, votes int
	hits, samples           []int
	lines                   []int
}

func gather(lines []string, selection, block int) []*seen {
	var images []*seen
	for at, line := range lines {
		f := strings.Fields(line)
		n := func(s string) int { v, _ := strconv.Atoi(s); return v }
		if len(images) == 0 || images[len(images)-1].id != n(f[0]) {
			images = append(images, &seen{id: n(f[0]), label: n(f[1]), class: -1})
		}
		m := images[len(images)-1]
		m.lines = append(m.lines, at)
		hits := 0
		for _, c := range f[5:] {
			class, count, _ := strings.Cut(c, ":")
			if len(m.lines) == 1 && n(count) > m.votes {
				m.class, m.votes = n(class), n(count)
			} else if len(m.lines) > 1 && n(class) == m.class {
				hits = n(count)
			}
		}
		if len(m.lines) > 1 {
			if k := len(m.hits); k > 0 {
				hits += m.hits[k-1]
			}
			m.hits, m.samples = append(m.hits, hits), append(m.samples, n(f[3])*block-selection)
		}
	}
	return images
}

// close derives all that follows from the looks, the digest not included.
func (t toy) close(lines []string) []string {
	images := gather(lines, toySelection, toyBlock)
	if t.version == 0 { // a ledger of the program
		images = gather(lines, 100, 100)
	}
	out := []string{fmt.Sprintf("claims %d", len(images))}
	sum, labelled, radii := new(big.Rat), 0, []float64{}
	for _, m := range images {
		class, k, n, lower, radius := -1, 0, 0, "0.000000000000000", "0"
		if t.rule == "betting" {
			won := 0
			for i := range m.hits {
				if won == 0 {
					k, n = m.hits[i], m.samples[i]
				}
				for won < len(t.radii) && logWealth(m.hits[i], m.samples[i], t.bounds[won]) >= -math.Log(t.alpha) {
					lower, radius = t.bounds[won], strconv.FormatFloat(t.radii[won], 'f', -1, 64)
					k, n = m.hits[i], m.samples[i]
					won++
				}
			}
		} else {
			for i := range m.hits {
				l := ""
				if t.rule == "anytime" {
					l = mixtureBound(m.hits[i], m.samples[i], t.levels[i])
				} else {
					l = lowerBound(m.hits[i], m.samples[i], t.levels[i])
				}
				if i == 0 || l > lower {
					k, n, lower = m.hits[i], m.samples[i], l
				}
			}
			if lower >= "0.5" {
				radius = cutRadius(t.sigma, lower)
			}
		}
		if lower >= "0.5" {
			class = m.class
		}
		out = append(out, fmt.Sprint(m.id, " ", class, " ", k, " ", n, " ", lower, " ", radius))
		if m.label >= 0 {
			labelled++
		}
		if m.label >= 0 && class == m.label {
			r, _ := new(big.Rat).SetString(radius)
			f, _ := r.Float64()
			sum.Add(sum, r)
			radii = append(radii, f)
		}
	}
	if labelled == 0 {
		return out
	}
	sum.Mul(sum, big.NewRat(1e9, int64(labelled)))
	nano := new(big.Int).Div(sum.Num(), sum.Denom()).Int64()
	out = append(out, fmt.Sprintf("acr %d.%09d %d", nano/1e9, nano%1e9, labelled))
	grid := t.radii
	for r := 0.0; t.radii == nil && (r == 0 || r <= t.most()); r += 0.25 {
		grid = append(grid, r)
	}
	for _, r := range grid {
		count := 0
		for _, v := range radii {
			if v >= r {
				count++
			}
		}
		out = append(out, fmt.Sprintf("certified %v %d %d", r, count, labelled))
	}
	return out
}

// most is the radius of an image whose samples all hit.
func (t toy) most() float64 {
	n, level := t.samples[len(t.samples)-1], t.levels[len(t.levels)-1]
	for i, s := range t.sizes {
		if n = max(n, s[1]); i == 0 {
			n = s[1]
		}
	}
	lower := lowerBound(n, n, level)
	if t.rule == "anytime" {
		lower = mixtureBound(n, n, level)
	}
	radius := "0"
	if n > 0 && lower >= "0.5" {
		radius = cutRadius(t.sigma, lower)
	}
	r, _ := strconv.ParseFloat(radius, 64)
	return r
}

// lowerBound is the Clopper-Pearson bound at α(1−1.5·10⁻⁹), cut to 15 decimals.
var lowerBounds = map[string]string{}

func lowerBound(k, n int, alpha float64) string {
	key := fmt.Sprint(k, n, alpha)
	if s, ok := lowerBounds[key]; ok {
		return s
	}
	low, high := 0.0, 1.0
	for range 60 {
		if p := (low + high) / 2; k == n && math.Pow(p, float64(n)) > alpha*(1-1.5e-9) ||
			k < n && k > 0 && mathext.RegIncBeta(float64(k), float64(n-k+1), p) > alpha*(1-1.5e-9) || k == 0 {
			high = p
		} else {
			low = p
		}
	}
	s := fmt.Sprintf("0.%015d", int64(low*1e15))
	lowerBounds[key] = s
	return s
}

// mixtureBound is where the wealth of the mixture is 1/(α(1−1.01·10⁻⁶)), by log gamma functions, cut to 15 decimals.
func mixtureBound(k, n int, alpha float64) string {
	lg := func(x float64) float64 { v, _ := math.Lgamma(x); return v }
	const r = 60
	m := n - k
	low, high := 0.0, float64(k)/float64(n)
	for range 80 {
		p := (low + high) / 2
		a, b := r*p, r*(1-p)
		log := lg(float64(k)+a) - lg(a) + lg(float64(m)+b) - lg(b) - lg(float64(n)+r) + lg(r) - float64(k)*math.Log(p) - float64(m)*math.Log1p(-p)
		if log < -math.Log(alpha*(1-1.01e-6)) || p == 0 {
			high = p
		} else {
			low = p
		}
	}
	return fmt.Sprintf("0.%015d", int64(low*1e15))
}

func cutRadius(sigma float64, lower string) string {
	hits, _ := strconv.ParseInt(lower[2:], 10, 64)
	text := fmt.Sprintf("%.30e", -sigma*(1-1e-9)*mathext.NormalQuantile(float64(1e15-hits)/1e15))
	v, _ := strconv.ParseFloat(text[:10]+text[strings.Index(text, "e"):], 64)
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// logWealth is ln W as §10.5 of the specification of certspec writes it.
func logWealth(hits, n int, bound string) float64 {
	p, _ := strconv.ParseFloat(bound, 64)
	a, b := float64(hits)+0.5, float64(n-hits)+0.5
	lg := func(x float64) float64 { v, _ := math.Lgamma(x); return v }
	if hits <= int(p*float64(n)) {
		return 0
	}
	return lg(a) + lg(b) - lg(a+b) + math.Log(mathext.RegIncBeta(b, a, 1-p)) -
		math.Log(math.Pi*mathext.RegIncBeta(0.5, 0.5, 1-p)) - float64(hits)*math.Log(p) - float64(n-hits)*math.Log(1-p)
}

// sealed is a ledger with its digest.
func sealed(lines ...[]string) string {
	text := strings.Join(slices.Concat(lines...), "\n") + "\n"
	return text + fmt.Sprintf("sha256 %x\n", sha256.Sum256([]byte(text)))
}
