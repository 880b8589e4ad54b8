package claims

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/certspec/certspec/internal/lines/jackknife"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/study"
)

// predictors are slopes and R² of lines through networks, in the mean over architectures, and effective robustness by
// architecture (Fridovich-Keil et al. 2022). A row is a group of networks, a set one shift or the mean of several:
// low, mid, high, all or C.
type predictors struct {
	models lines.Models
	by     lines.Grouping
	study.Settings
	// What is known by the two cells of a claim: leaving out networks takes a while.
	known map[[2]study.Cell]*study.Comparison
	left  map[[2]study.Cell]jackknife.Result
}

func openPredictors(folder, name string) (study.Results, error) {
	by := lines.ByPruning
	if strings.HasSuffix(name, "table2") {
		by = lines.ByAugmentation
	}
	ours := study.Settings{Network: "networks of an eighth of the width", Images: 2000, Severities: []int{1, 3, 5}}
	if released(folder) {
		ours = ofPaper
	}
	models, err := Records(folder)
	return predictors{models, by, ours, map[[2]study.Cell]*study.Comparison{}, map[[2]study.Cell]jackknife.Result{}}, err
}

// released says that a file stands in the place of a folder: the networks that the authors released.
func released(folder string) bool {
	info, err := os.Stat(folder)
	return err == nil && info.Mode().IsRegular()
}

