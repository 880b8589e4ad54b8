package experiment

import "strings"

// Paper is a paper whose tables are built in.
type Paper struct {
	Key     string `json:"key"` // what the names of its tables and recipes begin with
	Authors string `json:"authors"`
	Title   string `json:"title"`
}

// Papers are those whose tables are built in.
func Papers() []Paper {
	return []Paper{
		{"sun2021", "Sun et al. 2021", "Certified adversarial defenses meet out-of-distribution corruptions"},
		{"bitterwolf2020", "Bitterwolf et al. 2020",
			"Certifiably adversarially robust detection of out-of-distribution data"},
		{"fridovich2022", "Fridovich-Keil et al. 2022",
			"Models out of line: a Fourier lens on distribution shift robustness"},
		{"emde2025", "Emde et al. 2025", "Towards certification of uncertainty calibration under adversarial attacks"},
	}
}

// Files have short names: those that were committed keep their bytes, and the names are part of what tells runs apart.
const letters = "ABCD"

// tierNames are the tiers of notebooks and their neighbours.
var tierNames = map[string]string{"fast": "T0", "small": "T1", "medium": "T2", "paper": "T3"}

// Spelled is a name of a table or recipe as people read it, sun2021/table2 for A/table2.
func Spelled(name string) string {
	if letter, rest, ok := strings.Cut(name, "/"); ok && len(letter) == 1 {
		if i := strings.Index(letters, letter); i >= 0 {
			return Papers()[i].Key + "/" + rest
		}
	}
	return name
}

// SpelledTier is the name of a tier as people read it, fast for T0.
func SpelledTier(name string) string {
	for spelled, tier := range tierNames {
		if name == tier {
			return spelled
		}
	}
	return name
}

// stored is a name of a table, recipe or tier as files have it, of either spelling.
func stored(name string) string {
	if tier, ok := tierNames[name]; ok {
		return tier
	}
	if key, rest, ok := strings.Cut(name, "/"); ok {
		for i, p := range Papers() {
			if p.Key == key {
				return letters[i:i+1] + "/" + rest
			}
		}
	}
	return name
}
