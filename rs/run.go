package rs

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs/ledger"
)

// Run is the outcome of a certification, of all images or, where it was interrupted, of the first of them.
type Run struct {
	Header ledger.Header `json:"header"`
	Rows   `json:"rows"`
	Digest string `json:"-"` // of the closed ledger that has it; "": none
	Path   string `json:"-"` // of the ledger; "": none
}

// ReadLedger reads the file of a run as it stands, with the counts of every look. An unfinished or torn ledger is no
// error; a foreign, damaged or newer one is: a *ledger.FormatError or *ledger.VersionError.
func ReadLedger(path string) (*ledger.Ledger, error) { return ledgerio.Read(path) }

// Open reads the run that a ledger records. The rows of a closed ledger are its claims, whose digest is checked. Those
// of an unfinished ledger are derived from its counts, as far as images are decided. It keeps no counts.
func Open(path string) (*Run, error) {
	run, err := openClosed(path)
	if err != nil || run.Digest != "" {
		return run, err
	}
	run.Rows = nil
	p, err := stopping.Of(run.Header)
	if err != nil {
		return nil, fmt.Errorf("rs: ledger %s: %w", path, err)
	}
	scan, err := ledgerio.Scan(path)
	if err != nil {
		return nil, err
	}
	defer scan.Close()
	var last *stopping.Trial
	for looks, err := range scan.Images() {
		if err != nil {
			return nil, err
		}
		if last, err = nextTrial(p, last, looks); err != nil {
			return nil, fmt.Errorf("rs: ledger %s: %w", path, err)
		}
		if last.Done() && !byBlocks(run.Header) {
			run.Rows = append(run.Rows, rowOf(last))
		}
	}
	return run, nil
}

// openClosed reads a ledger once. The rows of one that is not closed have no outcome, and it has no digest.
func openClosed(path string) (*Run, error) {
	scan, err := ledgerio.Scan(path)
	if err != nil {
		return nil, err
	}
	defer scan.Close()
	run := &Run{Header: scan.Header(), Rows: Rows{}, Path: path}
	for looks, err := range scan.Images() {
		if err != nil {
			return nil, err
		}
		row := Row{Image: looks[0].Image, Label: looks[0].Label}
		for _, l := range looks {
			row.Misses += l.Misses
			row.Passes += (l.To - l.From) * run.Header.Block
		}
		run.Rows = append(run.Rows, row)
	}
	if byBlocks(run.Header) {
		run.Rows = run.Rows[:0]
	}
	i := 0
	for r, err := range scan.All() {
		if err != nil {
			return nil, err
		}
		switch c := r.Claim; r.Kind {
		case ledgerio.ClaimLine:
			lower, err1 := strconv.ParseFloat(c.Lower, 64)
			radius, err2 := strconv.ParseFloat(c.Radius, 64)
			if err1 != nil || err2 != nil || lower > 1 {
				return nil, fmt.Errorf("rs: ledger %s: claim on image %d: lower bound %s, radius %s", path, c.Image,
					c.Lower, c.Radius)
			}
			o := &run.Rows[i].Outcome
			o.Class, o.K, o.N, o.Lower, o.Radius = c.Class, c.K, c.N, lower, radius
			i++
		case ledgerio.DigestLine:
			run.Digest = r.Digest
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
	p, err := stopping.Of(r.Header)
	if err != nil {
		return 0
	}
	return p.RadiusCap()
}

// Radii are those that certified accuracy is stated at in a closed ledger: the tested radii of the rule Betting, else
// the multiples of 0.25 up to RadiusCap. It is empty where RadiusCap is 0.
func (r *Run) Radii() []float64 {
	p, err := stopping.Of(r.Header)
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
	fmt.Fprintf(&b, "%d of %d images, %d abstained, %s noise samples, %d misses\n", len(r.Rows),
		shareOf(h.Shard, h.Data.Images), r.Abstained(), printable.Count(r.Passes()), r.Misses())
	fmt.Fprintf(&b, "%v\n%v", r.ACR(), r.CertifiedAccuracy(0))
	return b.String()
}

// replay gives the looks of a ledger to trials, one per image, in the order of the file. All but the last are done.
func replay(p *stopping.Plan, l *ledger.Ledger) (trials []*stopping.Trial, err error) {
	var last *stopping.Trial
	for looks := range l.Images() {
		if last, err = nextTrial(p, last, looks); err != nil {
			return nil, err
		}
		trials = append(trials, last)
	}
	return trials, nil
}

// nextTrial is that of an image with these looks, behind the last one, which is nil at the beginning.
func nextTrial(p *stopping.Plan, last *stopping.Trial, looks []ledger.Look) (*stopping.Trial, error) {
	if last != nil && !last.Done() {
		return nil, fmt.Errorf("image %d is not decided, but image %d follows", last.Image, looks[0].Image)
	}
	t := p.Trial(looks[0].Image, looks[0].Label)
	for _, l := range looks {
		if err := t.Add(l); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// rowOf is the row of a trial that is done.
func rowOf(t *stopping.Trial) Row {
	return Row{Image: t.Image, Label: t.Label, Outcome: t.Outcome}
}

// claims are the claims of a complete run. The average radius is the exact mean of the claimed radii,
// cut to 9 decimals; certified accuracies stand at the multiples of 0.25 that the rule can reach or, where it
// tests certain radii, at these.
func (r *Run) claims() ledger.Claims {
	c := ledger.Claims{Images: make([]ledger.Claim, len(r.Rows))}
	sum := new(big.Rat)
	for i, row := range r.Rows {
		c.Images[i] = stopping.Claim(row.Outcome, row.Image)
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
		c.Certified = append(c.Certified, ledger.Certified{Radius: stopping.RadiusText(a.Radius), Count: a.Count})
	}
	return c
}
