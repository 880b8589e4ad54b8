package measure

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/certspec/certspec/resample"
)

// Areas are results/DATA-SET-EPSILON.areas.json, of the files in ood/, which are large.
type Areas struct {
	Data    string  `json:"data"`
	Set     string  `json:"set"`
	Epsilon float64 `json:"epsilon"`
	// By is empty but for bounds that are not those by rigorous intervals, as in crown or plain,
	// and for attacks from the points of some networks alone; it stands behind EPSILON.
	By       string         `json:"by,omitempty"`
	Networks []NetworkAreas `json:"networks"`
	// All compares AUC and GAUC over all images of the set, Attacked AUC, AAUC and GAUC over those that were attacked.
	All      Compared `json:"all"`
	Attacked Compared `json:"attacked"`
}

// Compared are areas with their covariance, by which differences are paired by image.
type Compared struct {
	Networks []string `json:"networks"`
	Kinds    []string `json:"kinds"` // of each network, one after the other
	Images   int      `json:"images"`
	// Values are the areas, ties as one half, those of the first network first; Covariance is the
	// lower triangle of their covariance by DeLong, DeLong and Clarke-Pearson 1988: of the images,
	// not of the training.
	Values     []float64   `json:"values"`
	Covariance [][]float64 `json:"covariance"`
}

const (
	AUC  = "AUC"
	AAUC = "AAUC"
	GAUC = "GAUC"

	GAUCByIntervals = "GAUC by intervals" // beside that by other bounds, of the same images
)

// Contrast is a weighted sum of areas with its standard error over the images. A weight is that of
// a kind of a network by its name.
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

// AreasSuffix ends the names of the files of areas.
const AreasSuffix = ".areas.json"

// ReadAreas reads those that a folder keeps, in the order of their files' names.
func ReadAreas(folder string) (all []*Areas, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "results", "*"+AreasSuffix))
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	for _, file := range files {
		a := &Areas{}
		if _, err := ReadJSON(file, a); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// AreasPath is where the areas of a set lie.
func AreasPath(s ForeignSets, folder, data, part string) string {
	return filepath.Join(folder, "results", fmt.Sprintf("%s-%s-%s%s", data, part, strconv.FormatFloat(s.Epsilon, 'g',
		-1, 64), Suffixed(s.By(), AreasSuffix)))
}

// NetworkAreas are how well a network tells a set of foreign images from its own.
type NetworkAreas struct {
	Network  string      `json:"network"`
	Images   int         `json:"images"`         // of its own
	Accuracy float64     `json:"accuracy"`       // on its own images
	Own      float64     `json:"mean_own"`       // confidence
	OwnError float64     `json:"mean_own_error"` // its standard error over the images
	Bound    *Separation `json:"bound,omitempty"`
	Attack   *Separation `json:"attack,omitempty"` // of the images that were attacked
	Transfer bool        `json:"transfer,omitempty"`
}

// Separation are the areas of a foreign set as it is, and at its worst: by bounds, or under attack.
type Separation struct {
	Images     int     `json:"images"`
	Confidence float64 `json:"mean_confidence"`
	Worst      float64 `json:"mean_worst"`

	AUC      Area `json:"auc"`
	WorstAUC Area `json:"worst_auc"` // GAUC, or AAUC
	// of attacked images, and of those with other bounds: GAUC by rigorous intervals on them alone
	BoundAUC *Area `json:"bound_auc,omitempty"`

	// Of other bounds than those by rigorous intervals: the mean of these, and the largest distance
	// between the two of an image.
	Intervals float64 `json:"mean_intervals,omitempty"`
	Apart     float64 `json:"most_apart,omitempty"`
}

// Add adds those of another network; Over makes means of the sums.
func (a *Separation) Add(b *Separation) {
	a.Images, a.Confidence, a.Worst = b.Images, a.Confidence+b.Confidence, a.Worst+b.Worst
	a.Intervals, a.Apart = a.Intervals+b.Intervals, max(a.Apart, b.Apart)
	a.AUC.add(b.AUC)
	a.WorstAUC.add(b.WorstAUC)
	if b.BoundAUC != nil {
		if a.BoundAUC == nil {
			a.BoundAUC = new(Area)
		}
		a.BoundAUC.add(*b.BoundAUC)
	}
}

// Over makes means over so many networks.
func (a *Separation) Over(models int) {
	n := float64(models)
	a.Confidence, a.Worst, a.Intervals = a.Confidence/n, a.Worst/n, a.Intervals/n
	for _, of := range []*Area{&a.AUC, &a.WorstAUC, a.BoundAUC} {
		if of != nil {
			of.over(n)
		}
	}
}

// Area is an AUC, in its conservative form, with ties as one half, and with the ends of an interval of 95 %.
type Area struct {
	Conservative float64 `json:"conservative"`
	Value        float64 `json:"value"`
	Low          float64 `json:"low"`
	High         float64 `json:"high"`

	starts []float64 // values of the starts of a mean
}

func (a *Area) add(b Area) {
	*a = Area{a.Conservative + b.Conservative, a.Value + b.Value, a.Low + b.Low, a.High + b.High, append(a.starts,
		b.Value)}
}

func (a *Area) over(n float64) {
	value := a.Value / n
	in := resample.Members(resample.Interval{Low: a.Low / n, High: a.High / n}, value, resample.DefaultConfidence,
		a.starts)
	*a = Area{Conservative: a.Conservative / n, Value: value, Low: max(0, in.Low), High: min(1, in.High)}
}

// ReadSetAreas reads what results keep of a set.
func ReadSetAreas(s ForeignSets, folder, data, part string) (a Areas, err error) {
	_, err = ReadJSON(AreasPath(s, folder, data, part), &a)
	return a, err
}

// Network is a network's part; nil where there is none.
func (a *Areas) Network(network string) *NetworkAreas {
	if i := slices.IndexFunc(a.Networks, func(t NetworkAreas) bool { return t.Network == network }); i >= 0 {
		return &a.Networks[i]
	}
	return nil
}

// Join takes what another file of the same set knows and this one does not: networks, and comparisons of more of them.
func (a *Areas) Join(b *Areas) error {
	for _, t := range b.Networks {
		switch mine := a.Network(t.Network); {
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
	slices.SortFunc(a.Networks, func(x, y NetworkAreas) int { return cmp.Compare(x.Network, y.Network) })
	for _, c := range [][2]*Compared{{&a.All, &b.All}, {&a.Attacked, &b.Attacked}} {
		if len(c[1].Networks) > len(c[0].Networks) {
			*c[0] = *c[1]
		}
	}
	return nil
}
