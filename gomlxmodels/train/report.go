package train

import (
	"fmt"
	"time"

	"github.com/certspec/certspec/progress"
)

// report tells the Reporter how far the run is, about ten times a second.
type report struct {
	plan  *plan
	start time.Time
	// steps before start, which the first step of this process ends: it compiles, and its rate
	// would promise hours
	from int
	last time.Time
	loss float64 // moving average
}

func newReport(p *plan, s *state) *report {
	return &report{plan: p, from: s.Step + 1}
}

func (r *report) step(s *state, loss float64) {
	const weight = 0.05
	if r.loss == 0 {
		r.loss = loss
	}
	r.loss += weight * (loss - r.loss)
	if s.Step == r.from {
		r.start = time.Now()
	}
	if time.Since(r.last) < 100*time.Millisecond {
		return
	}
	r.last = time.Now()
	r.send(s, false)
}

func (r *report) final(s *state) { r.send(s, true) }

func (r *report) send(s *state, final bool) {
	p := r.plan
	if p.options.Progress == nil {
		return
	}
	batch := float64(p.run.Recipe.BatchSize)
	st := progress.State{
		Task:  fmt.Sprintf("train %s on %s", p.run.Architecture.Name, p.run.Train.Name),
		Done:  float64(s.Step) * batch,
		Total: float64(p.steps) * batch,
		Unit:  "images",
		Left:  -1,
		Note: fmt.Sprintf("epoch %d of %d%s, loss %.3f", min(s.Step/p.stepsPerEpoch+1, p.steps/p.stepsPerEpoch),
			p.steps/p.stepsPerEpoch, p.roundNote(s), r.loss),
		Final: final,
	}
	if taken := s.Step - r.from; taken > 0 {
		st.Rate = float64(taken) * batch / time.Since(r.start).Seconds()
		st.Left = time.Duration(float64(p.steps-s.Step) * batch / st.Rate * float64(time.Second))
	}
	p.options.Progress(st)
}

// roundNote says in which of several trainings of a pruning the run is.
func (p *plan) roundNote(s *state) string {
	if len(p.phases) < 2 {
		return ""
	}
	at, now := p.phaseAt(min(s.Step, p.steps-1))
	return fmt.Sprintf(", training %d of %d at sparsity %.3g", at+1, len(p.phases), now.Sparsity)
}
