package compare

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/resample"
)

// NamedACR is an average certified radius of several runs, with the interval for the population of the images.
type NamedACR struct {
	Name     string            `json:"name"`
	ACR      float64           `json:"acr"`
	Interval resample.Interval `json:"interval"`
}

// NamedDifference is a difference of average certified radii with its name.
type NamedDifference struct {
	Name string `json:"name"`
	Difference
}

// Sweep has the average certified radii of a run that corruptions leave, with intervals.
type Sweep struct {
	Images      int        `json:"images"` // labelled
	Severities  []int      `json:"severities"`
	MACR        NamedACR   `json:"macr"`
	Corruptions []NamedACR `json:"corruptions"`
	Groups      []NamedACR `json:"groups"`
	// of the groups low, mid and high, each next one less the one before; B − A
	Order     []NamedDifference `json:"order"`
	Bootstrap resample.Options  `json:"bootstrap"`
}

// SweepComparison is two sweeps over the same corruptions, image by image.
type SweepComparison struct {
	Images      int               `json:"images"` // labelled
	Severities  []int             `json:"severities"`
	MACR        Difference        `json:"macr"`
	Corruptions []NamedDifference `json:"corruptions"`
	Groups      []NamedDifference `json:"groups"`
	Bootstrap   resample.Options  `json:"bootstrap"`

	Differ   []Setting `json:"differ"`        // fields of the headers that differ in any cell
	Cap      float64   `json:"cap,omitempty"` // the smallest cap: all radii are cut at it; 0: none is known
	Verdicts []Verdict `json:"verdicts"`      // by metric, that of all corruptions first
}

// MeanACR returns the mean average certified radius over corruptions,
//
//	ACR_i = mean of ACR over the severities of corruption i,   mACR = mean of ACR_i over the corruptions,
//
// and the means of ACR_i over those corrupt.Groups of which every member is there. Intervals are of the bootstrap,
// percentile form: an image that is drawn brings its results under all corruptions. So the differences between groups
// are paired. Over few images they are made as by ACR and Runs.
//
// Errors: no runs, a run without labels, a corruption twice at one severity, corruptions at different severities, whose
// means could not be compared, runs on different images; options out of range, as *resample.OptionError; that of ctx.
func MeanACR(ctx context.Context, runs []Corrupted, o resample.Options) (*Sweep, error) {
	o, err := o.Resolved()
	if err != nil {
		return nil, err
	}
	m, err := newCorruptionMatrix(runs)
	if err != nil {
		return nil, err
	}
	ordered := m.ordered()
	var steps []float64
	for i := range m.images {
		row := m.row(i)
		for _, pair := range ordered {
			steps = append(steps, row[pair[1]]-row[pair[0]])
		}
	}
	found, err := averages(ctx, m.values, len(m.names), o)
	if err != nil {
		return nil, err
	}
	var between []resample.Estimate
	if len(ordered) > 0 {
		if between, err = meanDifferences(ctx, steps, len(ordered), o); err != nil {
			return nil, err
		}
	}
	c := &Sweep{Images: len(m.images), Severities: m.severities, Bootstrap: o,
		Corruptions: []NamedACR{}, Groups: []NamedACR{}, Order: []NamedDifference{}}
	for k, name := range m.names {
		one := NamedACR{name, m.mean(k), positive(found[k].Interval)}
		switch {
		case k == 0:
			c.MACR = one
		case k < m.firstCorruption:
			c.Groups = append(c.Groups, one)
		default:
			c.Corruptions = append(c.Corruptions, one)
		}
	}
	for k, pair := range ordered {
		c.Order = append(c.Order, NamedDifference{m.names[pair[0]] + " to " + m.names[pair[1]],
			difference(m.mean(pair[0]), m.mean(pair[1]), between[k])})
	}
	return c, nil
}

