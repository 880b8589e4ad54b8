package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/ood/record"
)

// Areas are how well the networks of one kind of data tell one foreign set, in balls of one radius, from their own images: what is kept, in
// results/DATA-SET-EPSILON.areas.json, of the files in ood/, which are large.
type Areas struct {
	Data    string  `json:"data"`
	Set     string  `json:"set"`
	Epsilon float64 `json:"epsilon"`
	// By is empty but for bounds that are not those by rigorous intervals, as in crown or plain, and for attacks from the points of some networks
	// alone; it stands behind EPSILON.
	By       string         `json:"by,omitempty"`
	Networks []networkAreas `json:"networks"`
	// All compares AUC and GAUC over all images of the set, Attacked AUC, AAUC and GAUC over those that were attacked.
	All      Compared `json:"all"`
	Attacked Compared `json:"attacked"`
}

// Compared are areas with their covariance, by which differences are paired by image.
type Compared struct {
	Networks []string `json:"networks"`
	Kinds    []string `json:"kinds"` // of each network, one after the other
	Images   int      `json:"images"`
	// Values are the areas, ties as one half, those of the first network first; Covariance is the lower triangle of their covariance by DeLong,
	// DeLong and Clarke-Pearson 1988: of the images, not of the training.
	Values     []float64   `json:"values"`
	Covariance [][]float64 `json:"covariance"`
}

const (
	aucKind  = "AUC"
	aaucKind = "AAUC"
	gaucKind = "GAUC"

	intervalsKind = "GAUC by intervals" // beside that by other bounds, of the same images
)

// Contrast is a weighted sum of areas with its standard error over the images. A weight is that of a kind of a network by its name.
//
// Errors: a network or a kind that is not there.
func (c *Compared) Contrast(weights map[[2]string]float64) (value, deviation float64, err error) {
	w := make([]float64, len(c.Values))
	for of, weight := range weights {
		network, kind := slices.Index(c.Networks, of[0]), slices.Index(c.Kinds, of[1])
		if network < 0 || kind < 0 {
			return 0, 0, fmt.Errorf("experiment: no %s of %s; there are %v of %v", of[1], of[0], c.Kinds, c.Networks)
		}
		w[network*len(c.Kinds)+kind] += weight
	}
	variance := 0.
	for i, row := range c.Covariance {
		value += w[i] * c.Values[i]
		for j, v := range row {
			if j < i {
				v *= 2
			}
			variance += w[i] * w[j] * v
		}
	}
	return value, math.Sqrt(max(variance, 0)), nil
}

