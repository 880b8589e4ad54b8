package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/progress"
)

// linePause is the time between two lines of progress where standard error is no terminal.
const linePause = 10 * time.Second

// progressVariable names the descriptor of a pipe that a calling program reads progress from.
const progressVariable = "CERTSPEC_PROGRESS_FD"

// Progress shows long work on standard error: a bar where that is a terminal, else a plain
// line every ten seconds. Either leaves one last line behind. A calling program gets JSON objects, a line each, through
// a pipe that it named in the environment.
func Progress() progress.Reporter {
	if pipe := progressPipe(); pipe != nil {
		return jsonProgress(pipe)
	}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		return barProgress(os.Stderr)
	}
	return lineProgress(os.Stderr, time.Now)
}

// progressPipe is opened once, as a file that nobody holds any more closes its descriptor.
var progressPipe = sync.OnceValue(func() *os.File {
	fd, err := strconv.Atoi(os.Getenv(progressVariable))
	if err != nil {
		return nil
	}
	pipe, err := inheritedPipe(fd)
	if err != nil {
		Say("warning: %s: %v", progressVariable, err)
	}
	return pipe
})

// jsonProgress writes states. A pipe that nobody reads any more stops no work.
func jsonProgress(w io.Writer) progress.Reporter {
	out := json.NewEncoder(w)
	return func(s progress.State) {
		out.Encode(map[string]any{
			"task": s.Task, "done": s.Done, "total": s.Total, "unit": s.Unit, "left": s.Left.Seconds(),
			"final":   s.Final,
			"message": s.Message, "text": s.String(),
		})
	}
}

func barProgress(w io.Writer) progress.Reporter {
	const steps = 1000
	var bar *progressbar.ProgressBar
	text := printable.NewWriter(w) // the bar itself moves the terminal
	return func(s progress.State) {
		if s.Message != "" {
			if bar != nil {
				bar.Clear()
			}
			fmt.Fprintln(text, "certspec:", s)
			return
		}
		if s.Final {
			if bar != nil {
				bar.Clear()
				bar = nil
			}
			fmt.Fprintln(text, s.String())
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
		bar.Describe(printable.Line(s.String()))
	}
}

func lineProgress(w io.Writer, now func() time.Time) progress.Reporter {
	w = printable.NewWriter(w)
	var last time.Time
	return func(s progress.State) {
		if s.Message != "" {
			fmt.Fprintln(w, "certspec:", s)
			return
		}
		t := now()
		if last.IsZero() {
			last = t // work that is over at once leaves only its last line
		}
		if !s.Final && t.Sub(last) < linePause {
			return
		}
		last = t
		fmt.Fprintln(w, s.String())
	}
}