// Sweeps gives the differences B − A of two sweeps of the same corruptions and severities over the same images, with
// intervals of the paired bootstrap as those of Runs. Uncorrupted makes a sweep of a clean run.
//
// Errors: those of MeanACR, other corruptions, severities, images or labels in the two sweeps.
func Sweeps(ctx context.Context, a, b []Corrupted, o resample.Options) (*SweepComparison, error) {
	o, err := o.Resolved()
	if err != nil {
		return nil, err
	}
	differ, err := differOfCells(a, b)
	if err != nil {
		return nil, err
	}
	var caps []float64
	for _, cell := range slices.Concat(a, b) {
		caps = append(caps, cell.Radii.Cap)
	}
	most := smallestCap(caps...)
	left, err := newCorruptionMatrix(cutCells(a, most))
	if err != nil {
		return nil, err
	}
	right, err := newCorruptionMatrix(cutCells(b, most))
	if err != nil {
		return nil, err
	}
	switch {
	case !slices.Equal(left.names, right.names):
		return nil, fmt.Errorf("compare: the first sweep has the corruptions %v, the second %v",
			left.names[left.firstCorruption:], right.names[right.firstCorruption:])
	case !slices.Equal(left.severities, right.severities):
		return nil, fmt.Errorf("compare: the first sweep has the severities %v, the second %v", left.severities,
			right.severities)
	case !slices.Equal(left.images, right.images):
		return nil, fmt.Errorf("compare: the sweeps are over different images, or labels: %d in the first and %d in "+
			"the second", len(left.images), len(right.images))
	}
	var values []float64
	for i := range left.images {
		before := left.row(i)
		for k, after := range right.row(i) {
			values = append(values, after-before[k])
		}
	}
	found, err := meanDifferences(ctx, values, len(left.names), o)
	if err != nil {
		return nil, err
	}
	c := &SweepComparison{Images: len(left.images), Severities: left.severities, Bootstrap: o,
		Corruptions: []NamedDifference{}, Groups: []NamedDifference{}, Differ: differ, Cap: most}
	for k, name := range left.names {
		d := difference(left.mean(k), right.mean(k), found[k])
		switch {
		case k == 0:
			c.MACR = d
		case k < left.firstCorruption:
			c.Groups = append(c.Groups, NamedDifference{name, d})
		default:
			c.Corruptions = append(c.Corruptions, NamedDifference{name, d})
		}
	}
	names, all := []string{"mACR"}, []*Difference{&c.MACR}
	for _, list := range [][]NamedDifference{c.Groups, c.Corruptions} {
		for i := range list {
			names, all = append(names, list[i].Name), append(all, &list[i].Difference)
		}
	}
	together(all)
	c.Verdicts = verdicts(names, all, o.Confidence, differ)
	return c, nil
}

// differOfCells lists what differs between the cells of two sweeps, each field once.
//
// Errors: cells of one corruption and severity on different images, as *DataError.
func differOfCells(a, b []Corrupted) ([]Setting, error) {
	differ := []Setting{}
	for _, x := range a {
		at := slices.IndexFunc(b, func(y Corrupted) bool {
			return x.Corruption == y.Corruption && x.Severity == y.Severity
		})
		if at < 0 {
			continue // newCorruptionMatrix and its user say so
		}
		if err := pairable(x.Radii.Header, b[at].Radii.Header); err != nil {
			return nil, fmt.Errorf("%s at severity %d: %w", x.Corruption, x.Severity, err)
		}
		for _, s := range Differ(x.Radii.Header, b[at].Radii.Header) {
			if !slices.ContainsFunc(differ, func(o Setting) bool { return o.Name == s.Name }) {
				differ = append(differ, s)
			}
		}
	}
	return differ, nil
}

func cutCells(cells []Corrupted, most float64) []Corrupted {
	cells = slices.Clone(cells)
	for i := range cells {
		cells[i].Radii = cells[i].Radii.cut(most)
	}
	return cells
}

