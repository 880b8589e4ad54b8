package experiment

import (
	"math"

	"github.com/certspec/certspec/calib"
)

func meanCalibration(of []*calibrationResult, radius float64) *calibrationAt {
	mean := &calibrationAt{Radius: radius}
	n := 0.0
	for _, c := range of {
		if c.at(radius) != nil {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	var cce, acce, cbs, resolution, share float64
	some, told := true, true
	for _, c := range of {
		at := c.at(radius)
		if at == nil {
			continue
		}
		mean.Accuracy += at.Accuracy / n
		mean.Certified += at.Certified
		if at.CCE == nil {
			some = false
			continue
		}
		cce, acce, cbs = cce+*at.CCE/n, acce+*at.ACCE/n, cbs+*at.CBS/n
		right := at.Accuracy * float64(c.Images) / float64(at.Certified)
		share += right / n
		mean.constant += right * (1 - right) / n
		if at.Resolution == nil {
			told = false
			continue
		}
		resolution += *at.Resolution / n
	}
	if some {
		mean.CCE, mean.ACCE, mean.CBS, mean.Right = &cce, &acce, &cbs, &share
		if told {
			mean.Resolution = &resolution
		}
	}
	return mean
}

func meanACE(of []*attackResult) map[string]*meanOverSeeds {
	values := map[string][]float64{}
	for _, a := range of {
		values["accuracy"] = append(values["accuracy"], a.Accuracy)
		values["clean"] = append(values["clean"], a.AdaECE)
		for _, o := range a.Attacks {
			values[o.Attack] = append(values[o.Attack], o.AdaECE)
		}
	}
	out := map[string]*meanOverSeeds{}
	for name, v := range values {
		m := meanOver(v)
		out[name] = &m
	}
	return out
}

// selected applies the rule of Emde et al. 2025 at every radius.
func selected(lines []FilledLine, m *calibrationMeasure) ([]Selected, error) {
	var out []Selected
	for k, radius := range m.Radii {
		var exact, approximate []calib.Candidate
		var of []int // the lines of the candidates
		best := 0.0
		for i, l := range lines {
			at := l.Calibration[k]
			if at == nil || at.CCE == nil {
				continue
			}
			best = max(best, at.Accuracy)
			of = append(of, i)
			exact = append(exact, calib.Candidate{Method: l.Group, Accuracy: at.Accuracy, CCE: *at.CCE, CBS: *at.CBS})
			approximate = append(approximate, calib.Candidate{Method: l.Group, Accuracy: at.Accuracy, CCE: *at.ACCE,
				CBS: *at.CBS})
		}
		if len(exact) == 0 {
			continue
		}
		known, err := calib.SelectByAccuracy(exact, m.Within)
		if err != nil {
			return nil, err
		}
		searched, err := calib.SelectByAccuracy(approximate, m.Within)
		if err != nil {
			return nil, err
		}
		constant := math.Inf(1)
		for _, i := range of {
			if at := lines[i].Calibration[k]; at.Accuracy >= best-m.Within {
				constant = min(constant, at.constant)
			}
		}
		for i, s := range known {
			one := Selected{Radius: radius, Best: best, Group: s.Method, Models: s.Models, constant: constant}
			if s.Models > 0 {
				one.CCE, one.ACCE, one.CBS = &known[i].CCE, &searched[i].CCE, &known[i].CBS
				one.cceLine, one.cbsLine = of[s.CCEOf], of[s.CBSOf]
			}
			out = append(out, one)
		}
	}
	return out, nil
}
