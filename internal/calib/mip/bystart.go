package mip

import "math"

// Found is the result of one run of a search.
type Found struct {
	Search string  `json:"search"` // ADMM or dECE
	Start  Start   `json:"start"`
	Best   float64 `json:"best"`
	// Usual: of ADMM, the settings that Emde et al. 2025 (appendix G.3) find to do for all: both
	// steps 0.001, a growth of 1.004.
	Usual bool `json:"usual,omitempty"`
}

// ByStart lists what runs found, those of ADMM first (Emde et al. 2025, figures 12 to 14).
func ByStart(admm []*Run, dece []*DECERun) (all []Found) {
	for _, r := range admm {
		all = append(all, Found{"ADMM", r.Start, r.Best, r.StepA == 0.001 && r.StepZ == 0.001 && r.Growth == 1.004})
	}
	for _, r := range dece {
		all = append(all, Found{"dECE", r.Start, r.Best, false})
	}
	return all
}

// Most is the largest of what a search found, with usual settings alone if that is asked; −∞ where there is none.
func Most(of []Found, search string, usual bool) float64 {
	most := math.Inf(-1)
	for _, f := range of {
		if f.Search == search && (f.Usual || !usual) {
			most = max(most, f.Best)
		}
	}
	return most
}
