package nb

import "github.com/janpfeifer/gonb/gonbui/protocol"

// Listed are the figures of the gallery: name, sentence and lines.
func Listed() (all [][3]string) {
	for _, e := range gallery() {
		all = append(all, [3]string{e.name, e.says, e.code})
	}
	return all
}

// Shown is what a function shows in a page.
func Shown(show func()) (all []map[protocol.MIMEType]any) {
	before := send
	inNotebook, send = true, func(d *protocol.DisplayData) { all = append(all, d.Data) }
	defer func() { inNotebook, send = false, before }()
	show()
	return all
}