// ReadAreas reads those that a folder keeps, in the order of their files' names.
func ReadAreas(folder string) (all []*Areas, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "results", "*"+areasSuffix))
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	for _, file := range files {
		a := &Areas{}
		if _, err := readJSON(file, a); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

const areasSuffix = ".areas.json"

func (s foreignSets) areasPath(folder, data, part string) string {
	return filepath.Join(folder, "results", fmt.Sprintf("%s-%s-%s%s", data, part, strconv.FormatFloat(s.Epsilon, 'g', -1, 64), ended(s.by(), areasSuffix)))
}

// by is Areas.By.
func (s foreignSets) by() string { return cmp.Or(s.way, s.among) }

// networkAreas are how well a network tells a set of foreign images from its own.
type networkAreas struct {
	Network  string      `json:"network"`
	Images   int         `json:"images"`         // of its own
	Accuracy float64     `json:"accuracy"`       // on its own images
	Own      float64     `json:"mean_own"`       // confidence
	OwnError float64     `json:"mean_own_error"` // its standard error over the images
	Bound    *separation `json:"bound,omitempty"`
	Attack   *separation `json:"attack,omitempty"` // of the images that were attacked
	Transfer bool        `json:"transfer,omitempty"`
}

// separation are the areas of a foreign set as it is, and at its worst: by bounds, or under attack.
type separation struct {
	Images     int     `json:"images"`
	Confidence float64 `json:"mean_confidence"`
	Worst      float64 `json:"mean_worst"`

	AUC      area  `json:"auc"`
	WorstAUC area  `json:"worst_auc"`           // GAUC, or AAUC
	BoundAUC *area `json:"bound_auc,omitempty"` // of attacked images, and of those with other bounds: GAUC by rigorous intervals on them alone

	// Of other bounds than those by rigorous intervals: the mean of these, and the largest distance between the two of an image.
	Intervals float64 `json:"mean_intervals,omitempty"`
	Apart     float64 `json:"most_apart,omitempty"`
}

func (a *separation) add(b *separation) {
	a.Images, a.Confidence, a.Worst = b.Images, a.Confidence+b.Confidence, a.Worst+b.Worst
	a.Intervals, a.Apart = a.Intervals+b.Intervals, max(a.Apart, b.Apart)
	a.AUC.add(b.AUC)
	a.WorstAUC.add(b.WorstAUC)
	if b.BoundAUC != nil {
		if a.BoundAUC == nil {
			a.BoundAUC = new(area)
		}
		a.BoundAUC.add(*b.BoundAUC)
	}
}

func (a *separation) over(models int) {
	n := float64(models)
	a.Confidence, a.Worst, a.Intervals = a.Confidence/n, a.Worst/n, a.Intervals/n
	for _, of := range []*area{&a.AUC, &a.WorstAUC, a.BoundAUC} {
		if of != nil {
			of.over(n)
		}
	}
}

// area is an AUC, in its conservative form, with ties as one half, and with the ends of an interval of 95 %.
type area struct {
	Conservative float64 `json:"conservative"`
	Value        float64 `json:"value"`
	Low          float64 `json:"low"`
	High         float64 `json:"high"`
}

func areaOf(own, foreign []float64) (area, error) {
	v, err := ood.Area(own, foreign)
	if err != nil {
		return area{}, err
	}
	_, deviation, err := ood.DeLong(own, foreign)
	const z = 1.959963984540054
	return area{v.Conservative, v.Value, max(v.Value-z*deviation, 0), min(v.Value+z*deviation, 1)}, err
}

func (a *area) add(b area) {
	*a = area{a.Conservative + b.Conservative, a.Value + b.Value, a.Low + b.Low, a.High + b.High}
}

func (a *area) over(n float64) {
	*a = area{a.Conservative / n, a.Value / n, a.Low / n, a.High / n}
}

func (a *area) cells() []any {
	return []any{percent(a.Conservative), percent(a.Value), percent(a.Low), percent(a.High)}
}

// scored are the scores of one network on its own images and on a foreign set: logarithms of confidences.
type scored struct {
	networkAreas
	own, clean, bound          []float64 // of all images, or of those with other bounds
	intervals                  []float64 // of these, bounds by rigorous intervals
	subset, attacked, ofSubset []float64 // of those that were attacked: as they are, under attack, bounds
}

// score reads the files of a network and a set; nil where they are not there.
func (s foreignSets) score(folder string, m *Model, part string) (*scored, error) {
	in, err := closed(ownPath(folder, m))
	if in == nil || err != nil {
		return nil, err
	}
	bound, err := closed(s.file(folder, m, part, s.boundEnding()))
	if err != nil {
		return nil, err
	}
	var intervals *record.File
	if s.way != "" {
		if intervals, err = closed(s.file(folder, m, part, boundEnds)); intervals == nil || err != nil {
			return nil, err
		}
	}
	attacked, transferred, err := s.attacks(folder, m, part)
	if err != nil || bound == nil && attacked == nil {
		return nil, err
	}
	out := &scored{networkAreas: networkAreas{Network: m.Name, Images: len(in.Lines), Transfer: transferred}, own: scores(in.Lines, clean)}
	out.Own, out.OwnError = meanExp(out.own), meanExpError(out.own)
	if c := in.Claims; c.Labels > 0 {
		out.Accuracy = float64(c.Correct) / float64(c.Labels)
	}
	if bound != nil {
		out.clean, out.bound = scores(bound.Lines, clean), scores(bound.Lines, upper)
		if out.Bound, err = separate(out.own, out.clean, out.bound); err != nil {
			return nil, err
		}
		if s.way != "" {
			out.intervals = scores(sameImages(intervals.Lines, bound.Lines), upper)
			if err := out.Bound.beside(out.own, out.bound, out.intervals); err != nil {
				return nil, err
			}
		}
	}
	if attacked != nil {
		out.subset, out.attacked = scores(attacked.Lines, clean), scores(attacked.Lines, worstOf)
		if out.Attack, err = separate(out.own, out.subset, out.attacked); err != nil {
			return nil, err
		}
		if bound != nil {
			if err := ood.Ordered(bound, attacked); err != nil {
				return nil, err
			}
			out.ofSubset = scores(sameImages(bound.Lines, attacked.Lines), upper)
			a, err := areaOf(out.own, out.ofSubset)
			if err != nil {
				return nil, err
			}
			out.Attack.BoundAUC = &a
		}
	}
	return out, nil
}

func separate(own, foreign, worst []float64) (*separation, error) {
	a := &separation{Images: len(foreign), Confidence: meanExp(foreign), Worst: meanExp(worst)}
	var err1, err2 error
	a.AUC, err1 = areaOf(own, foreign)
	a.WorstAUC, err2 = areaOf(own, worst)
	return a, errors.Join(err1, err2)
}

// beside compares other bounds with those by rigorous intervals on the same images.
func (a *separation) beside(own, other, intervals []float64) error {
	v, err := areaOf(own, intervals)
	a.BoundAUC, a.Intervals = &v, meanExp(intervals)
	for i, l := range intervals {
		a.Apart = max(a.Apart, math.Abs(math.Exp(l)-math.Exp(other[i])))
	}
	return err
}

// attacks are what attacks found of a model, the transferred ones included; nothing beside other bounds.
func (s foreignSets) attacks(folder string, m *Model, part string) (attacked *record.File, transfer bool, err error) {
	if s.way != "" {
		return nil, false, nil
	}
	if attacked, err = closed(s.file(folder, m, part, attackEnds)); attacked == nil || err != nil {
		return nil, false, err
	}
	transferred, err := closed(s.file(folder, m, part, s.transferEnding()))
	if transferred == nil || err != nil {
		return attacked, false, err
	}
	for i, l := range transferred.Lines {
		if mine := &attacked.Lines[i]; l.Image == mine.Image && l.Attacked > mine.Attacked {
			mine.Attacked = l.Attacked
		}
	}
	return attacked, true, nil
}

// sameImages are the lines of the images of others, in their order.
func sameImages(of, others []record.Line) (out []record.Line) {
	lines := map[int]record.Line{}
	for _, l := range of {
		lines[l.Image] = l
	}
	for _, l := range others {
		if mine, there := lines[l.Image]; there {
			out = append(out, mine)
		}
	}
	return out
}

func clean(l record.Line) float64 { return l.Log }

// upper is a line's bound, unless its own confidence is not a number.
func upper(l record.Line) float64 { return unlessNaN(l, l.Upper) }

// worstOf is the most that an image's attacks found.
func worstOf(l record.Line) float64 { return unlessNaN(l, l.Attacked) }

func unlessNaN(l record.Line, v float64) float64 {
	if math.IsNaN(l.Log) {
		return l.Log
	}
	return v
}

func scores(lines []record.Line, of func(record.Line) float64) []float64 {
	out := make([]float64, len(lines))
	for i, l := range lines {
		out[i] = of(l)
	}
	return out
}

func meanExp(logs []float64) float64 {
	sum := 0.
	for _, v := range logs {
		sum += math.Exp(v)
	}
	return sum / float64(len(logs))
}

func meanExpError(logs []float64) float64 {
	values := make([]float64, len(logs))
	for i, v := range logs {
		values[i] = math.Exp(v)
	}
	return stat.StdErr(stat.StdDev(values, nil), float64(len(values)))
}

// kept reads what results keep of a set.
func (s foreignSets) kept(folder, data, part string) (a Areas, err error) {
	_, err = readJSON(s.areasPath(folder, data, part), &a)
	return a, err
}

// of is what is kept of a network; nil where there is nothing.
func (a *Areas) of(network string) *networkAreas {
	if i := slices.IndexFunc(a.Networks, func(t networkAreas) bool { return t.Network == network }); i >= 0 {
		return &a.Networks[i]
	}
	return nil
}

// join takes what another file of the same set knows and this one does not: networks, and comparisons of more of them.
func (a *Areas) join(b *Areas) error {
	for _, t := range b.Networks {
		switch mine := a.of(t.Network); {
		case mine == nil:
			a.Networks = append(a.Networks, t)
		case mine.Own != t.Own || mine.Accuracy != t.Accuracy:
			return fmt.Errorf("experiment: two networks %s, which are not the same: on their own images, confidences of %v and %v", t.Network, mine.Own, t.Own)
		default:
			mine.Bound, mine.Attack, mine.Transfer = cmp.Or(mine.Bound, t.Bound), cmp.Or(mine.Attack, t.Attack), mine.Transfer || t.Transfer
		}
	}
	slices.SortFunc(a.Networks, func(x, y networkAreas) int { return cmp.Compare(x.Network, y.Network) })
	for _, c := range [][2]*Compared{{&a.All, &b.All}, {&a.Attacked, &b.Attacked}} {
		if len(c[1].Networks) > len(c[0].Networks) {
			*c[0] = *c[1]
		}
	}
	return nil
}

// keepAreas brings what the files of foreign images say into the files of results.
func (m *Manifest) keepAreas(folder string) error {
	done := map[string]bool{}
	for _, t := range m.Tables {
		for _, measure := range t.Measure.measures() {
			of, ok := measure.(interface{ foreign() foreignData })
			if !ok {
				continue
			}
			for data, s := range of.foreign() {
				for _, name := range s.Foreign {
					path := s.areasPath(folder, data, word(name))
					if done[path] {
						continue
					}
					done[path] = true
					if err := m.keepSet(folder, path, data, word(name), s); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// keepSet does so for one set, where a network has files that its results do not have.
func (m *Manifest) keepSet(folder, path, data, part string, s foreignSets) error {
	kept, err := s.kept(folder, data, part)
	if err != nil {
		return err
	}
	fresh := false
	var models []*Model
	for i := range m.Models {
		if o := &m.Models[i]; o.Data == data && o.Adapt == nil && o.Results == "" {
			models = append(models, o)
			fresh = fresh || s.fresh(folder, o, part, kept.of(o.Name))
		}
	}
	if !fresh {
		return nil
	}
	all, attacked := newComparison(aucKind, gaucKind), newComparison(aucKind, aaucKind, gaucKind)
	if s.way != "" {
		all = newComparison(aucKind, gaucKind, intervalsKind)
	}
	found := Areas{Data: data, Set: part, Epsilon: s.Epsilon, By: s.by()}
	for _, o := range models {
		n, err := s.score(folder, o, part)
		if err != nil {
			return err
		}
		if n == nil {
			continue
		}
		found.Networks = append(found.Networks, n.networkAreas)
		if n.Bound != nil {
			if s.way != "" {
				all.add(o.Name, n.own, n.clean, n.bound, n.intervals)
			} else {
				all.add(o.Name, n.own, n.clean, n.bound)
			}
			if n.Attack != nil {
				attacked.add(o.Name, n.own, n.subset, n.attacked, n.ofSubset)
			}
		}
	}
	var err1, err2 error
	found.All, err1 = all.compared()
	found.Attacked, err2 = attacked.compared()
	if err := errors.Join(err1, err2, found.join(&kept)); err != nil || len(found.Networks) == 0 {
		return err
	}
	return writeJSON(path, found)
}

// fresh reports whether a network has files of a set that results do not have.
func (s foreignSets) fresh(folder string, m *Model, part string, kept *networkAreas) bool {
	there := func(ending string) bool {
		_, err := os.Stat(s.file(folder, m, part, ending))
		return !errors.Is(err, fs.ErrNotExist)
	}
	if there(s.boundEnding()) && (kept == nil || kept.Bound == nil) {
		return true
	}
	return s.way == "" && (there(attackEnds) && (kept == nil || kept.Attack == nil) || there(s.transferEnding()) && (kept == nil || !kept.Transfer))
}

// comparison collects scores whose areas are compared.
type comparison struct {
	Compared
	own, foreign [][]float64
}

func newComparison(kinds ...string) *comparison { return &comparison{Compared: Compared{Kinds: kinds}} }

// add adds a network, unless its images are not those of the ones before.
func (c *comparison) add(network string, own []float64, foreign ...[]float64) {
	if len(c.own) > 0 && (len(own) != len(c.own[0]) || len(foreign[0]) != c.Images) {
		return
	}
	c.Networks, c.Images = append(c.Networks, network), len(foreign[0])
	for _, f := range foreign {
		c.own, c.foreign = append(c.own, own), append(c.foreign, f)
	}
}

func (c *comparison) compared() (out Compared, err error) {
	out = c.Compared
	if len(c.own) == 0 {
		return out, nil
	}
	areas, covariance, err := ood.Covariance(c.own, c.foreign)
	for i, row := range covariance {
		for j := range row[:i+1] {
			row[j], _ = strconv.ParseFloat(strconv.FormatFloat(row[j], 'g', 9, 64), 64)
		}
		covariance[i] = row[:i+1]
	}
	out.Values, out.Covariance = areas, covariance
	return out, err
}
