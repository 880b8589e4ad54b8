package experiment

import (
	"cmp"
	"strings"
)

// sets names the parts of a kind of data.
func (s *Setup) sets(kind string) (train, test string, err error) {
	d, err := find(s.Library, "data", s.Library.data, kind)
	if err != nil {
		return "", "", err
	}
	at := cmp.Or(s.Tier.Data[kind].At, d.At)
	if place, ok := s.Places[kind]; ok {
		at = place
	} else if instead, ok := s.Library.data[s.Tier.Data[kind].At]; ok { // of a kind that has parts of its own
		at, d = instead.At, instead
	}
	return strings.ReplaceAll(d.Train, "{}", at), strings.ReplaceAll(d.Test, "{}", at), nil
}

// with adds a selection to the name of a data set.
func with(name, selection string) string {
	if selection == "" {
		return name
	}
	if body, found := strings.CutSuffix(name, "]"); found {
		return body + "," + selection + "]"
	}
	return name + "[" + selection + "]"
}

// cutSelection takes the last list off the name of a data set.
func cutSelection(name string) (base, selection string) {
	if i := strings.LastIndex(name, "["); i >= 0 && strings.HasSuffix(name, "]") {
		return name[:i], name[i+1 : len(name)-1]
	}
	return name, ""
}
