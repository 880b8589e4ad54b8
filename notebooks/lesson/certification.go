package lesson

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// KnownDistances compares the radius σ·Φ⁻¹(p) of two classifiers of one pixel at 0 with the true
// distance at which their smoothed class changes: a half line, where both are equal, and a slab,
// where the radius is shorter.
func KnownDistances(sigma float64) *nb.Tabular {
	black, one := []uint8{0}, pixel.Shape{Height: 1, Width: 1, Channels: 1}
	proven := func(p float64) float64 { return sigma * math.Sqrt2 * math.Erfinv(2*p-1) }
	t := nb.Columns("model", "p", "σΦ⁻¹(p)", "true distance")

	line := classifier.Linear{Shape: one, Weights: []float64{-1}, Bias: 0.3} // class 1 left of 0.3
	p := line.Probabilities(black, sigma)[1]
	t.Add("half line x < 0.3, at x = 0", p, proven(p), line.Radius(black))
	nb.Assert(math.Abs(proven(p)-line.Radius(black)) < 1e-9, "the radius of a half line is not exact: %g, %g",
		proven(p), line.Radius(black))

	slab := classifier.Slab{Shape: one, HalfWidth: 0.5} // class 1 within 0.5 of 0
	p = slab.Probabilities(black, sigma)[1]
	truth := 0.0 // in steps of 1/255
	for d := 0; slab.Probabilities([]uint8{uint8(d)}, sigma)[1] > 0.5; d++ {
		truth = float64(d) / pixel.Steps
	}
	nb.Assert(proven(p) < truth, "the radius of a slab, %g, is not below the true distance %g", proven(p), truth)
	return t.Add("slab |x| < 0.5, at x = 0", p, proven(p), truth)
}

// Caps is the lower bound, and the radius in units of σ, that n noise samples prove if all of them agree, rounded down.
func Caps(alpha float64, counts ...int) *nb.Tabular {
	t := nb.Columns("n", "lower bound when all agree", "largest radius / σ")
	for _, n := range counts {
		lower := nb.Must(bound.Lower(n, n, alpha))
		radius := nb.Must(bound.Radius(1, lower))
		t.Add(n, fmt.Sprintf("%.6f", math.Floor(1e6*lower.P)/1e6), fmt.Sprintf("%.4f", math.Floor(1e4*radius)/1e4))
	}
	return t
}

// RadiusBySamples is the radius in units of σ against the number of noise samples, if the expected
// number of them hit, for each probability of a hit.
func RadiusBySamples(alpha float64, probabilities ...float64) (lines []nb.Line) {
	for _, p := range probabilities {
		line := nb.Line{Name: fmt.Sprintf("p = %g", p)}
		for n := 50.0; n <= 1e6; n *= 1.25 {
			hits := int(p * math.Floor(n))
			lower := nb.Must(bound.Lower(hits, int(n), alpha))
			line.X, line.Y = append(line.X, math.Floor(n)), append(line.Y, nb.Must(bound.Radius(1, lower)))
		}
		lines = append(lines, line)
	}
	return lines
}

// Forecasts are, for each stopping rule, the noise samples that it spends and the radius that it
// certifies against the probability of the class.
func Forecasts(settings ...rule.Settings) (samples, radii []nb.Line) {
	for _, s := range settings {
		plan := nb.Must(stopping.New(s))
		n, r := nb.Line{Name: string(s.Rule)}, nb.Line{Name: string(s.Rule)}
		for p := 0.3; p <= 1.0001; p += 0.0025 {
			spent, radius := plan.Forecast(p)
			n.X, n.Y = append(n.X, p), append(n.Y, float64(spent))
			r.X, r.Y = append(r.X, p), append(r.Y, radius)
		}
		samples, radii = append(samples, n), append(radii, r)
	}
	return samples, radii
}

// ending are the stopping rules that end by themselves; anytime takes a budget over all images instead.
func ending() []ledger.RuleName {
	return slices.DeleteFunc(stopping.Names(), func(r ledger.RuleName) bool { return r == rule.Anytime })
}

// Rules certifies the same images by every stopping rule that ends by itself, with opt for all of
// them; betting decides the radii. The ledgers are out/RULE-NAME.ledger.
func Rules(model classifier.Classifier, data rs.Source, opt rs.Options, name string,
	radii ...float64) (runs []*rs.Run) {
	for _, r := range ending() {
		o := opt
		o.Rule, o.Ledger = r, fmt.Sprintf("out/%s-%s.ledger", r, name)
		if r == rs.Betting {
			o.Radii = radii
		}
		runs = append(runs, nb.Must(rs.Certify(nb.Context(), model, data, o)))
	}
	return runs
}

// StoredRules opens the stored ledger of every one of these rules, PREFIX-RULE.ledger.
func StoredRules(prefix string) (runs []*rs.Run) {
	for _, r := range ending() {
		runs = append(runs, nb.Must(rs.Open(fmt.Sprintf("%s-%s.ledger", prefix, r))))
	}
	return runs
}

