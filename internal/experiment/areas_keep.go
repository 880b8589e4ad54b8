package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"github.com/certspec/certspec/ood"
)

// kept reads what results keep of a set.
func areasOf(s foreignSets, folder, data, part string) (a Areas, err error) {
	_, err = readJSON(areasPath(s, folder, data, part), &a)
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
			return fmt.Errorf("experiment: two networks %s, which are not the same: on their own images, "+
				"confidences of %v and %v", t.Network, mine.Own, t.Own)
		default:
			mine.Bound, mine.Attack, mine.Transfer = cmp.Or(mine.Bound, t.Bound), cmp.Or(mine.Attack, t.Attack),
				mine.Transfer || t.Transfer
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
func keepAreas(m *Manifest, folder string) error {
	done := map[string]bool{}
	for _, t := range m.Tables {
		for _, measure := range t.Measure.measures() {
			of, ok := measure.(interface{ foreign() foreignData })
			if !ok {
				continue
			}
			for data, s := range of.foreign() {
				for _, name := range s.Foreign {
					path := areasPath(s, folder, data, word(name))
					if done[path] {
						continue
					}
					done[path] = true
					if err := keepSet(m, folder, path, data, word(name), s); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// keepSet does so for one set, where a network has files that its results do not have.
func keepSet(m *Manifest, folder, path, data, part string, s foreignSets) error {
	kept, err := areasOf(s, folder, data, part)
	if err != nil {
		return err
	}
	fresh := false
	var models []*Model
	for i := range m.Models {
		if o := &m.Models[i]; o.Data == data && o.Adapt == nil && o.Results == "" {
			models = append(models, o)
			fresh = fresh || hasNewScores(s, folder, o, part, kept.of(o.Name))
		}
	}
	if !fresh {
		return nil
	}
	all, attacked := newComparison(aucKind, gaucKind), newComparison(aucKind, aaucKind, gaucKind)
	if s.bounds() != "" {
		all = newComparison(aucKind, gaucKind, intervalsKind)
	}
	found := Areas{Data: data, Set: part, Epsilon: s.Epsilon, By: s.by()}
	for _, o := range models {
		n, err := score(s, folder, o, part)
		if err != nil {
			return err
		}
		if n == nil {
			continue
		}
		found.Networks = append(found.Networks, n.networkAreas)
		if n.Bound != nil {
			if s.bounds() != "" {
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
	return keepJSON(path, found)
}

// fresh reports whether a network has files of a set that results do not have.
func hasNewScores(s foreignSets, folder string, m *Model, part string, kept *networkAreas) bool {
	there := func(ending string) bool {
		_, err := os.Stat(foreignFile(s, folder, m, part, ending))
		return !errors.Is(err, fs.ErrNotExist)
	}
	if there(s.boundEnding()) && (kept == nil || kept.Bound == nil) {
		return true
	}
	return s.bounds() == "" && (there(attackEnds) && (kept == nil || kept.Attack == nil) || there(s.transferEnding()) &&
		(kept == nil || !kept.Transfer))
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
