// Package certified puts certified accuracies on the line. Smoothed classifiers that were certified on a test set and
// under a shift become points for package lines, at equal radii. The distance above the line of a baseline is the
// certified effective robustness
//
//	CER_r(f) = CA_r^shift(f) − Φ(m_r·Φ⁻¹(CA_r(f)) + b_r).
//
// Both accuracies of a point are certified, each image with the probability α of its run. The line through the points
// of several models, and the distance from it, are estimates.
package certified

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/rs/ledger"
)

// Model is a smoothed classifier with its certificates.
type Model struct {
	Name    string
	Labels  map[string]string // what groups are made of
	Setting *Setting          // nil: its logs do not say it
	Header  *ledger.Header    // of its clean run; nil: not known
	Clean   rs.Rows
	Shifted map[Cell]rs.Rows
	// digests of the images and labels of each cell, the clean ones under Cell{}; without one: not
	// known
	Data map[Cell]string
}

// Setting holds all that must be equal where certificates are compared.
type Setting struct {
	Sigma float64 `json:"sigma"`
	Alpha float64 `json:"alpha"` // bound on the probability that the claim on an image is false
	Rule  string  `json:"rule"`
	Cap   float64 `json:"cap"` // largest radius that it can certify
}

// SettingOf returns the setting of runs under a rule, which certifies radii up to most.
func SettingOf(h ledger.Rule, sigma, alpha, most float64) *Setting {
	n := 0
	if looks := h.Looks; len(looks) > 0 {
		n = looks[len(looks)-1].Samples
	}
	text := fmt.Sprintf("%s, at most %s noise samples", h.Name, printable.Count(n))
	if h.Tolerance > 0 {
		text += fmt.Sprintf(", tolerance %g", h.Tolerance)
	}
	for i, t := range h.Targets {
		text += fmt.Sprintf("%s%g", map[bool]string{true: ", radii ", false: " "}[i == 0], t.Radius)
	}
	return &Setting{Sigma: sigma, Alpha: alpha, Rule: text, Cap: most}
}

func (s Setting) String() string {
	return fmt.Sprintf("σ = %g, α = %g, %s (no radius above %.4g)", s.Sigma, s.Alpha, s.Rule, s.Cap)
}

// Cell is a corruption at a severity.
type Cell struct {
	Corruption string
	Severity   int // 0: none is said
}

