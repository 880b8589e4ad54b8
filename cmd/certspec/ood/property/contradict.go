package property

import (
	"math/big"
	"slices"
)

// contradict reports that no values meet all conditions, whatever the network (Fourier and Motzkin's elimination,
// in rational numbers). Conditions of which too many others follow are not looked through; they count as possible.
func contradict(conditions []Condition) bool {
	const most = 512
	if len(conditions) < 2 {
		return false
	}
	var left []inequality // Σ y·Y + number ≤ 0, or < 0
	open := map[int]bool{}
	for _, q := range conditions {
		exact := q.rational()
		left = append(left, exact)
		for i := range exact.y {
			open[i] = true
		}
	}
	for len(open) > 0 {
		at, cost := -1, 0
		for i := range open {
			up, down := 0, 0
			for _, q := range left {
				switch f := q.y[i]; {
				case f == nil:
				case f.Sign() > 0:
					up++
				default:
					down++
				}
			}
			if at < 0 || up*down-up-down < cost || up*down-up-down == cost && i < at {
				at, cost = i, up*down-up-down
			}
		}
		if len(left)+cost > most {
			return false
		}
		delete(open, at)
		left = eliminate(left, at)
	}
	return slices.ContainsFunc(left, func(q inequality) bool {
		return q.number.Sign() > 0 || q.strict && q.number.Sign() == 0
	})
}

// eliminate gives what inequalities say of the other variables.
func eliminate(all []inequality, at int) (out []inequality) {
	var up, down []inequality
	for _, q := range all {
		switch f := q.y[at]; {
		case f == nil:
			out = append(out, q)
		case f.Sign() > 0:
			up = append(up, q)
		default:
			down = append(down, q)
		}
	}
	for _, a := range up {
		for _, b := range down {
			sum := inequality{linear: linear{y: map[int]*big.Rat{}, number: new(big.Rat)}, strict: a.strict || b.strict}
			sum.add(a.linear, new(big.Rat).Neg(b.y[at]))
			sum.add(b.linear, a.y[at])
			prune(sum.y)
			out = append(out, sum)
		}
	}
	return out
}