// Records are the networks of a folder, or of a file of models, with their accuracies; none where there are none.
func Records(folder string) (all lines.Models, err error) {
	if released(folder) {
		return lines.Read(folder, lines.CSV{})
	}
	paths, err := filepath.Glob(filepath.Join(folder, "results", "*.record.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("claims: %w", err)
	}
	for _, path := range paths {
		models, err := lines.Read(path, lines.CSV{})
		if err != nil {
			return nil, err
		}
		all = append(all, models...)
	}
	return all, all.Check()
}

var (
	low  = []string{"brightness", "contrast"}
	mid  = []string{"defocus_blur", "pixelate"}
	high = []string{"gaussian_noise", "impulse_noise"}
)

func shiftsOf(set string) []string {
	if of, ok := map[string][]string{"low": low, "mid": mid, "high": high,
		"all": slices.Concat(low, mid, high)}[set]; ok {
		return of
	}
	if members, err := tier.FamilyNames(set); err == nil {
		return members
	}
	return []string{set}
}

// statistic is the number of a cell, by networks.
func (p predictors) statistic(c study.Cell) (func(lines.Models) (float64, error), *lines.Group, error) {
	number, predictor, _ := strings.Cut(c.What, " ")
	k := slices.IndexFunc(p.by.Groups, func(g lines.Group) bool { return g.Name == c.Row })
	if k >= 0 && (number == "er" || number == "spread") {
		return robustness(p.by.Groups[k], shiftsOf(c.Set), number == "spread"), &p.by.Groups[k], nil
	}
	i := slices.IndexFunc(lines.Predictors, func(p lines.Predictor) bool { return p.Name == predictor })
	if k < 0 || i < 0 || number != "r2" && number != "slope" {
		return nil, nil, fmt.Errorf("claims: no %s of %q", c.What, c.Row)
	}
	by := p.by
	by.Groups, by.Shifts, by.Predictors = by.Groups[k:k+1], shiftsOf(c.Set), lines.Predictors[i:i+1]
	return func(models lines.Models) (float64, error) {
		t, err := lines.Tabulate(models, by, lines.Clip{})
		if err != nil {
			return 0, err
		}
		sum := 0.
		for _, cell := range t.Cells {
			if number == "r2" {
				sum += cell.R2
			} else {
				sum += cell.Slope
			}
		}
		return sum / float64(len(by.Shifts)), nil
	}, &by.Groups[0], nil
}

// robustness is the effective robustness over the line of the residual networks, ResNet18: the mean of a shift's
// accuracies above the line for each of the two other architectures, in the mean over the two and over shifts. spread
// is the standard deviation of these means of all three in its place.
func robustness(group lines.Group, shifts []string, spread bool) func(lines.Models) (float64, error) {
	return func(models lines.Models) (float64, error) {
		models = slices.DeleteFunc(slices.Clone(models), func(m lines.Model) bool { return !group.Keep(m) })
		sum := 0.
		for _, shift := range shifts {
			var x, y []float64
			for _, m := range models.Where("architecture", "ResNet18") {
				x = append(x, lines.Probit(m.Accuracies["cifar10_acc"].Share))
				y = append(y, lines.Probit(m.Accuracies[shift].Share))
			}
			line, err := lines.LeastSquares(x, y)
			if err != nil {
				return 0, err
			}
			var means []float64
			for _, architecture := range []string{"Conv8", "VGG16", "ResNet18"} {
				var above []float64
				for _, m := range models.Where("architecture", architecture) {
					e, err := lines.EffectiveRobustness(line, m.Accuracies["cifar10_acc"], m.Accuracies[shift], lines.Clip{})
					if err != nil {
						return 0, err
					}
					above = append(above, e.Accuracy)
				}
				means = append(means, stat.Mean(above, nil))
			}
			if spread {
				sum += stat.StdDev(means, nil)
			} else {
				sum += stat.Mean(means[:2], nil)
			}
		}
		return sum / float64(len(shifts)), nil
	}
}

// Compare leaves out each network in turn; its intervals are over networks, and there are none for these.
func (p predictors) Compare(_ context.Context, a study.Cell, b *study.Cell, by float64, o resample.Options) (
	*study.Comparison, error) {
	pair := [2]study.Cell{a}
	if b != nil {
		pair[1] = *b
	}
	at := func(d study.Comparison, j jackknife.Result) *study.Comparison {
		in := j.Interval(o.Confidence)
		d.Starts = &study.Estimate{Interval: resample.Interval{Low: in.Low, High: in.High}, P: j.P(by)}
		return &d
	}
	if d := p.known[pair]; d != nil {
		return at(*d, p.left[pair]), nil
	}
	if a.What == "accuracy" {
		return p.gain(a, b, at)
	}
	first, group, err := p.statistic(a)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(p.models, group.Keep) {
		return nil, nil
	}
	of, keep := first, group.Keep
	strata := []string{p.by.Lines}
	if b != nil {
		second, other, err := p.statistic(*b)
		if err != nil {
			return nil, err
		}
		of = func(models lines.Models) (float64, error) {
			x, err := first(models)
			if err != nil {
				return 0, err
			}
			y, err := second(models)
			return x - y, err
		}
		if a.Row != b.Row {
			keep = func(m lines.Model) bool { return group.Keep(m) || other.Keep(m) }
			strata = append(strata, "augmentation")
		}
	}
	mine := slices.DeleteFunc(slices.Clone(p.models), func(m lines.Model) bool { return !keep(m) })
	j, err := jackknife.Of(mine, strata, of)
	var few *lines.FewPoints
	if errors.As(err, &few) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d := &study.Comparison{Of: len(mine), Orders: 1, Note: fmt.Sprintf("over %d networks", len(mine))}
	if d.A, err = first(mine); err == nil && b != nil {
		d.B = d.A - j.Value
	}
	p.known[pair], p.left[pair] = d, j
	return at(*d, j), err
}

// gain is by how much networks of one augmentation are more accurate under a shift than those of another with the same
// architecture and pruning, pair by pair.
func (p predictors) gain(a study.Cell, b *study.Cell, at func(study.Comparison, jackknife.Result) *study.Comparison) (
	*study.Comparison, error) {
	label := map[string]string{"clean": "clean", "AugMix": "augmix", "Gaussian": "gaussian"}
	if b == nil || label[a.Row] == "" || label[b.Row] == "" {
		return nil, fmt.Errorf("claims: accuracies of %s are compared with those of another augmentation alone", a.Row)
	}
	others := map[string]float64{}
	for _, m := range p.models.Where("augmentation", label[b.Row]) {
		others[strings.Replace(m.Name, label[b.Row], "", 1)] = m.Accuracies[a.Set].Share
	}
	partner := func(m lines.Model) (float64, bool) {
		v, ok := others[strings.Replace(m.Name, label[a.Row], "", 1)]
		return v, ok
	}
	mine := slices.DeleteFunc(slices.Clone(p.models.Where("augmentation", label[a.Row])), func(m lines.Model) bool {
		_, ok := partner(m)
		return !ok
	})
	d := study.Comparison{Of: len(mine), Orders: 1, Note: fmt.Sprintf("over %d pairs", len(mine))}
	j, err := jackknife.Of(mine, []string{p.by.Lines}, func(models lines.Models) (float64, error) {
		own, other := 0., 0.
		for _, m := range models {
			v, _ := partner(m)
			own, other = own+m.Accuracies[a.Set].Share, other+v
		}
		n := float64(len(models))
		if len(models) == len(mine) {
			d.A, d.B = own/n, other/n
		}
		return (own - other) / n, nil
	})
	var few *lines.FewPoints
	if errors.As(err, &few) {
		return nil, nil
	}
	return at(d, j), err
}

func (p predictors) Mean(c study.Cell) (float64, bool, error) {
	of, group, err := p.statistic(c)
	if err != nil {
		return 0, false, err
	}
	v, err := of(slices.DeleteFunc(slices.Clone(p.models), func(m lines.Model) bool { return !group.Keep(m) }))
	return v, err == nil, nil
}

func (p predictors) Context(c study.Cell) study.Context {
	return study.Context{What: c.What, Unit: study.UnitOf(c.What), Set: c.Set, Sets: printedSets(c.Set, p.Severities),
		Data: "cifar10", Network: p.Network, Images: p.Images}
}

// ofPaper is how the numbers of the paper, and those of the networks that were released with it, were found.
var ofPaper = study.Settings{Data: "cifar10", Network: "full-width networks", Images: 10000, Decimals: 2,
	Severities: []int{1, 2, 3, 4, 5}}

// printedPredictors are the numbers of table 1, which are digits in lines.
func printedPredictors() map[study.Cell]study.PrintedNumber {
	all := map[study.Cell]study.PrintedNumber{}
	for key, cell := range lines.PublishedTable1() {
		for word, digits := range map[string]string{"r2": cell.R2, "slope": cell.Slope} {
			v, err := strconv.ParseFloat(digits, 64)
			if err != nil {
				panic(err) // a test of lines reads them
			}
			c := study.Cell{Row: key.Group, Set: key.Shift, What: word + " " + key.Predictor}
			all[c] = study.PrintedNumber{Cell: c, Value: v, Settings: ofPaper, Source: "Fridovich-Keil et al. 2022, table 1"}
		}
	}
	return all
}