// Corruptions are the corruptions of all models, sorted.
func Corruptions(models []Model) []string {
	set := map[string]bool{}
	for _, m := range models {
		for cell := range m.Shifted {
			set[cell.Corruption] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// Options say which points are made.
type Options struct {
	Radii []float64
	Plain bool // x is the smoothed accuracy, at radius 0, whatever the radius of y
	// x is over the images that y has, too, which share what makes these hard; false: over all
	Common      bool
	Corruptions []string // that are pooled; nil: all
	// images of the base set, where ids number the severities through as in CIFAR-10-C (10,000); 0:
	// ids are images
	Period   int
	Baseline lines.Selection // the models that lines go through; the label "model" is the name
	ByModel  bool            // a line for each model, through its radii, in place of one for each radius
}

// Points returns a point for each radius and model, in the group of the radius: the certified accuracy on the clean
// set, and that under shift, pooled over corruptions. With several radii, all points stand a second time in the group
// "all". Images are numbered in the base set and are the same on both axes.
//
// Errors: no radius or a negative one; one above the cap of a model's runs or, if that is not known, above the largest
// that its clean run certified; models of different settings, images or labels; a model without the cells, one that
// stands twice; cells that do not have every image equally often; a baseline that no model belongs to.
func Points(models []Model, o Options) ([]lines.Point, error) {
	if len(o.Radii) == 0 {
		return nil, fmt.Errorf("certified: no radius")
	}
	images, err := check(models, o)
	if err != nil {
		return nil, err
	}
	var out []lines.Point
	for _, r := range o.Radii {
		for _, m := range models {
			p, err := m.point(r, o, images)
			if err != nil {
				return nil, err
			}
			p.Group = strconv.FormatFloat(r, 'g', -1, 64)
			if o.ByModel {
				p.Group = m.Name
			}
			p.Fits = o.ByModel || o.Baseline.Has(m.Name, m.Labels)
			out = append(out, p)
		}
	}
	if len(o.Radii) > 1 && !o.ByModel {
		for _, p := range slices.Clone(out) {
			p.Group = "all"
			out = append(out, p)
		}
	}
	return out, nil
}

// Notes say what the points of these options rest on.
func Notes(models []Model, o Options) []string {
	if len(models) == 0 {
		return nil
	}
	rows := 0
	for _, m := range models {
		rows += len(m.Clean) + len(m.shifted(o))
	}
	notes := []string{"Both accuracies are certified; the line, and what stands above it, are estimates."}
	if s := models[0].Setting; s != nil {
		notes = append(notes, fmt.Sprintf("Certificates: %v. Of these %s, at most %.4g are expected to be false, α "+
			"each.", *s, printable.Count(rows), s.Alpha*float64(rows)))
	} else {
		notes = append(notes, fmt.Sprintf("The logs of %s certificates do not say their α, σ and rule: that these "+
			"are equal is taken on trust.", printable.Count(rows)))
	}
	for _, m := range models[1:] {
		for _, s := range compare.Differ(models[0].Header, m.Header) {
			if s.Name == "engine" {
				notes = append(notes, fmt.Sprintf("%s and %s ran on different engines, which may differ in rounding: "+
					"engine %s, %s.", models[0].Name, m.Name, s.A, s.B))
			}
		}
	}
	return notes
}

// check compares the models with each other, and gives the places of all images.
func check(models []Model, o Options) (map[int]int, error) {
	names, images := map[string]bool{}, map[int]int{}
	based := len(models) == 0
	for _, m := range models {
		first := models[0]
		based = based || o.Baseline.Has(m.Name, m.Labels)
		switch {
		case names[m.Name]:
			return nil, fmt.Errorf("certified: the model %s stands twice", m.Name)
		case (m.Setting == nil) != (first.Setting == nil) || m.Setting != nil && *m.Setting != *first.Setting:
			return nil, fmt.Errorf("certified: %s was certified with %v, and %s with %v; expected equal settings",
				first.Name, first.Setting, m.Name, m.Setting)
		}
		names[m.Name] = true
		for _, other := range models {
			if other.Name == m.Name {
				break
			}
			if err := apart(other, m); err != nil {
				return nil, err
			}
		}
		if err := sameImages(first, m, o); err != nil {
			return nil, err
		}
		for _, row := range m.Clean {
			images[row.Image] = 0
		}
		for _, row := range m.shifted(o) {
			images[o.image(row)] = 0
		}
	}
	if !based {
		return nil, fmt.Errorf("certified: no model has %s = %s", o.Baseline.Label, o.Baseline.Value)
	}
	for place, image := range slices.Sorted(maps.Keys(images)) {
		images[image] = place
	}
	return images, nil
}

// apart wants two networks under equal settings; seeds and engines may differ.
func apart(a, b Model) error {
	if a.Header == nil || b.Header == nil {
		return nil
	}
	var texts, unequal []string
	network := false
	for _, s := range compare.Differ(a.Header, b.Header) {
		text := fmt.Sprintf("%s %s, %s", s.Name, s.A, s.B)
		switch s.Name {
		case "model":
			network = true
		case "images": // sameImages
		case "seed", "engine":
			texts = append(texts, text)
		default:
			texts, unequal = append(texts, text), append(unequal, text)
		}
	}
	switch {
	case !network:
		return fmt.Errorf("certified: %s and %s are one network, certified again: %s; expected different networks",
			a.Name, b.Name, cmp.Or(strings.Join(texts, "; "), "nothing differs"))
	case unequal != nil:
		return fmt.Errorf("certified: %s and %s were certified with settings that differ: %s; expected equal ones",
			a.Name, b.Name, strings.Join(unequal, "; "))
	}
	return nil
}

// sameImages wants equal images and labels of two models on each axis.
func sameImages(a, b Model, o Options) error {
	for _, cell := range append([]Cell{{}}, a.cells()...) {
		x, y := a.Data[cell], b.Data[cell]
		if name := cmp.Or(strings.Trim(fmt.Sprintf("%s-%d", cell.Corruption, cell.Severity), "-0"), "clean"); x != "" &&
			y != "" && x != y {
			return fmt.Errorf("certified: the %s images of %s (%s) are others than those of %s (%s)", name, a.Name, x,
				b.Name, y)
		}
	}
	type row struct{ image, label, times int }
	of := func(rows rs.Rows) []row {
		at := map[int]row{}
		for _, r := range rows {
			image := o.image(r)
			at[image] = row{image, r.Label, at[image].times + 1}
		}
		return slices.SortedFunc(maps.Values(at), func(a, b row) int { return cmp.Compare(a.image, b.image) })
	}
	for _, axis := range []struct {
		name string
		a, b rs.Rows
	}{{"clean", a.Clean, b.Clean}, {"shifted", a.shifted(o), b.shifted(o)}} {
		x, y := of(axis.a), of(axis.b)
		if len(x) != len(y) {
			return fmt.Errorf("certified: %s was certified on %d %s images, and %s on %d", a.Name, len(x), axis.name,
				b.Name, len(y))
		}
		for i := range x {
			switch {
			case x[i].image != y[i].image:
				return fmt.Errorf("certified: %s was certified on the %s image %d, and %s on %d", a.Name, axis.name,
					x[i].image, b.Name, y[i].image)
			case x[i].label != y[i].label:
				return fmt.Errorf("certified: the %s image %d has the label %d with %s and %d with %s", axis.name,
					x[i].image, x[i].label, a.Name, y[i].label, b.Name)
			case x[i].times != x[0].times || y[i].times != x[0].times:
				return fmt.Errorf("certified: the %s image %d stands %d times with %s and %d times with %s, image "+
					"%d %d times; expected all images under all corruptions", axis.name, x[i].image, x[i].times, a.Name,
					y[i].times, b.Name, x[0].image, x[0].times)
			}
		}
	}
	return nil
}

func (o Options) image(row rs.Row) int {
	if o.Period > 0 {
		return row.Image % o.Period
	}
	return row.Image
}

// shifted are the rows of the cells that are taken.
func (m Model) shifted(o Options) (rows rs.Rows) {
	for _, cell := range m.cells() {
		if o.Corruptions == nil || slices.Contains(o.Corruptions, cell.Corruption) {
			rows = append(rows, m.Shifted[cell]...)
		}
	}
	return rows
}

// cells are the cells in order.
func (m Model) cells() []Cell {
	return slices.SortedFunc(maps.Keys(m.Shifted), func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Corruption, b.Corruption), cmp.Compare(a.Severity, b.Severity))
	})
}

