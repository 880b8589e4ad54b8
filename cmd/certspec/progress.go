package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/certspec/certspec/progress"
)

// linePause is the time between two lines of progress where standard error is no terminal.
const linePause = 10 * time.Second

// terminalProgress shows long work on standard error: a bar where that is a terminal, else a plain
// line every ten seconds. Either leaves one last line behind.
func terminalProgress() progress.Reporter {
	if term.IsTerminal(int(os.Stderr.Fd())) {
		return barProgress(os.Stderr)
	}
	return lineProgress(os.Stderr, time.Now)
}

func barProgress(w io.Writer) progress.Reporter {
	const steps = 1000
	var bar *progressbar.ProgressBar
	return func(s progress.State) {
		if s.Final {
			if bar != nil {
				bar.Clear()
				bar = nil
			}
			fmt.Fprintln(w, progressLine(s))
			return
		}
		if bar == nil {
			length := int64(steps)
			if s.Total <= 0 {
				length = -1
			}
			bar = progressbar.NewOptions64(length,
				progressbar.OptionSetWriter(w),
				progressbar.OptionSetWidth(20),
				progressbar.OptionSetPredictTime(false),
				progressbar.OptionSetElapsedTime(false),
				progressbar.OptionShowDescriptionAtLineEnd())
		}
		if s.Total > 0 {
			// A bar that is full closes itself; it is closed by the final report.
			bar.Set64(min(steps-1, int64(steps*s.Done/s.Total)))
		}
		bar.Describe(progressLine(s))
	}
}

func lineProgress(w io.Writer, now func() time.Time) progress.Reporter {
	var last time.Time
	return func(s progress.State) {
		t := now()
		if last.IsZero() {
			last = t // work that is over at once leaves only its last line
		}
		if !s.Final && t.Sub(last) < linePause {
			return
		}
		last = t
		fmt.Fprintln(w, progressLine(s))
	}
}

// progressLine is e.g. "certify cifar10/test: 120 of 500 images, 1650 copies/s, 12m30s left, loss 0.81".
func progressLine(s progress.State) string {
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
