package experiment

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// grid lists the points of a recipe's grid, with the values of the tier where it has some.
func (s *Setup) grid(r Recipe) []map[string]float64 {
	if len(r.Grid) == 0 {
		return nil
	}
	points := []map[string]float64{{}}
	for _, key := range slices.Sorted(maps.Keys(r.Grid)) {
		values := r.Grid[key]
		if few, ok := s.Tier.Grid[key]; ok {
			values = few
		}
		var next []map[string]float64
		for _, p := range points {
			for _, v := range values {
				one := maps.Clone(p)
				one[key] = v
				next = append(next, one)
			}
		}
		points = next
	}
	if r.Draws > 0 && len(points) > r.Draws {
		drawn := rand.New(rand.NewPCG(1, 0)).Perm(len(points))[:r.Draws]
		slices.Sort(drawn)
		var few []map[string]float64
		for _, i := range drawn {
			few = append(few, points[i])
		}
		points = few
	}
	return points
}
