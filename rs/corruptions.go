package rs

import (
	"cmp"
	"fmt"
	"slices"
)

// Corrupted is a run on one corrupted form of a data set.
type Corrupted struct {
	Corruption string // e.g. "gaussian_noise"
	Severity   int    // e.g. 1 to 5
	Rows       Rows
}

// NamedACR is an average certified radius of several runs.
type NamedACR struct {
	Name string  `json:"name"`
	ACR  float64 `json:"acr"`
}

// CorruptionACR is what corruptions leave of the average certified radius.
type CorruptionACR struct {
	MACR        float64    `json:"macr"`        // mean over the corruptions
	Corruptions []NamedACR `json:"corruptions"` // of each, the mean over its severities; by name
	Groups      []NamedACR `json:"groups"`      // means over the groups of CIFAR-10-C that are whole: see Groups
}

// Group is a set of corruptions whose mean is reported.
type Group struct {
	Name        string
	Corruptions []string
}

// Groups are those of the fifteen corruptions of CIFAR-10-C: by the image frequencies that they change
// (low, mid and high, as in the FourierMix paper) and by their kind (Hendrycks and Dietterich 2019).
var Groups = []Group{
	{"low", []string{"brightness", "fog", "frost", "snow", "contrast"}},
	{"mid", []string{"defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "elastic_transform"}},
	{"high", []string{"gaussian_noise", "shot_noise", "impulse_noise", "pixelate", "jpeg_compression"}},
	{"noise", []string{"gaussian_noise", "shot_noise", "impulse_noise"}},
	{"blur", []string{"defocus_blur", "glass_blur", "motion_blur", "zoom_blur"}},
	{"weather", []string{"snow", "frost", "fog", "brightness"}},
	{"digital", []string{"contrast", "elastic_transform", "pixelate", "jpeg_compression"}},
}

// MeanACR is the mean average certified radius over corruptions,
//
//	ACR_i = mean of ACR over the severities of corruption i,   mACR = mean of ACR_i over the corruptions,
//
// and the means of ACR_i over those Groups of which every member is there.
//
// Errors: no runs, a run without labels, a corruption twice at one severity, and corruptions at different
// severities, whose means could not be compared.
func MeanACR(runs []Corrupted) (*CorruptionACR, error) {
	if len(runs) == 0 {
		return nil, fmt.Errorf("rs: no runs on corrupted images")
	}
	type state struct {
		severities []int
		sum        float64
	}
	of := map[string]*state{}
	for _, run := range runs {
		acr := run.Rows.ACR()
		if acr.Images == 0 {
			return nil, fmt.Errorf("rs: %s at severity %d: no image has a label", run.Corruption, run.Severity)
		}
		s := of[run.Corruption]
		if s == nil {
			s = &state{}
			of[run.Corruption] = s
		}
		if slices.Contains(s.severities, run.Severity) {
			return nil, fmt.Errorf("rs: %s is there twice at severity %d", run.Corruption, run.Severity)
		}
		s.severities = append(s.severities, run.Severity)
		s.sum += acr.Value
	}
	c := &CorruptionACR{Groups: []NamedACR{}}
	var severities []int
	for name, s := range of {
		slices.Sort(s.severities)
		if severities == nil {
			severities = s.severities
		}
		if !slices.Equal(s.severities, severities) {
			return nil, fmt.Errorf("rs: %s has the severities %v, another corruption has %v", name, s.severities, severities)
		}
		c.Corruptions = append(c.Corruptions, NamedACR{name, s.sum / float64(len(s.severities))})
	}
	slices.SortFunc(c.Corruptions, func(a, b NamedACR) int { return cmp.Compare(a.Name, b.Name) })
	c.MACR, _ = c.mean(nil)
	for _, g := range Groups {
		if mean, whole := c.mean(g.Corruptions); whole {
			c.Groups = append(c.Groups, NamedACR{g.Name, mean})
		}
	}
	return c, nil
}

// mean is that of the named corruptions, nil: of all; whole is whether all of them are there.
func (c *CorruptionACR) mean(names []string) (mean float64, whole bool) {
	sum, n := 0.0, 0
	for _, one := range c.Corruptions {
		if names == nil || slices.Contains(names, one.Name) {
			sum += one.ACR
			n++
		}
	}
	return sum / float64(n), names == nil || n == len(names)
}
