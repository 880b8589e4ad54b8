package attack

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// APGD says how Auto-PGD runs. The zero value has the paper's settings for colour images.
type APGD struct {
	Steps    int // 0: 500
	Restarts int // 0: 5
	// half-width of the uniform noise of a start; 0: noise scaled to the edge of the box (the paper
	// takes .01 on MNIST)
	Near float64
}

// Checkpoints are the iterations at which Auto-PGD may halve its step: ⌈p_j·steps⌉ with p_0 = 0,
// p_1 = .22, p_{j+1} = p_j + max(p_j − p_{j−1} − .03, .06) (Croce and Hein 2020).
func Checkpoints(steps int) []int {
	var w []int
	for before, at := 0, 22; at < 100; { // in hundredths, so that no sum rounds
		w = append(w, (at*steps+99)/100)
		before, at = at, at+max(at-before-3, 6)
	}
	return w
}

// Run starts from noise around the problem's starts, and keeps the best of all restarts. Errors:
// those of the network, wrong sizes, negative numbers.
func (o APGD) Run(ctx context.Context, p Problem) ([]Best, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if o.Steps < 0 || o.Restarts < 0 || !(o.Near >= 0) {
		return nil, fmt.Errorf("attack: Auto-PGD with %d steps, %d restarts, starts within %v", o.Steps, o.Restarts,
			o.Near)
	}
	o.Steps = cmp.Or(o.Steps, 500)
	o.Restarts = cmp.Or(o.Restarts, 5)
	best, err := p.startsAlone(ctx)
	if err != nil {
		return nil, err
	}
	all := p // the restarts of all points, evaluated together
	all.Boxes = slices.Repeat(p.Boxes, o.Restarts)
	var points [][]float64
	for r := range o.Restarts {
		points = append(points, p.noisy(o.Near, r)...)
	}
	found, err := o.once(ctx, all, points)
	if err != nil {
		return nil, err
	}
	for restart := range slices.Chunk(found, max(len(best), 1)) {
		best = Better(best, restart)
	}
	return best, nil
}

func (p Problem) startsAlone(ctx context.Context) ([]Best, error) {
	points := make([][]float64, len(p.Starts))
	for i, x := range p.Starts {
		points[i] = slices.Clone(x)
		project(points[i], p.Boxes[i])
	}
	values, err := p.values(ctx, points)
	best := make([]Best, len(points))
	for i := range best {
		best[i] = Best{points[i], values[i]}
	}
	return best, err
}

// ascent is the state of Auto-PGD at one point.
type ascent struct {
	z, before      []float64
	value          float64
	gradient       []float64
	best           Best
	bestGradient   []float64
	step           float64
	increases      int     // since the last checkpoint
	bestAtLast     float64 // the best value at the last checkpoint
	halvedAtLast   bool
	checkpointsHad int
}

func (o APGD) once(ctx context.Context, p Problem, points [][]float64) ([]Best, error) {
	values, gradients, err := p.evaluate(ctx, points)
	if err != nil {
		return nil, err
	}
	state := make([]ascent, len(points))
	for i, z := range points {
		state[i] = ascent{z: z, before: z, value: values[i], gradient: gradients[i], best: Best{z, values[i]},
			bestGradient: gradients[i],
			step:         2 * halfWidth(p.Boxes[i]), bestAtLast: values[i]}
	}
	checkpoints := Checkpoints(o.Steps)
	last := 0
	for k := 1; k <= o.Steps; k++ {
		for i := range state {
			points[i] = state[i].move(p, i, k == 1)
		}
		if values, gradients, err = p.evaluate(ctx, points); err != nil {
			return nil, err
		}
		for i := range state {
			state[i].accept(points[i], values[i], gradients[i])
		}
		if len(checkpoints) > 0 && k == checkpoints[0] {
			for i := range state {
				state[i].checkpoint(k - last)
			}
			checkpoints, last = checkpoints[1:], k
		}
	}
	best := make([]Best, len(state))
	for i, s := range state {
		best[i] = s.best
	}
	return best, nil
}

// move is the next point, y = Π(z + η·sign ∇g), z' = Π(z + .75(y − z) + .25(z − z_before)); the first move goes to y.
func (s *ascent) move(p Problem, i int, first bool) []float64 {
	const momentum = 0.75
	next := make([]float64, len(s.z))
	for j, v := range s.z {
		next[j] = v + s.step*sign(s.gradient[j])
	}
	project(next, p.Boxes[i])
	if !first {
		for j, v := range s.z {
			next[j] = v + momentum*(next[j]-v) + (1-momentum)*(v-s.before[j])
		}
		project(next, p.Boxes[i])
	}
	return next
}

func (s *ascent) accept(z []float64, value float64, gradient []float64) {
	if value > s.value {
		s.increases++
	}
	s.before, s.z, s.value, s.gradient = s.z, z, value, gradient
	if value > s.best.Value {
		s.best, s.bestGradient = Best{z, value}, gradient
	}
}

// checkpoint halves the step and goes back to the best point where at most three quarters of the
// steps increased the value, or where, from the second checkpoint on, the step was not halved at
// the last one and the best value stood still since.
func (s *ascent) checkpoint(steps int) {
	few := 4*s.increases <= 3*steps
	still := s.checkpointsHad > 0 && !s.halvedAtLast && s.best.Value <= s.bestAtLast
	s.halvedAtLast = few || still
	if s.halvedAtLast {
		s.step /= 2
		s.z, s.before, s.value, s.gradient = s.best.Point, s.best.Point, s.best.Value, s.bestGradient
	}
	s.increases, s.bestAtLast = 0, s.best.Value
	s.checkpointsHad++
}
