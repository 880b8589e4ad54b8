package cli

import (
	"fmt"

	"github.com/certspec/certspec/rs"
)

// Metrics are the figures of one run or log.
type Metrics struct {
	Rows              int                   `json:"rows"`
	Abstained         int                   `json:"abstained"`
	ACR               *float64              `json:"acr"` // null where no label is known
	CertifiedAccuracy []AccuracyAt          `json:"certified_accuracy"`
	Bounds            *rs.BoundDistribution `json:"bounds,omitempty"`
	Warnings          []string              `json:"warnings"`
}

// AccuracyAt is the certified accuracy at a radius.
type AccuracyAt struct {
	Radius float64 `json:"radius"`
	Value  float64 `json:"value"`
}

// Measure takes the figures of rows.
func Measure(rows rs.Rows, radii []float64, warnings []string) Metrics {
	m := Metrics{
		Rows: len(rows), Abstained: rows.Abstained(),
		CertifiedAccuracy: []AccuracyAt{}, Warnings: append([]string{}, warnings...),
	}
	acr := rows.ACR()
	if unlabelled := len(rows) - acr.Images; unlabelled > 0 {
		m.Warnings = append(m.Warnings, fmt.Sprintf("%d of %d images have no label and count in no accuracy",
			unlabelled, len(rows)))
	}
	if acr.Images == 0 {
		return m
	}
	m.ACR = &acr.Value
	for _, a := range rows.CertifiedAccuracy(radii...) {
		m.CertifiedAccuracy = append(m.CertifiedAccuracy, AccuracyAt{a.Radius, a.Value})
	}
	return m
}
