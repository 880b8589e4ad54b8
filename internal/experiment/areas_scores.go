package experiment

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/certspec/certspec/internal/ood/record"
	"github.com/certspec/certspec/ood"
)

// scored are the scores of one network on its own images and on a foreign set: logarithms of confidences.
type scored struct {
	networkAreas
	own, clean, bound          []float64 // of all images, or of those with other bounds
	intervals                  []float64 // of these, bounds by rigorous intervals
	subset, attacked, ofSubset []float64 // of those that were attacked: as they are, under attack, bounds
}

// score reads the files of a network and a set; nil where they are not there.
func score(s foreignSets, folder string, m *Model, part string) (*scored, error) {
	in, err := closed(ownPath(folder, m))
	if in == nil || err != nil {
		return nil, err
	}
	bound, err := closed(foreignFile(s, folder, m, part, s.boundEnding()))
	if err != nil {
		return nil, err
	}
	var intervals *record.File
	if s.bounds() != "" {
		if intervals, err = closed(foreignFile(s, folder, m, part, boundEnds)); intervals == nil || err != nil {
			return nil, err
		}
	}
	attacked, transferred, err := attacksOf(s, folder, m, part)
	if err != nil || bound == nil && attacked == nil {
		return nil, err
	}
	out := &scored{networkAreas: networkAreas{Network: m.Name, Images: len(in.Lines), Transfer: transferred},
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
		if s.bounds() != "" {
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

func separate(own, foreign, worst []float64) (*separation, error) {
	a := &separation{Images: len(foreign), Confidence: meanExp(foreign), Worst: meanExp(worst)}
	var err1, err2 error
	a.AUC, err1 = areaOf(own, foreign)
	a.WorstAUC, err2 = areaOf(own, worst)
	return a, errors.Join(err1, err2)
}

// beside compares other bounds with those by rigorous intervals on the same images.
func besideIntervals(a *separation, own, other, intervals []float64) error {
	v, err := areaOf(own, intervals)
	a.BoundAUC, a.Intervals = &v, meanExp(intervals)
	for i, l := range intervals {
		a.Apart = max(a.Apart, math.Abs(math.Exp(l)-math.Exp(other[i])))
	}
	return err
}

// attacks are what attacks found of a model, the transferred ones included; nothing beside other bounds.
func attacksOf(s foreignSets, folder string, m *Model, part string) (attacked *record.File, transfer bool, err error) {
	if s.bounds() != "" {
		return nil, false, nil
	}
	if attacked, err = closed(foreignFile(s, folder, m, part, attackEnds)); attacked == nil || err != nil {
		return nil, false, err
	}
	transferred, err := closed(foreignFile(s, folder, m, part, s.transferEnding()))
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
