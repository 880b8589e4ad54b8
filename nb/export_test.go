package nb

import (
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/certspec/certspec/internal/testkit/boxes"
)

// Listed are the figures of the gallery: name, sentence and lines.
func Listed() (all [][3]string) {
	for _, e := range gallery() {
		all = append(all, [3]string{e.name, e.says, e.code})
	}
	return all
}

// Shown is the output of a function in a page.
func Shown(show func()) (all []map[protocol.MIMEType]any) {
	before := send
	inNotebook, send = true, func(d *protocol.DisplayData) { all = append(all, d.Data) }
	defer func() { inNotebook, send = false, before }()
	show()
	return all
}

// FaultsOf are the texts that are clipped or collide in the figures that a function shows, as they are and in each
// style.
func FaultsOf(t *testing.T, show func()) (faults []string) {
	t.Helper()
	var figures []*Figure
	shownFigure = func(f *Figure) { figures = append(figures, f) }
	defer func() { shownFigure = func(*Figure) {} }()
	Shown(show)
	for _, f := range figures {
		for style, of := range map[string]*Figure{"as it is": f, "one column": f.Paper(1), "two columns": f.Paper(2),
			"talk": f.Talk(), "poster": f.Poster()} {
			drawing, err := of.svg()
			if err != nil {
				t.Fatal(err)
			}
			found, err := boxes.Faults(drawing)
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range found {
				faults = append(faults, style+": "+fault)
			}
		}
	}
	return faults
}
