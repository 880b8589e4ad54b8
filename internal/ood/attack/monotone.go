package attack

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Monotone says how monotone PGD runs: every accepted step raises the value. The zero value has the paper's settings.
type Monotone struct {
	Steps    int     // 0: 200
	Step     float64 // the first; 0: .1
	Momentum float64 // 0: .9
	Velocity bool    // move along the velocity itself, not along its sign
}

// Run starts from the problem's starts, as they are.
//
// A step proposes z' = Π(z + η·D(v')), v' = .9 v + ∇g(z), with D the sign or nothing. If the value
// grows, z', v' and 1.1 η are taken; else z and v stay and η is halved. A point is done where η <
// 10⁻⁶ or its gradient is zero. The gradient always belongs to the accepted point. Errors: those of
// the network, wrong sizes, negative numbers.
func (o Monotone) Run(ctx context.Context, p Problem) ([]Best, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if o.Steps < 0 || !(o.Step >= 0) || !(o.Momentum >= 0 && o.Momentum < 1) {
		return nil, fmt.Errorf("attack: monotone PGD with %d steps of %v and momentum %v", o.Steps, o.Step, o.Momentum)
	}
	o.Steps = cmp.Or(o.Steps, 200)
	o.Step = cmp.Or(o.Step, 0.1)
	o.Momentum = cmp.Or(o.Momentum, 0.9)
	points := make([][]float64, len(p.Starts))
	for i, x := range p.Starts {
		points[i] = slices.Clone(x)
		project(points[i], p.Boxes[i])
	}
	values, gradients, err := p.evaluate(ctx, points)
	if err != nil {
		return nil, err
	}
	state := make([]climb, len(points))
	for i, z := range points {
		state[i] = climb{Best: Best{z, values[i]}, gradient: gradients[i], velocity: make([]float64, len(z)),
			step: o.Step}
	}
	for range o.Steps {
		var active []int
		for i := range state {
			if !state[i].done() {
				active = append(active, i)
			}
		}
		if len(active) == 0 {
			break
		}
		sub := Problem{Network: p.Network, Objective: p.Objective}
		candidates, velocities := make([][]float64, len(active)), make([][]float64, len(active))
		for k, i := range active {
			candidates[k], velocities[k] = state[i].propose(o, p, i)
		}
		values, gradients, err := sub.evaluate(ctx, candidates)
		if err != nil {
			return nil, err
		}
		for k, i := range active {
			state[i].judge(candidates[k], velocities[k], values[k], gradients[k])
		}
	}
	best := make([]Best, len(state))
	for i, s := range state {
		best[i] = s.Best
	}
	return best, nil
}

// climb is the state of monotone PGD at one point: the accepted point with its gradient and velocity.
type climb struct {
	Best
	gradient, velocity []float64
	step               float64
}

func (s *climb) done() bool {
	return s.step < 1e-6 || !slices.ContainsFunc(s.gradient, func(v float64) bool { return v != 0 })
}

func (s *climb) propose(o Monotone, p Problem, i int) (z, velocity []float64) {
	z, velocity = make([]float64, len(s.Point)), make([]float64, len(s.Point))
	for j, v := range s.Point {
		velocity[j] = o.Momentum*s.velocity[j] + s.gradient[j]
		d := velocity[j]
		if !o.Velocity {
			d = sign(d)
		}
		z[j] = v + s.step*d
	}
	project(z, p.Boxes[i])
	return z, velocity
}

func (s *climb) judge(z, velocity []float64, value float64, gradient []float64) {
	if value > s.Value {
		s.Best, s.gradient, s.velocity = Best{z, value}, gradient, velocity
		s.step *= 1.1
		return
	}
	s.step /= 2
}
