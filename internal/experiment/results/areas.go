package results

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/ood/record"
	"github.com/certspec/certspec/resample"
)

func areaOf(own, foreign []float64) (measure.Area, error) {
	v, err := ood.Area(own, foreign)
	if err != nil {
		return measure.Area{}, err
	}
	_, deviation, err := ood.DeLong(own, foreign)
	half := resample.Normal95 * deviation
	return measure.Area{Conservative: v.Conservative, Value: v.Value, Low: max(v.Value-half, 0), High: min(v.Value+half,
		1)}, err
}

func areaCells(a *measure.Area) []any {
	return []any{percent(a.Conservative), percent(a.Value), percent(a.Low), percent(a.High)}
}

// KeepAreas brings what the files of foreign images say into the files of results.
func KeepAreas(m *store.Manifest, folder string) error {
	done := map[string]bool{}
	for _, t := range m.Tables {
		for _, asked := range t.Measure.All() {
			of, ok := asked.(interface{ Foreign() measure.ForeignData })
			if !ok {
				continue
			}
			for data, s := range of.Foreign() {
				for _, name := range s.Foreign {
					path := measure.AreasPath(s, folder, data, measure.SetName(name))
					if done[path] {
						continue
					}
					done[path] = true
					if err := keepSet(m, folder, path, data, measure.SetName(name), s); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// keepSet does so for one set, where a network has files that its results do not have.
func keepSet(m *store.Manifest, folder, path, data, part string, s measure.ForeignSets) error {
	kept, err := measure.ReadSetAreas(s, folder, data, part)
	if err != nil {
		return err
	}
	fresh := false
	var models []*recipe.Model
	for i := range m.Models {
		if o := &m.Models[i]; o.Data == data && o.Adapt == nil && o.Results == "" {
			models = append(models, o)
			fresh = fresh || hasNewScores(s, folder, o, part, kept.Network(o.Name))
		}
	}
	if !fresh {
		return nil
	}
	all, attacked := newComparison(measure.AUC, measure.GAUC), newComparison(measure.AUC, measure.AAUC, measure.GAUC)
	if s.Bounds() != "" {
		all = newComparison(measure.AUC, measure.GAUC, measure.GAUCByIntervals)
	}
	found := measure.Areas{Data: data, Set: part, Epsilon: s.Epsilon, By: s.By()}
	for _, o := range models {
		n, err := score(s, folder, o, part)
		if err != nil {
			return err
		}
		if n == nil {
			continue
		}
		found.Networks = append(found.Networks, n.NetworkAreas)
		if n.Bound != nil {
			if s.Bounds() != "" {
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
	if err := errors.Join(err1, err2, found.Join(&kept)); err != nil || len(found.Networks) == 0 {
		return err
	}
	return store.KeepJSON(path, found)
}

// hasNewScores reports whether a network has files of a set that results do not have.
func hasNewScores(s measure.ForeignSets, folder string, m *recipe.Model, part string, kept *measure.NetworkAreas) bool {
	there := func(ending string) bool {
		_, err := os.Stat(filepath.Join(folder, measure.ScoresPath(s, m.Slug(), part, ending)))
		return !errors.Is(err, fs.ErrNotExist)
	}
	if there(s.BoundEnding()) && (kept == nil || kept.Bound == nil) {
		return true
	}
	return s.Bounds() == "" && (there(measure.AttackEnds) && (kept == nil || kept.Attack == nil) ||
		there(s.TransferEnding()) && (kept == nil || !kept.Transfer))
}

// comparison collects scores whose areas are compared.
type comparison struct {
	measure.Compared
	own, foreign [][]float64
}

func newComparison(kinds ...string) *comparison {
	return &comparison{Compared: measure.Compared{Kinds: kinds}}
}

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

func (c *comparison) compared() (out measure.Compared, err error) {
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

// scored are the scores of one network on its own images and on a foreign set: logarithms of confidences.
type scored struct {
	measure.NetworkAreas
	own, clean, bound          []float64 // of all images, or of those with other bounds
	intervals                  []float64 // of these, bounds by rigorous intervals
	subset, attacked, ofSubset []float64 // of those that were attacked: as they are, under attack, bounds
}

// score reads the files of a network and a set; nil where they are not there.
func score(s measure.ForeignSets, folder string, m *recipe.Model, part string) (*scored, error) {
	in, err := measure.ReadScores(filepath.Join(folder, measure.OwnScoresPath(m.Slug())))
	if in == nil || err != nil {
		return nil, err
	}
	bound, err := scoresOf(s, folder, m, part, s.BoundEnding())
	if err != nil {
		return nil, err
	}
	var intervals *record.File
	if s.Bounds() != "" {
		intervals, err = scoresOf(s, folder, m, part, measure.BoundEnds)
		if intervals == nil || err != nil {
			return nil, err
		}
	}
	attacked, transferred, err := attacksOf(s, folder, m, part)
	if err != nil || bound == nil && attacked == nil {
		return nil, err
	}
	out := &scored{NetworkAreas: measure.NetworkAreas{Network: m.Name, Images: len(in.Lines), Transfer: transferred},
		own: scores(in.Lines, clean)}
	out.Own, out.OwnError = meanExp(out.own), meanExpError(out.own)
	if c := in.Claims; c.Labels > 0 {
		out.Accuracy = float64(c.Correct) / float64(c.Labels)
	}
	if bound != nil {
		out.clean, out.bound = scores(bound.Lines, clean), scores(bound.Lines, upper)
		if out.Bound, err = separate(out.own, out.clean, out.bound); err != nil {
			return nil, err
		}
		if s.Bounds() != "" {
			out.intervals = scores(sameImages(intervals.Lines, bound.Lines), upper)
			if err := besideIntervals(out.Bound, out.own, out.bound, out.intervals); err != nil {
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

// scoresOf reads what is measured of a set; nil where it is not there or not finished.
func scoresOf(s measure.ForeignSets, folder string, m *recipe.Model, part, ending string) (*record.File, error) {
	return measure.ReadScores(filepath.Join(folder, measure.ScoresPath(s, m.Slug(), part, ending)))
}

func separate(own, foreign, worst []float64) (*measure.Separation, error) {
	a := &measure.Separation{Images: len(foreign), Confidence: meanExp(foreign), Worst: meanExp(worst)}
	var err1, err2 error
	a.AUC, err1 = areaOf(own, foreign)
	a.WorstAUC, err2 = areaOf(own, worst)
	return a, errors.Join(err1, err2)
}

// besideIntervals compares other bounds with those by rigorous intervals on the same images.
func besideIntervals(a *measure.Separation, own, other, intervals []float64) error {
	v, err := areaOf(own, intervals)
	a.BoundAUC, a.Intervals = &v, meanExp(intervals)
	for i, l := range intervals {
		a.Apart = max(a.Apart, math.Abs(math.Exp(l)-math.Exp(other[i])))
	}
	return err
}

// attacksOf are what attacks found of a model, the transferred ones included; nothing beside other bounds.
func attacksOf(s measure.ForeignSets, folder string, m *recipe.Model,
	part string) (attacked *record.File, transfer bool, err error) {
	if s.Bounds() != "" {
		return nil, false, nil
	}
	attacked, err = scoresOf(s, folder, m, part, measure.AttackEnds)
	if attacked == nil || err != nil {
		return nil, false, err
	}
	transferred, err := scoresOf(s, folder, m, part, s.TransferEnding())
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
