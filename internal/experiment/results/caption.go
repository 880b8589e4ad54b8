package results

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/corrupt/shared"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/internal/study/tier"
)

// notes are the caption: tier, source, data, what the measures say of themselves, and engines.
func (f *TableBuilder) notes(t *Filled, of []string) []string {
	tier := f.Manifest.Tier
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	note("Tier %s: %s.", tier.Name, tier.Title)
	if t.Source != "" {
		note("The published table: %s.", t.Source)
	}
	sets := map[string]bool{}
	networks := map[string]bool{}
	sigmas := map[string]bool{}
	begun := slices.ContainsFunc(t.Lines, FilledLine.begun)
	for i, l := range f.Table.Lines {
		if begun && !t.Lines[i].begun() {
			continue // what was never made is not named
		}
		for _, name := range l.Models {
			m := f.Manifest.Model(name)
			text := m.Test
			if m.Train != "" {
				text = m.Train + " to train, " + m.Test + " to certify"
			}
			sets[text] = true
			if m.Network != "" {
				networks[m.Network] = true
			}
			if m.Results == "" && (m.File == "" || m.Noise() > 0) {
				sigmas[fmt.Sprintf("%g", m.Noise())] = true
			}
		}
	}
	switch made := list(networks); {
	case len(sigmas) == 0: // results that are there, of which no more is known
		note("Data: %s.", list(sets))
	case made == "":
		note("Data: %s. σ = %s.", list(sets), list(sigmas))
	default:
		note("Data: %s. Networks: %s; σ = %s.", list(sets), made, list(sigmas))
	}
	notes = append(notes, of...)
	trained, certified := map[string]bool{}, map[string]bool{}
	for _, o := range f.origins {
		if o.Trained != "" {
			trained[o.Trained] = true
		}
		for _, c := range o.Certified {
			certified[withoutGraph(c)] = true
		}
	}
	if len(trained) > 0 {
		note("Trained on %s.", list(trained))
	}
	if len(certified) > 0 {
		note("Certified on %s.", list(certified))
	}
	return notes
}

// kind is the kind of data that a table is about.
func (f *TableBuilder) kind(of *Filled) string {
	for _, l := range of.Lines {
		for _, name := range l.Models {
			return f.Manifest.Model(name).Data
		}
	}
	return ""
}

// begun reports whether a line has a figure.
func (l FilledLine) begun() bool {
	return slices.ContainsFunc(l.Values, func(v *Value) bool { return v != nil }) ||
		slices.ContainsFunc(l.Calibration, func(c *measure.RadiusErrors) bool { return c != nil }) ||
		len(l.ACE)+len(l.Raised)+len(l.Found) > 0
}

// withoutGraph names an engine without the hash of the one network that ran on it.
func withoutGraph(engine string) string {
	before, after, found := strings.Cut(engine, ", graph ")
	if !found {
		return engine
	}
	_, rest, _ := strings.Cut(after, ", ")
	return before + ", " + rest
}

// corruptions says where corrupted images are from, and their frost where there is some.
func (f *TableBuilder) corruptions(frost bool) string {
	official := map[string]bool{}
	for kind, place := range f.Manifest.Places {
		if strings.HasSuffix(kind, tier.OfficialSuffix) {
			official[place] = true
		}
	}
	if len(official) > 0 {
		return "Corrupted images are those of the published files in " + list(official) +
			"; those of CIFAR-F are made by certspec."
	}
	made := "Corrupted images are made by certspec from the clean ones, not those of the published files."
	if frost {
		made += " " + shared.DrawnFrost
	}
	return made
}

func list(of map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(of)), "; ") }