func (m Model) point(r float64, o Options, images map[int]int) (lines.Point, error) {
	if !(r >= 0) {
		return lines.Point{}, fmt.Errorf("certified: radius %v, want 0 or more", r)
	}
	largest, what := 0.0, "largest that the run of %s certified"
	for _, row := range m.Clean {
		largest = max(largest, row.Radius)
	}
	if m.Setting != nil {
		largest, what = m.Setting.Cap, "cap of the runs of %s: no image could reach it"
	}
	if r > largest {
		return lines.Point{}, fmt.Errorf("certified: radius %v is above %.4g, the "+what, r, largest, m.Name)
	}
	shifted := m.shifted(o)
	if len(m.Clean) == 0 || len(shifted) == 0 {
		return lines.Point{}, fmt.Errorf("certified: %s has %d clean images and %d under %s", m.Name, len(m.Clean),
			len(shifted), cmp.Or(strings.Join(o.Corruptions, ", "), "corruptions"))
	}
	p := lines.Point{Model: m.Name, Radius: r}
	x, clean := r, m.Clean
	if o.Common {
		if clean = m.common(shifted, o); len(clean) == 0 {
			return lines.Point{}, fmt.Errorf("certified: %s has no clean image that is under the shift, too", m.Name)
		}
	}
	if o.Plain {
		x = 0
	}
	p.X, p.XImages = accuracy(clean, x, o, images)
	p.Y, p.YImages = accuracy(shifted, r, o, images)
	return p, nil
}

// common are the clean rows of images that are among the shifted ones.
func (m Model) common(shifted rs.Rows, o Options) (rows rs.Rows) {
	there := map[int]bool{}
	for _, row := range shifted {
		there[o.image(row)] = true
	}
	for _, row := range m.Clean {
		if there[o.image(row)] {
			rows = append(rows, row)
		}
	}
	return rows
}

// accuracy is the certified accuracy at r, and the share of each image's rows that are, by the
// places of images; NaN where it has none.
func accuracy(rows rs.Rows, r float64, o Options, images map[int]int) (lines.Accuracy, []float64) {
	hits, all := make([]float64, len(images)), make([]float64, len(images))
	k := 0
	for _, row := range rows {
		at := images[o.image(row)]
		all[at]++
		if row.Correct() && row.Radius >= r {
			hits[at]++
			k++
		}
	}
	for i, n := range all {
		if hits[i] /= n; n == 0 {
			hits[i] = math.NaN()
		}
	}
	return lines.Accuracy{Share: float64(k) / float64(len(rows)), N: len(rows)}, hits
}

// Corrupted are the model's certificates under corruptions, by the images of the base set: ids are taken modulo period.
func (m Model) Corrupted(period int) []compare.Corrupted {
	var all []compare.Corrupted
	for _, cell := range m.cells() {
		rows := slices.Clone(m.Shifted[cell])
		for i := range rows {
			rows[i].Image %= period
		}
		all = append(all, compare.Corrupted{Corruption: cell.Corruption, Severity: cell.Severity,
			Radii: compare.Of(rows.Vectors())})
	}
	return all
}
