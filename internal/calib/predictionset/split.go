package predictionset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/certspec/certspec/calib"
)

// Score says how strange a class is for a row of probabilities; large is strange.
type Score string

// The scores of the field. With p_(1) ≥ p_(2) ≥ … the probabilities in order, r the rank of the class
// and u uniform on [0, 1], drawn once for a row:
const (
	LAC  Score = "lac"  // LAC is 1 − p of the class (Sadinle, Lei and Wasserman 2019)
	APS  Score = "aps"  // APS is p_(1) + … + p_(r−1) + u·p_(r) (Romano, Sesia and Candès 2020)
	RAPS Score = "raps" // RAPS is APS + 0.01·max(0, r − 5) (Angelopoulos et al. 2021)
)

// Scores are all of them.
var Scores = []Score{LAC, APS, RAPS}

// Split are the sets of plain split conformal prediction: they hold the label of an image as it is, and
// nothing is said of a radius.
type Split struct {
	Calibration int       `json:"calibration"` // rows
	Test        int       `json:"test"`
	Classes     int       `json:"classes"`
	Miscoverage float64   `json:"miscoverage"`
	Seed        uint64    `json:"seed"`
	Needed      int       `json:"needed"` // calibration rows for a threshold
	Sets        []OfScore `json:"sets"`
}

// OfScore are the sets by a score.
type OfScore struct {
	Score     Score      `json:"score"`
	Threshold *float64   `json:"threshold"` // nil: every class is in every set
	Coverage  float64    `json:"coverage"`  // share of the test rows whose set holds the label
	Range     [2]float64 `json:"range"`     // in which that falls with 95 %; see CoverageRange
	Size      float64    `json:"mean_size"`
	Largest   int        `json:"largest"`
	Empty     float64    `json:"empty"` // share of the sets without a class
}

// SplitSets parts rows of probabilities at random into those that calibrate and those that are
// tested, and makes the sets of the latter by each score. The seed decides the parting and u.
//
// Errors: those of Probabilities.Check; a miscoverage outside (0, 1), and a number of calibration rows
// that leaves none to calibrate or to test, as *calib.InputError.
func SplitSets(p calib.Probabilities, calibration int, miscoverage float64, seed uint64, scores ...Score) (*Split,
	error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	rows := len(p.Labels)
	switch {
	case !(miscoverage > 0 && miscoverage < 1):
		return nil, invalid("miscoverage", miscoverage, "a number between 0 and 1")
	case calibration < 1 || calibration >= rows:
		return nil, invalid("calibrate", calibration, fmt.Sprintf("1 to %d of the %d rows", rows-1, rows))
	}
	rng := rand.New(rand.NewPCG(seed, 0x5e75))
	order, u := rng.Perm(rows), make([]float64, rows)
	for i := range u {
		u[i] = rng.Float64()
	}
	level := 1 - miscoverage
	s := &Split{Calibration: calibration, Test: rows - calibration, Classes: p.Classes, Miscoverage: miscoverage,
		Seed: seed, Needed: LeastCalibration(level)}
	low, high, err := CoverageRange(s.Calibration, s.Test, level, 0.95)
	if err != nil {
		return nil, err
	}
	for _, score := range scores {
		of := make([]float64, calibration)
		for i, row := range order[:calibration] {
			of[i] = strange(score, rowOf(p, row), u[row])[p.Labels[row]]
		}
		at, err := Threshold(of, level)
		if err != nil {
			return nil, err
		}
		out := OfScore{Score: score, Range: [2]float64{float64(low) / float64(s.Test), float64(high) / float64(s.Test)}}
		if !math.IsInf(at, 1) {
			out.Threshold = &at
		}
		for _, row := range order[calibration:] {
			size := 0
			for class, value := range strange(score, rowOf(p, row), u[row]) {
				if value > at {
					continue
				}
				if size++; class == p.Labels[row] {
					out.Coverage++
				}
			}
			out.Size += float64(size)
			if out.Largest = max(out.Largest, size); size == 0 {
				out.Empty++
			}
		}
		for _, share := range []*float64{&out.Coverage, &out.Size, &out.Empty} {
			*share /= float64(s.Test)
		}
		s.Sets = append(s.Sets, out)
	}
	return s, nil
}

func rowOf(p calib.Probabilities, i int) []float64 { return p.P[i*p.Classes : (i+1)*p.Classes] }

// strange is the score of each class.
func strange(score Score, row []float64, u float64) []float64 {
	values := make([]float64, len(row))
	if score == LAC {
		for class, p := range row {
			values[class] = 1 - p
		}
		return values
	}
	order := make([]int, len(row))
	for class := range order {
		order[class] = class
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case row[a] > row[b]:
			return -1
		case row[a] < row[b]:
			return 1
		}
		return 0
	})
	before := 0.0
	for place, class := range order {
		values[class] = before + u*row[class]
		if score == RAPS {
			values[class] += 0.01 * float64(max(0, place+1-5))
		}
		before += row[class]
	}
	return values
}
