package experiment

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// published are figures in print, by row and figure. A row goes by its title or its group, or by
// its recipe where titles repeat.
type published map[string]map[string]float64

// UnmarshalYAML takes, beside figures, what is told of a set of foreign images as a list: its mean
// confidence and bound, or its AUC, AAUC and GAUC, ~ where one is not known.
func (p *published) UnmarshalYAML(n *yaml.Node) error {
	var rows map[string]map[string]yaml.Node
	if err := n.Decode(&rows); err != nil {
		return err
	}
	*p = published{}
	for row, figures := range rows {
		(*p)[row] = map[string]float64{}
		for name, node := range figures {
			if node.Kind == yaml.ScalarNode {
				var v float64
				if err := node.Decode(&v); err != nil {
					return err
				}
				(*p)[row][name] = v
				continue
			}
			var list []*float64
			if err := node.Decode(&list); err != nil {
				return err
			}
			names, ok := map[int][]string{2: {"confidence", "bound"}, 3: {"AUC", "AAUC", "GAUC"}}[len(list)]
			if !ok {
				return fmt.Errorf("line %d: %d figures of %s; expected confidence and bound, or AUC, AAUC and GAUC",
					node.Line, len(list), name)
			}
			for i, v := range list {
				if v != nil {
					(*p)[row][toldName(name, names[i])] = *v
				}
			}
		}
	}
	return nil
}

// percentEnds ends the names of figures in percent.
const percentEnds = ", %"

// toldName is what a figure on a set of foreign images is called.
func toldName(set, what string) string { return set + " " + what + percentEnds }

// has reports whether a figure is one of a line's: not one of foreign images that are measured with other data.
func (l *FilledLine) has(figure string) bool {
	set, _, ok := strings.Cut(strings.TrimSuffix(figure, percentEnds), " ")
	return !ok || !strings.HasSuffix(figure, percentEnds) || set == "own" || slices.Contains(l.foreign, set)
}

// toldOf finds a figure in what was told of a line, with ties lost, as they are in print (guaranteed-ood-detection §6).
func (l *FilledLine) toldOf(figure string) (float64, bool) {
	bounds, _ := l.Found["bound"].([]*told)
	attacks, _ := l.Found["attack"].([]*told)
	if len(bounds) > 0 && figure == "accuracy, %" {
		return 100 * bounds[0].Accuracy, true
	}
	if len(bounds) > 0 && figure == toldName("own", "confidence") {
		return 100 * bounds[0].Own, true
	}
	for _, t := range bounds {
		for what, v := range map[string]float64{"AUC": t.AUC.Conservative, "GAUC": t.WorstAUC.Conservative,
			"confidence": t.Confidence, "bound": t.Worst} {
			if figure == toldName(t.Set, what) {
				return 100 * v, true
			}
		}
	}
	for _, t := range attacks {
		if figure == toldName(t.Set, "AAUC") {
			return 100 * t.WorstAUC.Conservative, true
		}
	}
	return 0, false
}
