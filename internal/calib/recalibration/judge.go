// Package recalibration judges a map of confidences on samples that it was not fitted on.
package recalibration

import (
	"math"

	"github.com/certspec/certspec/calib"
)

// Judged holds the errors of confidences, and the largest that their certified intervals allow. A field without
// confidences or intervals is nil.
type Judged struct {
	Confidences string   `json:"confidences"` // which
	ECE         *float64 `json:"ece,omitempty"`
	Brier       *float64 `json:"brier,omitempty"`
	Resolution  *float64 `json:"resolution,omitempty"`
	CCE         *float64 `json:"cce,omitempty"`
	Joint       *float64 `json:"joint_cce,omitempty"` // with at most so many false certificates
	CBS         *float64 `json:"cbs,omitempty"`
}

// Judge judges a map on samples that it was not fitted on. The rows are the confidences as they are,
// recalibrated, and constant at accuracy, the share of right samples known when the map was fitted. failures is how
// many certificates of the samples may be false (FailuresAtMost); below 0 there is no joint error. useless: the map
// does no better than the constant. It is a constant, or its certified Brier score (without intervals its Brier score)
// is not smaller.
//
// Errors: those of Summarize, ECE, Brier and JointCCE.
func Judge(r *calib.Recalibration, accuracy float64, t *calib.Table, bins *calib.Bins,
	failures int) (rows []Judged, useless bool, err error) {
	constant := &calib.Recalibration{Method: calib.Platt, C: math.Log(accuracy / (1 - accuracy))}
	for _, c := range []struct {
		name  string
		table *calib.Table
	}{{"as they are", t}, {"recalibrated", r.Apply(t)}, {"constant", constant.Apply(t)}} {
		row, err := judge(c.name, c.table, bins, failures)
		if err != nil {
			return nil, false, err
		}
		rows = append(rows, row)
	}
	own, flat := rows[1], rows[2]
	mine, its := own.CBS, flat.CBS
	if mine == nil {
		mine, its = own.Brier, flat.Brier
	}
	return rows, r.Constant() || mine != nil && *mine >= *its*(1-1e-9), nil
}

func judge(name string, t *calib.Table, bins *calib.Bins, failures int) (Judged, error) {
	row := Judged{Confidences: name}
	if t.Lower != nil {
		b, _, err := calib.Summarize(t.Correct, nil, t.Lower, t.Upper, bins)
		if err != nil {
			return row, err
		}
		row.CCE, row.CBS = &b.CCE, &b.CBS
		if failures >= 0 {
			j, err := calib.JointCCE(t.Correct, t.Lower, t.Upper, bins, failures)
			if err != nil {
				return row, err
			}
			row.Joint = &j.Upper
		}
	}
	if t.Confidence == nil {
		return row, nil
	}
	var values [3]float64
	for i, of := range []func([]bool, []float64) (float64, error){
		func(c []bool, z []float64) (float64, error) { return calib.ECE(c, z, bins) },
		calib.Brier,
		func(c []bool, z []float64) (float64, error) { return calib.Resolution(c, z, bins) },
	} {
		var err error
		if values[i], err = of(t.Correct, t.Confidence); err != nil {
			return row, err
		}
	}
	row.ECE, row.Brier, row.Resolution = &values[0], &values[1], &values[2]
	return row, nil
}
