// Package certified puts certified accuracies on the line: of smoothed classifiers certified on a test set and under a shift,
// at equal radii, as points for package lines.
//
// Both accuracies of a point are certified, each image with the probability α of its run. The line through the points of
// several models, and what stands above it, are estimates.
package certified

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/certlog"
)

// Model is a smoothed classifier with its certificates.
type Model struct {
	Name    string
	Clean   rs.Rows
	Shifted map[Cell]rs.Rows
}

// Cell is a corruption at a severity.
type Cell struct {
	Corruption string
	Severity   int // 0: none is said
}

// ReadLogs reads published logs from a folder with clean/MODEL.tsv and corrupted/MODEL/severity_S/CORRUPTION.tsv. Errors: a model
// that lacks one of the two, logs that certlog refuses.
func ReadLogs(root string) ([]Model, error) {
	files, err := filepath.Glob(filepath.Join(escape(root), "clean", "*.tsv"))
	if err != nil {
		return nil, fmt.Errorf("certified: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("certified: %s: no logs clean/MODEL.tsv", root)
	}
	var models []Model
	for _, file := range files {
		m := Model{Name: strings.TrimSuffix(filepath.Base(file), ".tsv"), Shifted: map[Cell]rs.Rows{}}
		if m.Clean, err = rows(file); err != nil {
			return nil, err
		}
		cells, err := filepath.Glob(filepath.Join(escape(root), "corrupted", escape(m.Name), "severity_*", "*.tsv"))
		if err != nil || len(cells) == 0 {
			return nil, fmt.Errorf("certified: %s: no logs corrupted/%s/severity_S/CORRUPTION.tsv", root, m.Name)
		}
		for _, cell := range cells {
			severity, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(cell)), "severity_"))
			if err != nil {
				return nil, fmt.Errorf("certified: %s: its folder is not severity_ and a number", cell)
			}
			key := Cell{strings.TrimSuffix(filepath.Base(cell), ".tsv"), severity}
			if m.Shifted[key], err = rows(cell); err != nil {
				return nil, err
			}
		}
		models = append(models, m)
	}
	return models, nil
}

func rows(file string) (rs.Rows, error) {
	log, err := certlog.Open(file)
	if err != nil {
		return nil, fmt.Errorf("certified: %w", err)
	}
	return log.Rows, nil
}

// escape keeps a path's own letters from being a pattern.
func escape(path string) string {
	if os.PathSeparator == '\\' {
		return path
	}
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(path)
}