// CompareRules is a table of runs by several rules, the first of which is fixed, with the certified
// accuracy at the radii.
func CompareRules(runs []*rs.Run, radii ...float64) *nb.Tabular {
	columns := []string{"rule", "noise samples in all", "fewer than fixed", "ACR"}
	for _, r := range radii {
		columns = append(columns, fmt.Sprintf("r = %g", r))
	}
	t := nb.Columns(append(columns, "abstained")...)
	for _, run := range runs {
		row := []any{run.Header.Rule.Name, run.Passes(), fmt.Sprintf("%.1f times",
			float64(runs[0].Passes())/float64(run.Passes())), run.ACR().Value}
		for _, a := range run.CertifiedAccuracy(radii...) {
			row = append(row, a.Value)
		}
		t.Add(append(row, run.Abstained())...)
	}
	h := runs[0].Header
	t.Notes = []string{fmt.Sprintf("%d images of %s, model %s on %s, σ = %g, α = %g.", h.Data.Images, h.Data.Name,
		h.Model.Name, h.Model.Identity.Engine, h.Sigma, h.Alpha)}
	return t
}

// SpentByShare is the mean number of noise samples that each rule took for the images of the first
// run, which is by the fixed rule, sorted by the share of its votes that the class got.
func SpentByShare(runs []*rs.Run, edges ...float64) *nb.Tabular {
	fixed := runs[0]
	bin := func(i int) (b int) {
		for share := float64(fixed.Rows[i].K) / float64(fixed.Rows[i].N); share >= edges[b+1]; b++ {
		}
		return b
	}
	images := make([]int, len(edges)-1)
	for i := range fixed.Rows {
		images[bin(i)]++
	}
	columns := []string{"share of votes", "images"}
	sums := make([][]int, len(images))
	for _, run := range runs[1:] {
		columns = append(columns, string(run.Header.Rule.Name))
		of := make([]int, len(images))
		for i, row := range run.Rows {
			of[bin(i)] += row.Passes
		}
		for b := range sums {
			sums[b] = append(sums[b], of[b]/max(1, images[b]))
		}
	}
	t := nb.Columns(columns...)
	for b := range images {
		share := fmt.Sprintf("%g to %g", edges[b], edges[b+1])
		if edges[b+1] > 1 {
			share = "all agree"
		}
		row := []any{share, images[b]}
		for _, mean := range sums[b] {
			row = append(row, mean)
		}
		t.Add(row...)
	}
	return t
}

// Excerpt is the head, some rows, the first claims and the end of a ledger, long lines cut.
func Excerpt(file string) string {
	lines := ledgerLines(file)
	claims := 0
	for i, line := range lines {
		if strings.HasPrefix(line, "claims") {
			claims = i
		}
	}
	short := func(i int) string {
		line := []rune(strings.TrimSuffix(lines[i], "\n"))
		if len(line) > 90 {
			line = append(line[:87], []rune("...")...)
		}
		return fmt.Sprintf("%4d  %s", i+1, string(line))
	}
	last := len(lines) - 1
	show := []string{short(0)}
	for _, part := range [][]int{{1, 2, 3, 4}, {claims, claims + 1, claims + 2}, {last - 3, last - 2, last - 1, last}} {
		for _, i := range part {
			show = append(show, short(i))
		}
		if part[0] != last-3 {
			show = append(show, " ...")
		}
	}
	return strings.Join(show, "\n")
}

func ledgerLines(file string) []string {
	return strings.SplitAfter(strings.TrimSuffix(string(nb.Must(os.ReadFile(file))), "\n"), "\n")
}

// Forged writes a copy of a ledger in which change has altered the lines to out/NAME, with a digest
// made anew where the forger thinks of it.
func Forged(file, name string, anew bool, change func(lines []string)) string {
	lines := ledgerLines(file)
	change(lines)
	body, end := strings.Join(lines[:len(lines)-1], ""), lines[len(lines)-1]
	if anew {
		end = fmt.Sprintf("sha256 %x", sha256.Sum256([]byte(body)))
	}
	forged := filepath.Join("out", name)
	nb.Check(atomicfile.Write(forged, []byte(body+end+"\n")))
	return forged
}

// RaiseRadius makes the last digit that is not a 9 larger in the first claim with a radius.
func RaiseRadius(lines []string) {
	inClaims := false
	for i, line := range lines {
		inClaims = inClaims || strings.HasPrefix(line, "claims ")
		fields := strings.Fields(line)
		if !inClaims || len(fields) != 6 || fields[5] == "0" {
			continue
		}
		radius := []byte(fields[5])
		for d := len(radius) - 1; d >= 0; d-- {
			if radius[d] >= '0' && radius[d] < '9' {
				radius[d]++
				break
			}
		}
		fields[5] = string(radius)
		lines[i] = strings.Join(fields, " ") + "\n"
		return
	}
}

// Caught says what rs.Verify finds wrong in a ledger, with its line.
func Caught(file string) string {
	_, err := rs.Verify(nb.Context(), file)
	var format *ledger.FormatError
	if errors.As(err, &format) {
		return fmt.Sprintf("line %d: %s", format.Line, format.Reason)
	}
	return fmt.Sprint(err)
}

// Renamed writes a copy of a ledger to out/NAME in which the model has the weights' digest of
// another one, with a fitting digest at its end.
func Renamed(file, name string, model, as classifier.Classifier) string {
	from, to := nb.Must(model.Info()).Identity.Weights, nb.Must(as.Info()).Identity.Weights
	return Forged(file, name, true, func(lines []string) {
		lines[0] = strings.Replace(lines[0], from, to, 1)
	})
}
