package nb

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/certspec/certspec/dataset"
)

// Data opens a data set by its name, such as fashionmnist/test. If it is not on this machine, the built-in drawn shapes
// stand in, and the first output of every cell says so. An error ends the cell.
func Data(name string) *dataset.Dataset {
	d, err := dataset.OpenOrSynthetic(name)
	if err != nil {
		end(err)
		return nil
	}
	if set, _, _ := strings.Cut(name, "/"); !strings.HasPrefix(d.String(), set+"/") {
		StandIn("Drawn shapes", name, "certspec dataset fetch "+set)
	}
	return d
}

// standIn is the class of the note that says that something stands in. certspec notebook run looks for it.
const standIn = "certspec-stand-in"

// standIns are the notes that Show has not shown yet; saidStandIns are all of this cell.
var standIns, saidStandIns []string

// StandIn has the next Show of this cell say that something stands in for the subject of its figures, and how to get
// that. A run at tier paper with such a note is not saved by certspec notebook run.
func StandIn(what, of, remedy string) {
	note := fmt.Sprintf("%s in place of %s, which is not on this machine: the figures say nothing about it. To get "+
		"it: %s", what, of, remedy)
	if !slices.Contains(saidStandIns, note) {
		standIns, saidStandIns = append(standIns, note), append(saidStandIns, note)
	}
}

// sayStandIns shows the notes.
func sayStandIns() {
	for _, note := range standIns {
		display(map[protocol.MIMEType]any{
			protocol.MIMETextPlain: note,
			protocol.MIMETextHTML:  fmt.Sprintf(`<p class="%s"><b>%s</b></p>`, standIn, html.EscapeString(note)),
		})
	}
	standIns = nil
}
