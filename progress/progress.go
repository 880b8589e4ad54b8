// Package progress carries the state of long work to whoever shows it.
// Packages that compute take a Reporter and know nothing of terminals or notebooks.
package progress

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// State is a snapshot of long work.
type State struct {
	Task     string        // what runs, e.g. "certify fashionmnist/test"
	Done     float64       // units finished, those of earlier, resumed runs included
	Total    float64       // units in all; 0 if unknown
	Unit     string        // plural noun of a unit, e.g. "images"
	Rate     float64       // units of RateUnit per second in this run; 0 if not yet known
	RateUnit string        // plural noun of what Rate counts, e.g. "samples"; empty for Unit
	Left     time.Duration // estimated time left; negative if unknown
	Note     string        // one short remark, e.g. "loss 0.812"
	Final    bool          // the last report of this work, finished or stopped
	Message  string        // not empty: what a person should know, at once and in full; then all else is empty
}

// String is e.g. "certify cifar10/test: 120 of 500 images, 1650 samples/s, 12m30s left, loss 0.81".
// A message is its words.
func (s State) String() string {
	if s.Message != "" {
		return s.Message
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", s.Task)
	if s.Total > 0 {
		fmt.Fprintf(&b, "%s of %s %s", tenths(s.Done), tenths(s.Total), s.Unit)
	} else {
		fmt.Fprintf(&b, "%s %s", tenths(s.Done), s.Unit)
	}
	if s.Rate > 0 {
		unit := s.RateUnit
		if unit == "" {
			unit = s.Unit
		}
		rate := tenths(s.Rate)
		if s.Rate >= 100 {
			rate = strconv.FormatFloat(s.Rate, 'f', 0, 64)
		}
		fmt.Fprintf(&b, ", %s %s/s", rate, unit)
	}
	if !s.Final && s.Left > 0 {
		fmt.Fprintf(&b, ", %v left", s.Left.Round(time.Second))
	}
	if s.Note != "" {
		fmt.Fprintf(&b, ", %s", s.Note)
	}
	return b.String()
}

// tenths prints v, cut to one decimal, without a needless zero.
func tenths(v float64) string { return strconv.FormatFloat(math.Floor(v*10)/10, 'f', -1, 64) }

// Reporter receives snapshots, from one goroutine at a time, at most about ten a second.
// A nil Reporter is never called.
type Reporter func(State)

// Say reports a message: a slow engine, classes without an image. A nil Reporter tells nobody.
func (r Reporter) Say(format string, args ...any) {
	if r != nil {
		r(State{Message: fmt.Sprintf(format, args...)})
	}
}

// Messages is a Reporter that hands messages to a function such as log.Printf or a test's Logf, and shows no states.
func Messages(printf func(format string, args ...any)) Reporter {
	return func(s State) {
		if s.Message != "" {
			printf("%s", s.Message)
		}
	}
}
