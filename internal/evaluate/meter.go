package evaluate

import (
	"time"

	"github.com/certspec/certspec/progress"
)

// meter reports how many images are done.
type meter struct {
	report      progress.Reporter
	task        string
	done, fresh int // fresh: in this run
	total       int
	start, last time.Time
}

func (m *meter) add(images int, fresh bool) {
	m.done += images
	if fresh {
		m.fresh += images
	}
	if now := time.Now(); m.report != nil && now.Sub(m.last) > 200*time.Millisecond {
		m.last = now
		m.say(false)
	}
}

func (m *meter) say(final bool) {
	if m.report == nil {
		return
	}
	s := progress.State{Task: m.task, Done: float64(m.done), Total: float64(m.total), Unit: "images", Left: -1,
		Final: final}
	if m.fresh > 0 {
		s.Rate = float64(m.fresh) / max(time.Since(m.start).Seconds(), 1e-9)
		s.Left = time.Duration(float64(m.total-m.done) / s.Rate * float64(time.Second))
	}
	m.report(s)
}