// Uncorrupted is the sweep that a clean run would be if no corruption did anything: what Sweeps compares a sweep with.
// It takes the headers of the sweep, as the two differ in nothing but the corruption.
func Uncorrupted(like []Corrupted, clean Radii) []Corrupted {
	same := slices.Clone(like)
	for i := range same {
		clean.Header = like[i].Radii.Header
		same[i].Radii = clean
	}
	return same
}

// labelled is an image with its label.
type labelled struct{ image, label int }

// corruptionMatrix is the weight of each image in each mean: of all corruptions, of the whole
// groups and of every corruption.
type corruptionMatrix struct {
	names           []string // "macr", groups, corruptions
	firstCorruption int
	severities      []int
	images          []labelled
	values          []float64 // image by image
}

func newCorruptionMatrix(runs []Corrupted) (*corruptionMatrix, error) {
	names, severities, err := corruptionsOf(runs)
	if err != nil {
		return nil, err
	}
	m := &corruptionMatrix{names: []string{"macr"}, severities: severities}
	members := [][]string{nil}
	for _, g := range wholeGroups(names) {
		m.names = append(m.names, g.Name)
		members = append(members, g.Corruptions)
	}
	m.firstCorruption = len(m.names)
	for _, name := range names {
		m.names = append(m.names, name)
		members = append(members, []string{name})
	}
	if err := m.take(runs, members); err != nil {
		return nil, err
	}
	return m, nil
}

// take adds up the radii of the images; all corruptions have the same severities, so that the mean
// over cells is that over corruptions.
func (m *corruptionMatrix) take(runs []Corrupted, members [][]string) error {
	at := map[labelled]int{}
	for i, image := range runs[0].Radii.Images {
		if label := runs[0].Radii.Labels[i]; label >= 0 {
			at[labelled{image, label}] = len(m.images)
			m.images = append(m.images, labelled{image, label})
		}
	}
	width := len(m.names)
	m.values = make([]float64, width*len(m.images))
	cells := make([]float64, width)
	for _, run := range runs {
		if _, err := run.Radii.byImage(fmt.Sprintf("the %s, severity %d,", run.Corruption, run.Severity)); err != nil {
			return err
		}
		found := 0
		for k, image := range run.Radii.Images {
			label := run.Radii.Labels[k]
			i, known := at[labelled{image, label}]
			if label < 0 {
				continue
			}
			if !known {
				return fmt.Errorf("compare: %s at severity %d has image %d with label %d, %s at severity %d has not",
					run.Corruption, run.Severity, image, label, runs[0].Corruption, runs[0].Severity)
			}
			found++
			for metric, names := range members {
				if names == nil || slices.Contains(names, run.Corruption) {
					m.values[i*width+metric] += run.Radii.radius(k)
				}
			}
		}
		if found != len(m.images) {
			return fmt.Errorf("compare: %s at severity %d has %d images with a label, %s at severity %d has %d",
				run.Corruption, run.Severity, found, runs[0].Corruption, runs[0].Severity, len(m.images))
		}
		for k, names := range members {
			if names == nil || slices.Contains(names, run.Corruption) {
				cells[k]++
			}
		}
	}
	for j := range m.values {
		m.values[j] /= cells[j%width]
	}
	return nil
}

func (m *corruptionMatrix) row(i int) []float64 {
	return m.values[i*len(m.names) : (i+1)*len(m.names)]
}

func (m *corruptionMatrix) mean(k int) float64 {
	sum := 0.0
	for i := range m.images {
		sum += m.row(i)[k]
	}
	return sum / math.Max(1, float64(len(m.images)))
}

// ordered are the places of low and mid, and of mid and high, where both are whole.
func (m *corruptionMatrix) ordered() [][2]int {
	var pairs [][2]int
	for _, pair := range [][2]string{{"low", "mid"}, {"mid", "high"}} {
		from, to := slices.Index(m.names[:m.firstCorruption], pair[0]), slices.Index(m.names[:m.firstCorruption],
			pair[1])
		if from > 0 && to > 0 {
			pairs = append(pairs, [2]int{from, to})
		}
	}
	return pairs
}
