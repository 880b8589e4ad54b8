package nb

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/certspec/certspec/internal/atomicfile"
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
		if !s.Final && s.Message == "" && time.Since(last) < every {
			return
		}
		last = time.Now()
		pass(s)
		switch {
		case !inNotebook:
			fmt.Fprintln(os.Stderr, s)
		case !s.Final:
			shown = true
			update(id, progressHTML(s))
		case shown:
			update(id, "")
		}
	}
}

// progressVariable is the environment variable that names a file for the progress of a notebook
// that runs without a browser, as JSON; certspec notebook run shows it on the terminal.
const progressVariable = "CERTSPEC_PROGRESS"

func pass(s progress.State) {
	file := os.Getenv(progressVariable)
	if data, err := json.Marshal(s); file != "" && err == nil {
		_ = atomicfile.Write(file, data) // progress that cannot be shown is no reason to stop
	}
}

func update(id, html string) {
	send(&protocol.DisplayData{Data: map[protocol.MIMEType]any{protocol.MIMETextHTML: html}, DisplayID: id})
}

func progressHTML(s progress.State) string {
	if s.Message != "" {
		return html.EscapeString(s.Message)
	}
	bar := "<progress></progress>"
	if s.Total > 0 {
		bar = fmt.Sprintf(`<progress value="%.0f" max="%.0f"></progress>`, s.Done, s.Total)
	}
	return bar + " " + html.EscapeString(s.String())
}
