package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/rs/ledger"
)

// Setting is a field in which the headers of two runs differ.
type Setting struct {
	// "model", "images", "σ", "noise", "rule", "n", "α", "seed", "engine", …
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// The settings with a part of their own in what may be claimed.
const (
	model  = "model"
	images = "images"
	seed   = "seed"
)

// settings are the fields of a header that counts and claims depend on, in the words of a table. An
// empty text is not known, as where a published log does not say it, and differs from nothing.
var settings = []struct {
	name string
	of   func(h *ledger.Header) string
}{
	{"σ", func(h *ledger.Header) string { return number(h.Sigma) }},
	{"noise", func(h *ledger.Header) string { return string(h.Noise) }},
	{"rule", func(h *ledger.Header) string { return string(h.Rule.Name) }},
	{"tolerance", tolerance},
	{"tested radii", targets},
	{"futility", func(h *ledger.Header) string { return orNone(h, number(h.Rule.Futility)) }},
	{"n", func(h *ledger.Header) string { return count(h.MaxSamples()) }},
	{"α", func(h *ledger.Header) string { return number(h.Alpha) }},
	{"n0", func(h *ledger.Header) string { return count(h.Selection) }},
	{"block", func(h *ledger.Header) string { return count(h.Block) }},
}

// Differ lists the fields of two headers that differ, the model first. The software that wrote
// them, shards, scores and the names of models are no settings: counts do not depend on them. Seeds
// that were derived follow from the other fields, and are named only where nothing else differs. A
// run whose header is nil has settings that are not known.
func Differ(a, b *ledger.Header) []Setting {
	differ := []Setting{}
	switch {
	case a == nil && b == nil:
		return differ
	case a == nil:
		return append(differ, Setting{"settings", "not known", b.Settings()})
	case b == nil:
		return append(differ, Setting{"settings", a.Settings(), "not known"})
	}
	add := func(name, x, y string) {
		if x != y && x != "" && y != "" {
			differ = append(differ, Setting{name, x, y})
		}
	}
	if x, y := a.Model, b.Model; x.Identity.Weights != "" && y.Identity.Weights != "" &&
		(x.Identity.Weights != y.Identity.Weights || x.Shape != y.Shape || x.Classes != y.Classes) {
		if x.Name == y.Name {
			x.Name, y.Name = named(x), named(y)
		}
		differ = append(differ, Setting{model, x.Name, y.Name})
	}
	if !sameImages(a.Data, b.Data) {
		x, y := a.Data.Name, b.Data.Name
		if x == y {
			x, y = x+" ("+short(a.Data.Digest)+")", y+" ("+short(b.Data.Digest)+")"
		}
		differ = append(differ, Setting{images, x, y})
	}
	before := len(differ)
	for _, s := range settings {
		add(s.name, s.of(a), s.of(b))
	}
	if len(differ) == before && a.Rule.Budget != "" && b.Rule.Budget != "" {
		if field, x, y, other := journal.FirstDifference(a.Rule, b.Rule); other {
			differ = append(differ, Setting{field, x, y})
		}
	}
	add("engine", engine(a, b), engine(b, a))
	chosen := a.SeedChosen || b.SeedChosen || len(differ) == 0
	if chosen && a.Block > 0 && b.Block > 0 { // a header of flags has no seed
		add(seed, strconv.FormatUint(a.Seed, 10), strconv.FormatUint(b.Seed, 10))
	}
	return differ
}

func number(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func count(n int) string {
	if n == 0 {
		return ""
	}
	return printable.Count(n)
}

// orNone is a part of a rule that another rule may lack.
func orNone(h *ledger.Header, part string) string {
	if part == "" && h.Rule.Name != "" {
		return "none"
	}
	return part
}

func tolerance(h *ledger.Header) string {
	text := number(h.Rule.Tolerance)
	if text != "" && h.Rule.Relative {
		text += " of the radius"
	}
	return orNone(h, text)
}

func targets(h *ledger.Header) string {
	var radii []string
	for _, t := range h.Rule.Targets {
		radii = append(radii, number(t.Radius))
	}
	return orNone(h, strings.Join(radii, ", "))
}

// engine is that of h where it is no part of the model: an integer network is one function on all
// machines. ONNX Runtime adds a digest of the graph, which is of the model.
func engine(h, other *ledger.Header) string {
	const integers = "integers"
	id := h.Model.Identity
	of := other.Model.Identity.Engine
	if id.Engine != of && (id.Engine == integers || of == integers) {
		return ""
	}
	before, after, found := strings.Cut(id.EngineVersion, ", graph ")
	if _, rest, more := strings.Cut(after, ","); found && more {
		before += "," + rest
	}
	text := strings.TrimSpace(id.Engine + " " + before)
	if id.Threads > 0 {
		text += fmt.Sprintf(", threads %d", id.Threads)
	}
	if id.InstructionSet != "" {
		text += ", " + id.InstructionSet
	}
	return text
}

// named tells models of one name apart.
func named(m classifier.Info) string {
	return fmt.Sprintf("%s (%s, %d×%d×%d, %d classes)", m.Name, short(m.Identity.Weights),
		m.Shape.Height, m.Shape.Width, m.Shape.Channels, m.Classes)
}

// short is a digest as a person compares it.
func short(digest string) string {
	const hash = "sha256:"
	at := max(0, strings.LastIndex(digest, hash))
	return digest[at:min(len(digest), at+len(hash)+8)]
}

// selections are the options in a set's name that choose images and leave them as they are.
var selections = []string{"skip", "count", "random", "max_index", "range", "only", "split"}

// parts are a set's name and the options behind it that change its images.
func parts(name string) (base string, changes []string) {
	body, closed := strings.CutSuffix(name, "]")
	at := strings.LastIndex(body, "[")
	if !closed || at < 0 {
		return name, nil
	}
	for _, option := range strings.Split(body[at+1:], ",") {
		if key, _, _ := strings.Cut(option, "="); !slices.Contains(selections, key) {
			changes = append(changes, option)
		}
	}
	return body[:at], changes
}

// sameImages reports whether images of equal ids are the same. Two selections of a set that
// certspec knows are; of files the names do not tell.
func sameImages(a, b ledger.Data) bool {
	if a.Digest == b.Digest || a.Digest == "" || b.Digest == "" {
		return true
	}
	base, changes := parts(a.Name)
	other, others := parts(b.Name)
	return a.Name != b.Name && base == other && !strings.Contains(base, ":") &&
		slices.Equal(changes, others)
}

// DataError says that two runs are of different images, which nothing pairs: equal ids and labels
// do not.
type DataError struct{ A, B ledger.Data }

func (e *DataError) Error() string {
	return fmt.Sprintf("compare: the runs are of different images: %s (%s) and %s (%s); expected one "+
		"set. Equal ids and labels do not make images the same: certify both models on one set",
		e.A.Name, short(e.A.Digest), e.B.Name, short(e.B.Digest))
}

// pairable refuses runs of images that only look alike. Images of one set that differ in a
// selection or a change, such as a corruption, are paired.
func pairable(a, b *ledger.Header) error {
	if a == nil || b == nil || sameImages(a.Data, b.Data) {
		return nil
	}
	base, _ := parts(a.Data.Name)
	if other, _ := parts(b.Data.Name); a.Data.Name != b.Data.Name && base == other {
		return nil
	}
	return &DataError{a.Data, b.Data}
}

// Verdict is the claim that may be made about a metric of B beside that of A. It is "higher" or "lower" where
// only the model differs and the p-value, corrected by Holm's method for all metrics, is at most 1
// − confidence; else "open".
type Verdict struct {
	// "ACR", or a radius as in "r = 0.5"; of sweeps "mACR", a group or a corruption
	Metric  string `json:"metric"`
	Verdict string `json:"verdict"`
}

const (
	higher = "higher"
	lower  = "lower"
	open   = "open"
)

func verdicts(names []string, of []*Difference, confidence float64, differ []Setting) []Verdict {
	all := make([]Verdict, len(of))
	for i, d := range of {
		all[i] = Verdict{names[i], verdictOf(*d, confidence, differ)}
	}
	return all
}

func verdictOf(d Difference, confidence float64, differ []Setting) string {
	switch {
	case !onlyModel(differ) || !(d.Corrected() <= 1-confidence):
		return open
	case d.Difference > 0:
		return higher
	case d.Difference < 0:
		return lower
	}
	return open
}

// onlyModel reports whether nothing but the model differs, as far as is known.
func onlyModel(differ []Setting) bool {
	return !slices.ContainsFunc(differ, func(s Setting) bool { return s.Name != model })
}

// Heading says in a line what differs between two runs, of Differ, and what may be claimed
// therefore.
func Heading(differ []Setting) string {
	switch {
	case len(differ) == 0:
		return "Nothing differs: one model under the same settings."
	case onlyModel(differ):
		return fmt.Sprintf("Only the model differs: %s, %s.", differ[0].A, differ[0].B)
	}
	begin, rest := "One model under different settings: ", differ
	if differ[0].Name == model {
		begin = fmt.Sprintf("Models differ (%s, %s), and so do settings: ", differ[0].A, differ[0].B)
		rest = differ[1:]
	} else if differ[0].Name == "settings" {
		begin = "What differs is not known: "
	}
	var all []string
	for _, s := range rest {
		text := fmt.Sprintf("%s %s, %s", s.Name, s.A, s.B)
		if s.Name == "n" && min(s.A, s.B) == cellSamples && max(s.A, s.B) == programSamples {
			text += " (the defaults of a cell and of the program)"
		}
		all = append(all, text)
	}
	return begin + strings.Join(all, "; ") +
		". These may have caused what differs below: nothing is claimed about models."
}

// The default n of cells and of the program, as a setting says it.
const (
	cellSamples    = "10,000"
	programSamples = "100,000"
)

// smallestCap is the smallest of the caps that are known; 0: none is.
func smallestCap(caps ...float64) (smallest float64) {
	for _, c := range caps {
		if c > 0 {
			smallest = min(cmp.Or(smallest, c), c)
		}
	}
	return smallest
}
