package papers

import (
	"fmt"
	"strings"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/notebooks/lesson"
	"github.com/certspec/certspec/ood"
)

// told is a set of foreign images in a table of Bitterwolf, Meinke and Hein 2020.
type told struct {
	own, set string // recipes of the table in experiment/data, and what the set is called there
	title    string
	place    string // as ours is called whose place is the same; "": none
}

// good is what we show of their tables: own images are MNIST with ε = 0.3, in table 9 with 0.4; of
// smooth noise, which the paper has for colour images alone, CIFAR-10 with 0.01.
var good = map[int][]told{1: mnist, 4: mnist, 9: mnist, 8: {
	{"B/mnist/", "out", "80M Tiny Images", ""}, {"B/mnist/", "omniglot", "Omniglot", ""}, {"B/mnist/", "notmnist",
		"notMNIST", ""},
	{"B/c10/", "smooth-rgb", "smooth noise (CIFAR-10)", "smooth"},
}}

var mnist = []told{
	{"B/mnist/", "clothes", "FashionMNIST", "mnist"}, {"B/mnist/", "letters", "EMNIST Letters", ""},
	{"B/mnist/", "cifar10", "grey CIFAR-10", "grey"},
	{"B/mnist/", "uniform", "uniform noise", "uniform"},
}

// goodNames are the networks that we show.
var goodNames = []string{"Plain", "OE", "GOOD 40", "GOOD 80", "GOOD 100"}

// published is what stands in print: AUC, AAUC and GAUC in percent, in table 4 mean confidence and mean bound.
func published(table int) func(of told, network string) []float64 {
	figures := []string{"AUC", "AAUC", "GAUC"}
	if table == 4 {
		figures = []string{"confidence", "bound"}
	}
	t := nb.Must(nb.Must(recipe.Open()).Table(fmt.Sprintf("B/table%d", table)))
	return func(of told, network string) (out []float64) {
		row := t.Published[of.own+strings.ToLower(strings.ReplaceAll(network, " ", ""))]
		for _, f := range figures {
			v, ok := row[of.set+" "+f+", %"]
			if !ok {
				panic(fmt.Sprintf("papers: table %d has no %s of %s on %s", table, f, network, of.set))
			}
			out = append(out, v)
		}
		return out
	}
}

func slashed(percents []float64) string {
	text := ""
	for i, v := range percents {
		if i > 0 {
			text += " / "
		}
		text += fmt.Sprintf("%.1f", v)
	}
	return text
}

// Beside has rows of a table of GOOD beside ours, where a set of ours has the place of theirs, and
// whether ours show what theirs say: of tables 1, 8 and 9, whether GAUC is 0 (ours by its interval
// at 95 %, below half a percent or above it); of table 4, whether the mean bound is 100 % (ours
// above 99.95 %). The networks are models by the names of the paper.
func Beside(table int, models map[string]string, ours func(model, set string) *ood.Comparison) *nb.Tabular {
	t := nb.Columns(fmt.Sprintf("table %d: network", table), "theirs", "published", "our foreign images", "ours",
		"trend")
	printed := published(table)
	for _, of := range good[table] {
		for _, name := range goodNames {
			if of.place == "" || models[name] == "" {
				continue
			}
			c, theirs := ours(models[name], of.place), printed(of, name)
			values, trend := []float64{100 * c.Foreign.Confidence, 100 * *c.Foreign.Bound}, verdict(theirs[1] == 100,
				*c.Foreign.Bound > 0.9995, *c.Foreign.Bound <= 0.9995)
			if table != 4 {
				gauc := c.Intervals["gauc"].DeLong
				values = []float64{100 * c.AUC, 100 * *c.AAUC, 100 * *c.GAUC}
				trend = verdict(theirs[2] == 0, gauc.High < 0.005, gauc.Low > 0.005)
			}
			t.Add(name, of.title, slashed(theirs), lesson.Foreign[of.place], slashed(values), trend)
		}
	}
	return t
}

// verdict says whether ours show what is published, where ours say yes, no, or neither.
func verdict(published, yes, no bool) string {
	switch {
	case published && yes || !published && no:
		return "shows"
	case yes || no:
		return "opposite"
	}
	return "open"
}
