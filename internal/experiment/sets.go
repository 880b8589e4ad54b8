package experiment

import (
	"cmp"
	"strings"

	"github.com/certspec/certspec/dataset"
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
	return decoded(strings.ReplaceAll(d.Train, "{}", at)), decoded(strings.ReplaceAll(d.Test, "{}", at)), nil
}

// decoded is the name of a data set that says how its JPEG pictures are decoded, where it may have some.
func decoded(name string) string {
	d, err := dataset.Open(name)
	if err != nil || d.Preparation().JPEG == "" {
		return name // an error comes where it is opened
	}
	base, rest := cutSelection(name)
	part := "jpeg=" + d.Preparation().JPEG
	if strings.Contains(rest, part) {
		return name
	}
	return with(base+"["+part+"]", rest)
}

// openSet opens a set of a manifest; names without a decoder of JPEG pictures are of earlier versions.
func openSet(name string) (*dataset.Dataset, error) { return dataset.OpenLike(name, name) }

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
