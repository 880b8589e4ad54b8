package compare

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/corrupt"
)

// Corrupted is a run on one corrupted form of a data set.
type Corrupted struct {
	Corruption string // e.g. "gaussian_noise"
	Severity   int    // e.g. 1 to 5
	Radii      Radii
}

// corruptionsOf are the names of the corruptions, sorted, and the severities that each of them has.
//
// Errors: no runs, a run without labels, a corruption twice at one severity, other severities in one of them.
func corruptionsOf(runs []Corrupted) (names []string, severities []int, err error) {
	if len(runs) == 0 {
		return nil, nil, fmt.Errorf("compare: no runs on corrupted images")
	}
	of := map[string][]int{}
	for _, run := range runs {
		name := run.Corruption
		switch {
		case len(run.Radii.labelled()) == 0:
			return nil, nil, fmt.Errorf("compare: %s at severity %d: no image has a label", name, run.Severity)
		case slices.Contains(of[name], run.Severity):
			return nil, nil, fmt.Errorf("compare: %s is there twice at severity %d", name, run.Severity)
		case of[name] == nil:
			names = append(names, name)
		}
		of[name] = append(of[name], run.Severity)
	}
	slices.Sort(names)
	for _, name := range names {
		slices.Sort(of[name])
		if severities == nil {
			severities = of[name]
		}
		if !slices.Equal(of[name], severities) {
			return nil, nil, fmt.Errorf("compare: %s has the severities %v, another corruption has %v", name, of[name],
				severities)
		}
	}
	return names, severities, nil
}

func wholeGroups(names []string) (whole []corrupt.Members) {
	for _, g := range corrupt.Groups {
		if !slices.ContainsFunc(g.Corruptions, func(c string) bool { return !slices.Contains(names, c) }) {
			whole = append(whole, g)
		}
	}
	return whole
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
