package rs

import (
	"fmt"

	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/ledger"
)

// Rule says how many noisy copies an image gets.
//
// Under every rule the class comes from copies of its own, which enter no bound, and the claim on an
// image is false with probability at most α over the noise.
type Rule string

const (
	// Fixed looks once, after MaxSamples copies, with a Clopper-Pearson bound of confidence 1−α:
	// the procedure CERTIFY of Cohen, Rosenfeld and Kolter (2019).
	Fixed Rule = "fixed"

	// Staged looks after 100, 200, 400, … copies and last after MaxSamples, J looks in all, each with a
	// Clopper-Pearson bound of confidence 1−α/J. By the union bound all J hold together with
	// probability at least 1−α, so the largest radius over the looks is certified, and when to
	// stop may depend on the data in any way. It stops when the radius would grow by at most Tolerance
	// were the remaining copies to hit as often as those seen. That holds in particular for an
	// image without hope, whose upper bound is below ½: its radius would stay 0; and for one that would grow by
	// at most Tolerance even if all remaining copies hit.
	//
	// A copy costs nothing in confidence, a look does: with MaxSamples = 100,000, α = 0.001 and eleven
	// looks the largest radius is 3.737σ, with Fixed 3.811σ.
	Staged Rule = "staged"
)

// firstLook is the number of copies, rounded up to a block, at the first look of Staged.
const firstLook = 100

// plan is a rule made concrete.
type plan struct {
	sigma     float64
	block     int
	selection int // copies
	looks     []ledger.Level
	tolerance float64 // radius
	staged    bool
}

func newPlan(o Options) *plan {
	p := &plan{sigma: o.Sigma, block: o.Block, selection: o.Selection, tolerance: o.Tolerance, staged: o.Rule == Staged}
	if p.staged {
		for n := roundUp(firstLook, o.Block); n < o.MaxSamples; n *= 2 {
			p.looks = append(p.looks, ledger.Level{Copies: n})
		}
	}
	p.looks = append(p.looks, ledger.Level{Copies: o.MaxSamples})
	for i := range p.looks {
		p.looks[i].Alpha = o.Alpha / float64(len(p.looks))
	}
	return p
}

// header is the rule as the ledger's header has it.
func (p *plan) header() ledger.Rule {
	r := ledger.Rule{Name: string(Fixed), Budget: "all of alpha at the one look", Looks: p.looks}
	if p.staged {
		r.Name, r.Tolerance = string(Staged), p.tolerance
		r.Budget = fmt.Sprintf("union bound: alpha/%d at each look", len(p.looks))
	}
	return r
}

// end is the block at which look i ends; look −1 is the selection.
func (p *plan) end(i int) int {
	copies := p.selection
	if i >= 0 {
		copies += p.looks[i].Copies
	}
	return copies / p.block
}

// stops reports whether the rule ends after look i with k hits, when radius is certified.
func (p *plan) stops(i, k int, radius float64) bool {
	if i == len(p.looks)-1 {
		return true
	}
	last := p.looks[len(p.looks)-1]
	projected := int(int64(k) * int64(last.Copies) / int64(p.looks[i].Copies))
	at := must(bound.Radius(p.sigma, must(bound.Lower(projected, last.Copies, last.Alpha))))
	return at-radius <= p.tolerance
}

// must is for arguments that were checked when the plan was made.
func must[T any](v T, err error) T {
	if err != nil {
		panic("rs: " + err.Error())
	}
	return v
}
