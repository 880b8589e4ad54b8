package nb

import (
	"fmt"
	"html"
	"os"
	"strings"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/certspec/certspec/progress"
)

// Progress shows long work in one element of the page, which is updated in place and emptied at
// the end, so that a saved notebook keeps no trail of it. In an ordinary program it writes
// a line to standard error about every ten seconds.
func Progress() progress.Reporter {
	id := "progress-" + gonbui.UniqueId()
	var last time.Time
	shown := false
	return func(s progress.State) {
		every := 500 * time.Millisecond
		if !inNotebook {
			every = 10 * time.Second
		}
		if !s.Final && time.Since(last) < every {
			return
		}
		last = time.Now()
		switch {
		case !inNotebook:
			fmt.Fprintln(os.Stderr, progressLine(s))
		case !s.Final:
			shown = true
			update(id, progressHTML(s))
		case shown:
			update(id, "")
		}
	}
}

func update(id, html string) {
	send(&protocol.DisplayData{Data: map[protocol.MIMEType]any{protocol.MIMETextHTML: html}, DisplayID: id})
}

func progressHTML(s progress.State) string {
	bar := "<progress></progress>"
	if s.Total > 0 {
		bar = fmt.Sprintf(`<progress value="%.0f" max="%.0f"></progress>`, s.Done, s.Total)
	}
	return bar + " " + html.EscapeString(progressLine(s))
}

// progressLine is e.g. "certify fashionmnist/test: 120 of 500 images, 41200 copies/s, 31s left, loss 0.81".
func progressLine(s progress.State) string {
	amount := fmt.Sprintf("%.0f", s.Done)
	if s.Total > 0 {
		amount += fmt.Sprintf(" of %.0f", s.Total)
	}
	parts := []string{s.Task + ": " + amount + " " + s.Unit}
	if s.Rate > 0 {
		unit := s.RateUnit
		if unit == "" {
			unit = s.Unit
		}
		digits := 0
		if s.Rate < 10 {
			digits = 1
		}
		parts = append(parts, fmt.Sprintf("%.*f %s/s", digits, s.Rate, unit))
	}
	if s.Left > 0 {
		parts = append(parts, s.Left.Round(time.Second).String()+" left")
	}
	if s.Note != "" {
		parts = append(parts, s.Note)
	}
	return strings.Join(parts, ", ")
}
