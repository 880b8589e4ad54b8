package schedule

import (
	"math"
	"strings"
	"testing"
)

func TestRates(t *testing.T) {
	clock := func(step int) Clock { return Clock{Step: step, Steps: 80, StepsPerEpoch: 10} }
	for _, c := range []struct {
		schedule Schedule
		step     int
		want     float64
	}{
		{cosine{}, 0, 0.2}, {cosine{}, 40, 0.1}, {cosine{}, 20, 0.2 * (1 + math.Sqrt2/2) / 2},
		{Steps{Milestones: []int{4, 6}, Divide: 10}, 39, 0.2}, {Steps{Milestones: []int{4, 6}, Divide: 10}, 40, 0.02},
		{Steps{Milestones: []int{4, 6}, Divide: 5}, 79, 0.008}, {Steps{Milestones: []int{4, 6}, Divide: 5, By: byStep}, 5, 0.04},
		{triangular{Peak: 0.25}, 9, 0.2 * 9.5 / 20}, {triangular{Peak: 0.25}, 19, 0.2 * 19.5 / 20}, {triangular{Peak: 0.25}, 20, 0.2 * 59.5 / 60},
		{triangular{Peak: 0.25}, 79, 0.2 * 0.5 / 60}, {triangular{Peak: 0}, 0, 0.2 * 79.5 / 80}, {triangular{Peak: 1}, 79, 0.2 * 79.5 / 80},
		{constant{}, 79, 0.2},
	} {
		if got := c.schedule.Rate(0.2, clock(c.step)); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%+v: rate %v at step %d, want %v", c.schedule, got, c.step, c.want)
		}
	}
}

func TestRamps(t *testing.T) {
	at := func(r Ramp, epoch, step int) float64 {
		return r.At(Clock{Step: 10*epoch + step, Steps: 100, StepsPerEpoch: 10})
	}
	for _, c := range []struct {
		ramp        Ramp
		epoch, step int
		want        float64
	}{
		{Ramp{To: 1}, 0, 0, 1}, {Ramp{To: 1, Over: 4}, 0, 9, 0.25}, {Ramp{To: 1, Over: 4}, 2, 0, 0.75}, {Ramp{To: 1, Over: 4}, 3, 0, 1}, {Ramp{To: 1, Over: 4}, 9, 0, 1},
		{Ramp{To: 1, Start: 2, Over: 4}, 1, 9, 0}, {Ramp{To: 1, Start: 2, Over: 4}, 2, 0, 0.25},
		{Ramp{From: 2, To: 1, Start: 1, Over: 2}, 0, 0, 2}, {Ramp{From: 2, To: 1, Start: 1, Over: 2}, 1, 0, 1.5},
		{Ramp{To: 1, Start: -2, Over: 4}, 0, 0, 0.75}, {Ramp{To: 1, Over: 20, By: byStep}, 0, 9, 0.5},
	} {
		if got := at(c.ramp, c.epoch, c.step); got != c.want {
			t.Errorf("%+v: %v in epoch %d, step %d; want %v", c.ramp, got, c.epoch, c.step, c.want)
		}
	}
	// The paper's rates on MNIST, of the mean loss: Bitterwolf et al. 2020, appendix.
	paper := Steps{Milestones: []int{50, 100, 200, 300, 350}, Divide: 5}
	for epoch, want := range map[int]float64{49: 0.005, 50: 0.001, 350: 1.6e-6} {
		if got := paper.Rate(0.005, Clock{Step: 468*epoch + 467, Steps: 468 * 420, StepsPerEpoch: 468}); math.Abs(got/want-1) > 1e-12 {
			t.Errorf("rate %v in epoch %d, want %v", got, epoch, want)
		}
	}
	// A ramp to ε over W epochs is ε·min(1, (e+1)/W), to float32, for the budgets and warm-ups of published recipes.
	for _, epsilon := range []float64{255. / 256, 0.25, 0.5, 1, 2, 64. / 255, 127. / 255} {
		for over := 1; over <= 200; over++ {
			for e := range over + 1 {
				want := float32(epsilon * math.Min(1, float64(e+1)/float64(over)))
				if got := (Ramp{To: epsilon, Over: over}).At(Clock{Step: e, Steps: 300, StepsPerEpoch: 1}); float32(got) != want {
					t.Fatalf("ε %v over %d: %v in epoch %d, want %v", epsilon, over, got, e, want)
				}
			}
		}
	}
}

func TestBadSettings(t *testing.T) {
	for want, err := range map[string]error{
		"over -1":                  Ramp{Over: -1}.Check(),
		"finite":                   Ramp{To: math.Inf(1)}.Check(),
		`counts by "week"`:         Ramp{By: "week"}.Check(),
		"divide is 0":              Check(Steps{}),
		"milestones [3 2]":         Check(Steps{Divide: 2, Milestones: []int{3, 2}}),
		"peak is NaN":              Check(triangular{Peak: math.NaN()}),
		`schedule step: it counts`: Check(Steps{Divide: 2, By: "year"}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
	if _, err := With("step", map[string]any{"divid": 3}); err == nil || !strings.Contains(err.Error(), `"divide" (the nearest)`) {
		t.Errorf("error %v", err)
	}
	if s, err := With("step", map[string]any{"divide": 5., "by": "step"}); err != nil || s.(Steps).Divide != 5 || s.(Steps).By != byStep {
		t.Errorf("%+v, %v", s, err)
	}
}
