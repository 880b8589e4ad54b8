// Package smoothed compares how sure a smoothed network is of its own images and of foreign ones within Euclidean
// radii. This smoothed GAUC is for networks too deep for the interval bounds of package ood. Network and threat model
// differ from those of the GAUC there.
package smoothed

import (
	"context"
	"fmt"
	"math"

	"github.com/certspec/certspec/calib/confidence"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/rs/confidences"
	"github.com/certspec/certspec/rs/ledger"
)

// Comparison is how well the smoothed score tells own images from foreign ones that move within Euclidean radii.
type Comparison struct {
	Threat  string     `json:"threat"` // l2
	Model   string     `json:"model"`
	Weights string     `json:"weights"` // their digest
	Sigma   float64    `json:"sigma"`
	Alpha   float64    `json:"alpha"` // all bounds hold at once with a probability of at least 1 − alpha
	In      Side       `json:"in"`
	Foreign Side       `json:"foreign"`
	AUC     float64    `json:"smoothed_auc_estimate"`
	Radii   []AtRadius `json:"radii"`

	Warnings []string `json:"warnings,omitempty"`
}

// Side is one of the two ledgers.
type Side struct {
	Ledger   string  `json:"ledger"`
	Data     string  `json:"data"`
	Images   int     `json:"images"`
	Estimate float64 `json:"mean_estimate"` // of the smoothed largest score, rescaled
}

// AtRadius has the bounds that hold within a radius.
type AtRadius struct {
	Radius   float64   `json:"radius"`
	LInf     float64   `json:"linf"` // the ℓ∞ ball of this ε lies in the ℓ2 ball: radius/√d, rounded down
	Standard Guarantee `json:"standard"`
	CDF      Guarantee `json:"cdf"`
}

// Guarantee is of one certificate.
type Guarantee struct {
	GAUC  float64 `json:"smoothed_gauc"`
	CGAUC float64 `json:"smoothed_cgauc"`
	Lower float64 `json:"mean_lower"` // of the own images, as they are
	Upper float64 `json:"mean_upper"` // of the foreign ones within the radius
}

// Compare compares the ledgers of own and of foreign images, as "certspec certify --keep-scores=top" makes them, at
// some radii. A ledger does not say what the network was trained on; trained does, where it is known.
//
// Errors: those of confidences.CertifyTop; a foreign ledger of the own images, or of images that were trained on
// (*ood.TrainedError).
func Compare(ctx context.Context, in, foreign string, radii []float64, trained ...ledger.Data) (*Comparison, error) {
	at := append([]float64{0}, radii...) // own images are taken as they are
	standard, err := confidences.CertifyTop(ctx, []string{in, foreign}, at, confidence.MethodStandard)
	if err != nil {
		return nil, err
	}
	cdf, err := confidences.CertifyTop(ctx, []string{in, foreign}, at, confidence.MethodCDF)
	if err != nil {
		return nil, err
	}
	own, other := &cdf[0], &cdf[1]
	if own.Header.Data.Digest == other.Header.Data.Digest {
		return nil, fmt.Errorf("%s has the own images themselves, %s; name a ledger of other images", foreign,
			own.Header.Data.Name)
	}
	heldOut, err := ood.Unseen(other.Header.Data, trained)
	if err != nil {
		return nil, err
	}
	s := &Comparison{Threat: "l2", Model: own.Header.Model.Name, Weights: own.Header.Model.Identity.Weights,
		Warnings: ood.Caveats(trained, heldOut), Sigma: own.Header.Sigma, Alpha: own.Header.Alpha, In: sideOf(in, own),
		Foreign: sideOf(foreign, other)}
	area, err := ood.Area(own.Estimate, other.Estimate)
	if err != nil {
		return nil, err
	}
	s.AUC = area.Value
	values := float64(own.Header.Model.Shape.Len())
	for i, r := range radii {
		a := AtRadius{Radius: r, LInf: math.Floor(1e6*r/math.Sqrt(values)) / 1e6}
		if a.Standard, err = guarantee(standard, i+1); err != nil {
			return nil, err
		}
		if a.CDF, err = guarantee(cdf, i+1); err != nil {
			return nil, err
		}
		s.Radii = append(s.Radii, a)
	}
	return s, nil
}

func sideOf(path string, t *confidences.Top) Side {
	return Side{Ledger: path, Data: t.Header.Data.Name, Images: len(t.Images), Estimate: average(t.Estimate)}
}

// guarantee compares own images at the first radius, 0, with foreign ones within another.
func guarantee(sides []confidences.Top, radius int) (Guarantee, error) {
	var lower, upper []float64
	for _, b := range sides[0].Bounds {
		lower = append(lower, b[0].Lower)
	}
	for _, b := range sides[1].Bounds {
		upper = append(upper, b[radius].Upper)
	}
	area, err := ood.Area(lower, upper)
	return Guarantee{GAUC: area.Value, CGAUC: area.Conservative, Lower: average(lower), Upper: average(upper)}, err
}

func average(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
