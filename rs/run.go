package rs

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// Run is the outcome of a certification, of all images or, where it was interrupted, of the first of them.
type Run struct {
	Header ledger.Header `json:"header"`
	Rows   `json:"rows"`
}

// Open reads the run that a ledger records. The rows of a closed ledger are its claims, whose digest
// is checked; those of an unfinished one are derived from its counts, as far as images are decided.
func Open(path string) (*Run, error) {
	l, err := ledger.Read(path)
	if err != nil {
		return nil, err
	}
	return openRun(path, l)
}

func openRun(path string, l *ledger.Ledger) (*Run, error) {
	run := &Run{Header: l.Header}
	if l.Claims != nil {
		rows, err := claimedRows(l)
		if err != nil {
			return nil, fmt.Errorf("rs: ledger %s: %w", path, err)
		}
		run.Rows = rows
		return run, nil
	}
	p, err := rule.Of(l.Header)
	if err != nil {
		return nil, fmt.Errorf("rs: ledger %s: %w", path, err)
	}
	trials, err := replay(p, l.Looks)
	if err != nil {
		return nil, fmt.Errorf("rs: ledger %s: %w", path, err)
	}
	for _, t := range trials {
		if t.Done() && !byBlocks(l.Header) {
			run.Rows = append(run.Rows, rowOf(t))
		}
	}
	return run, nil
}

// Complete reports whether all images of the data, or of the shard by images, are certified or abstained upon. A
// shard by blocks has no rows.
func (r *Run) Complete() bool { return !byBlocks(r.Header) && len(r.Rows) == r.Images() }

// Images is the number of images of the data, or of the shard by images.
func (r *Run) Images() int { return shareOf(r.Header.Shard, r.Header.Data.Images) }

// RadiusCap is the largest radius that the rule can certify: that of an image whose samples all hit. It is 0 for a
// header whose rule this program does not know.
func (r *Run) RadiusCap() float64 {
	p, err := rule.Of(r.Header)
	if err != nil {
		return 0
	}
	return p.RadiusCap()
}

// Radii are those that certified accuracy is stated at in a closed ledger: the multiples of 0.25 up to RadiusCap or,
// where the rule tests certain radii, these. It is empty where RadiusCap is 0.
func (r *Run) Radii() []float64 {
	p, err := rule.Of(r.Header)
	if err != nil {
		return nil
	}
	return p.Radii()
}

// String names the run and its main figures in a few lines.
func (r *Run) String() string {
	var b strings.Builder
	h := &r.Header
	fmt.Fprintf(&b, "%s on %s, σ = %g, %s, α = %g\n", h.Model.Name, h.Data.Name, h.Sigma, h.Rule.Name, h.Alpha)
	if byBlocks(*h) {
		fmt.Fprintf(&b, "blocks of shard %d of %d", h.Shard.Index+1, h.Shard.Count)
		return b.String()
	}
	fmt.Fprintf(&b, "%d of %d images, %d abstained, %d noise samples, %d misses\n", len(r.Rows),
		shareOf(h.Shard, h.Data.Images), r.Abstained(), r.Passes(), r.Misses())
	fmt.Fprintf(&b, "%v\n%v", r.ACR(), r.CertifiedAccuracy(0))
	return b.String()
}

// replay gives the looks of a ledger to trials, one per image, in the order of the file. All but the last are done.
func replay(p *rule.Plan, looks []ledger.Look) ([]*rule.Trial, error) {
	var trials []*rule.Trial
	for _, l := range looks {
		n := len(trials)
		if n == 0 || trials[n-1].Image != l.Image {
			if n > 0 && !trials[n-1].Done() {
				return nil, fmt.Errorf("image %d is not decided, but image %d follows", trials[n-1].Image, l.Image)
			}
			trials = append(trials, p.Trial(l.Image, l.Label))
			n++
		}
		if err := trials[n-1].Add(l); err != nil {
			return nil, err
		}
	}
	return trials, nil
}

// rowOf is the row of a trial that is done.
func rowOf(t *rule.Trial) Row {
	return Row{Image: t.Image, Label: t.Label, Outcome: t.Outcome}
}

// claimedRows joins the claims of a closed ledger with the labels, misses and passes of its looks.
func claimedRows(l *ledger.Ledger) (Rows, error) {
	rows := make(Rows, len(l.Claims.Images))
	next := 0
	for i, c := range l.Claims.Images {
		lower, err1 := strconv.ParseFloat(c.Lower, 64)
		radius, err2 := strconv.ParseFloat(c.Radius, 64)
		if err1 != nil || err2 != nil || lower > 1 {
			return nil, fmt.Errorf("claim on image %d: lower bound %s, radius %s", c.Image, c.Lower, c.Radius)
		}
		row := Row{Image: c.Image, Label: l.Looks[next].Label, Outcome: Outcome{Class: c.Class, K: c.K, N: c.N,
			Lower: lower, Radius: radius}}
		for ; next < len(l.Looks) && l.Looks[next].Image == c.Image; next++ {
			look := &l.Looks[next]
			row.Misses += look.Misses
			row.Passes += (look.To - look.From) * l.Header.Block
		}
		rows[i] = row
	}
	return rows, nil
}

// claims are the claims of a complete run. The average radius is the exact mean of the claimed radii,
// cut to 9 decimals; certified accuracies stand at the multiples of 0.25 that the rule can reach or, where it
// tests certain radii, at these.
func (r *Run) claims() ledger.Claims {
	c := ledger.Claims{Images: make([]ledger.Claim, len(r.Rows))}
	sum := new(big.Rat)
	for i, row := range r.Rows {
		c.Images[i] = row.Claim(row.Image)
		if row.Label >= 0 {
			c.Labelled++
		}
		if row.Correct() {
			radius, _ := new(big.Rat).SetString(c.Images[i].Radius)
			sum.Add(sum, radius)
		}
	}
	if c.Labelled == 0 {
		return c
	}
	const decimals = 9
	sum.Mul(sum, big.NewRat(1_000_000_000, int64(c.Labelled)))
	cut := new(big.Int).Quo(sum.Num(), sum.Denom()).String()
	if len(cut) <= decimals {
		cut = strings.Repeat("0", decimals+1-len(cut)) + cut
	}
	c.ACR = cut[:len(cut)-decimals] + "." + cut[len(cut)-decimals:]
	for _, a := range r.CertifiedAccuracy(r.Radii()...) {
		c.Certified = append(c.Certified, ledger.Certified{Radius: rule.RadiusText(a.Radius), Count: a.Count})
	}
	return c
}