// Corruptions are the corruptions of all models, sorted.
func Corruptions(models []Model) []string {
	set := map[string]bool{}
	for _, m := range models {
		for cell := range m.Shifted {
			set[cell.Corruption] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// Points are, for each radius and model, the certified accuracy on the clean set and, pooled over the cells whose corruption is
// taken (nil: all), under shift; each point fits the line of its radius. Where there are several radii, all points stand a
// second time in the group "all". Images are those of the base set: an id is taken modulo period, as logs number the
// severities of one set through (10,000 for CIFAR-10-C); 0: ids are images.
//
// Errors: no radius or a negative one, one above the largest that a model's clean run certified, models without the
// cells, cells of one model over other images than those of another.
func Points(models []Model, radii []float64, corruptions []string, period int) ([]lines.Point, error) {
	if len(radii) == 0 {
		return nil, fmt.Errorf("certified: no radius")
	}
	var out []lines.Point
	for _, r := range radii {
		for _, m := range models {
			p, err := m.point(r, corruptions, period)
			if err != nil {
				return nil, err
			}
			p.Group = strconv.FormatFloat(r, 'g', -1, 64)
			out = append(out, p)
		}
	}
	if err := sameImages(out); err != nil {
		return nil, err
	}
	if len(radii) > 1 {
		for _, p := range slices.Clone(out) {
			p.Group = "all"
			out = append(out, p)
		}
	}
	return out, nil
}

func (m Model) point(r float64, corruptions []string, period int) (lines.Point, error) {
	if !(r >= 0) {
		return lines.Point{}, fmt.Errorf("certified: radius %v, want 0 or more", r)
	}
	largest := 0.0
	for _, row := range m.Clean {
		largest = max(largest, row.Radius)
	}
	if r > largest {
		return lines.Point{}, fmt.Errorf("certified: radius %v is above %v, the largest that the run of %s certified", r, largest, m.Name)
	}
	var shifted rs.Rows
	for _, cell := range slices.SortedFunc(maps.Keys(m.Shifted), func(a, b Cell) int {
		return strings.Compare(fmt.Sprintf("%s/%03d", a.Corruption, a.Severity), fmt.Sprintf("%s/%03d", b.Corruption, b.Severity))
	}) {
		if corruptions == nil || slices.Contains(corruptions, cell.Corruption) {
			shifted = append(shifted, m.Shifted[cell]...)
		}
	}
	if len(shifted) == 0 {
		return lines.Point{}, fmt.Errorf("certified: %s has no images under %s", m.Name, strings.Join(corruptions, ", "))
	}
	p := lines.Point{Model: m.Name, Fits: true, Radius: r}
	p.X, p.XImages = accuracy(m.Clean, r, 0)
	p.Y, p.YImages = accuracy(shifted, r, period)
	return p, nil
}

// accuracy is the certified accuracy at r, and the share of each image's rows that are, by image in ascending order.
func accuracy(rows rs.Rows, r float64, period int) (lines.Accuracy, []float64) {
	hits, all := map[int]float64{}, map[int]float64{}
	k := 0
	for _, row := range rows {
		image := row.Image
		if period > 0 {
			image %= period
		}
		all[image]++
		if row.Correct() && row.Radius >= r {
			hits[image]++
			k++
		}
	}
	var shares []float64
	for _, image := range slices.Sorted(maps.Keys(all)) {
		shares = append(shares, hits[image]/all[image])
	}
	return lines.Accuracy{Share: float64(k) / float64(len(rows)), N: len(rows)}, shares
}

// sameImages wants equal numbers of images on each axis, which intervals over images share between models.
func sameImages(points []lines.Point) error {
	for _, p := range points {
		if first := points[0]; len(p.XImages) != len(first.XImages) || len(p.YImages) != len(first.YImages) {
			return fmt.Errorf("certified: %s was certified on %d clean and %d shifted images, %s on %d and %d", first.Model, len(first.XImages), len(first.YImages), p.Model, len(p.XImages), len(p.YImages))
		}
	}
	return nil
}

// Prediction says how well the certified accuracy under one corruption is foretold for a model that is left out, over all pairs of
// models and corruptions.
type Prediction struct {
	Radius   float64 `json:"radius"`
	Pairs    int     `json:"pairs"`
	Within   float64 `json:"within"`     // the tolerance, in accuracy
	Line     float64 `json:"line"`       // share of pairs that the line through the other models meets
	Same     float64 `json:"same"`       // share that "the same as on clean images" meets
	MeanDrop float64 `json:"mean_drop"`  // share that "the others' mean drop" meets
	LineMAE  float64 `json:"line_error"` // mean absolute error of the line, in accuracy
}

// LeaveOneOut predicts, for each corruption and model, the certified accuracy at a radius from the line through all other models,
// and counts how often it is met within a tolerance. Errors: those of Points, fewer than four models.
func LeaveOneOut(models []Model, radius, within float64, period int) (Prediction, error) {
	out := Prediction{Radius: radius, Within: within}
	if len(models) < 4 {
		return out, fmt.Errorf("certified: %d models, want at least 4 to leave one out", len(models))
	}
	var line, same, drop int
	for _, corruption := range Corruptions(models) {
		points, err := Points(models, []float64{radius}, []string{corruption}, period)
		if err != nil {
			return out, err
		}
		for left, p := range points {
			var x, y []float64
			meanDrop := 0.0
			for i, other := range points {
				if i == left {
					continue
				}
				x, y = append(x, lines.Probit(clip(other.X))), append(y, lines.Probit(clip(other.Y)))
				meanDrop += (other.X.Share - other.Y.Share) / float64(len(points)-1)
			}
			l, err := lines.LeastSquares(x, y)
			if err != nil {
				return out, fmt.Errorf("certified: %s at radius %v: %w", corruption, radius, err)
			}
			out.Pairs++
			miss := lines.Phi(l.At(lines.Probit(clip(p.X)))) - p.Y.Share
			out.LineMAE += max(miss, -miss)
			line += hit(miss, within)
			same += hit(p.X.Share-p.Y.Share, within)
			drop += hit(p.X.Share-meanDrop-p.Y.Share, within)
		}
	}
	n := float64(out.Pairs)
	out.Line, out.Same, out.MeanDrop, out.LineMAE = float64(line)/n, float64(same)/n, float64(drop)/n, out.LineMAE/n
	return out, nil
}

func hit(miss, within float64) int {
	if miss <= within && miss >= -within {
		return 1
	}
	return 0
}

// clip is the half-count clip.
func clip(a lines.Accuracy) float64 {
	half := 0.5 / float64(a.N)
	return min(max(a.Share, half), 1-half)
}
