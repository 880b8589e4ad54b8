package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/classifier"
)

// checkLabels looks for another order of the classes under which the model is right more often. The
// order is found on one half of the images and tried on the other, both ways round, as
// among many classes some order always fits the images that it was made from.
func (p *pilot) checkLabels() Check {
	c := Check{Name: "labels", Verdict: OK}
	n := p.labelled()
	if n == 0 {
		c.Found = "Not checked: the images have no labels."
		return c
	}
	var halves [2][]int // images, each class dealt out in turn
	turn := map[int]int{}
	for i, label := range p.images.Labels {
		if label >= 0 {
			halves[turn[label]%2] = append(halves[turn[label]%2], i)
			turn[label]++
		}
	}
	answers := slices.Clone(p.classes)
	for k := range halves {
		order := p.order(halves[1-k])
		for _, i := range halves[k] {
			if label, known := order[p.classes[i]]; known {
				answers[i] = int32(label)
			}
		}
	}
	if value, _ := p.better(p.classes, answers, p.spread(len(p.images.Labels))); value > formLevel/8 {
		c.Found = "No other order of the classes fits the answers better."
		return c
	}
	was, now := p.right(p.classes), p.right(answers)
	c.Verdict = Warning
	if 5*(now-was) >= n {
		c.Verdict = Failure
	}
	c.Found = fmt.Sprintf("The classes seem to be in another order: with %s, %.0f %% are right, and %.0f %% as it "+
		"is now.",
		p.describe(p.order(slices.Concat(halves[:]...))), 100*float64(now)/float64(n), 100*float64(was)/float64(n))
	c.Advice = "Bring the labels of the data into the order in which the model was trained."
	return c
}

// order pairs classes that the model answers with labels of the images, both at most once: first
// the pair that occurs most often.
func (p *pilot) order(images []int) map[int32]int {
	type pair struct {
		class int32
		label int
	}
	counts := map[pair]int{}
	for _, i := range images {
		if p.classes[i] != classifier.Miss {
			counts[pair{p.classes[i], p.images.Labels[i]}]++
		}
	}
	pairs := make([]pair, 0, len(counts))
	for key := range counts {
		pairs = append(pairs, key)
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.class, b.class), cmp.Compare(a.label, b.label))
	})
	order, taken := map[int32]int{}, map[int]bool{}
	for _, pr := range pairs {
		if _, used := order[pr.class]; !used && !taken[pr.label] {
			order[pr.class], taken[pr.label] = pr.label, true
		}
	}
	return order
}

// describe names the pairs of an order that change something, the first few.
func (p *pilot) describe(order map[int32]int) string {
	const most = 10
	var parts []string
	shift, shifted := 0, true
	for class := range int32(p.info.Classes) {
		label, known := order[class]
		if !known {
			continue
		}
		if len(parts) == 0 {
			shift = label - int(class)
		}
		shifted = shifted && label-int(class) == shift
		if label != int(class) {
			parts = append(parts, fmt.Sprintf("%d for %s", class, p.name(label)))
		}
	}
	if shifted && shift != 0 && len(parts) > 2 {
		return fmt.Sprintf("the model's classes moved by %+d", shift)
	}
	if len(parts) > most {
		parts = append(parts[:most], "…")
	}
	return "the model's class " + strings.Join(parts, ", ")
}

// name is a label with its name.
func (p *pilot) name(label int) string {
	if label < len(p.images.Classes) {
		return fmt.Sprintf("%d (%s)", label, p.images.Classes[label])
	}
	return fmt.Sprint(label)
}
