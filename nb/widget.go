package nb

import (
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"strings"

	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// Slider chooses one of some values.
type Slider struct {
	Name   string
	Values []string
	Start  int // index of the value that is shown first

	numbers []float64 // of Slide; nil: it is over words
}

// Widget is an element of the page that shows one of many prepared pictures, chosen by sliders. All of them are in the
// page, so that it works as well in a saved page as in a live notebook, and asks no kernel. Without
// JavaScript it shows its first picture, and Show adds the static form.
type Widget struct {
	Caption string
	Sliders []Slider
	// Frame is the picture for a choice of values, one index per slider, as pieces of HTML that are put together.
	// A piece that occurs in several pictures is stored once.
	Frame  func(at []int) []string
	Static []any // what tells the same without sliders, as Show takes it
}

// String is the caption.
func (w *Widget) String() string { return w.Caption }

//go:embed widget.js
var widgetScript string

type widgetData struct {
	Values [][]string `json:"values"` // of each slider
	Pieces []string   `json:"pieces"`
	Frames [][]int    `json:"frames"` // of each choice, the last slider varying fastest: its pieces
}

func (w *Widget) data() (data widgetData, start int) {
	choices := 1
	for _, s := range w.Sliders {
		data.Values = append(data.Values, s.Values)
		choices *= len(s.Values)
		start = start*len(s.Values) + s.Start
	}
	index := map[string]int{}
	at := make([]int, len(w.Sliders))
	for choice := range choices {
		rest := choice
		for s := len(at) - 1; s >= 0; s-- {
			at[s], rest = rest%len(w.Sliders[s].Values), rest/len(w.Sliders[s].Values)
		}
		var frame []int
		for _, piece := range w.Frame(at) {
			i, known := index[piece]
			if !known {
				i = len(data.Pieces)
				index[piece], data.Pieces = i, append(data.Pieces, piece)
			}
			frame = append(frame, i)
		}
		data.Frames = append(data.Frames, frame)
	}
	return data, start
}

// HTML is the widget for a page.
func (w *Widget) HTML() (string, error) {
	for _, s := range w.Sliders {
		if s.Start < 0 || s.Start >= len(s.Values) {
			return "", fmt.Errorf("slider %s starts at value %d of %d", s.Name, s.Start, len(s.Values))
		}
	}
	data, start := w.data()
	encoded, err := json.Marshal(data) // escapes <, > and &, so that it cannot end the script
	if err != nil {
		return "", err
	}
	// Named by its content, so that a run that computes the same writes the same file.
	id := fmt.Sprintf("%x", sha256.Sum256(encoded))[:16]
	var b strings.Builder
	fmt.Fprintf(&b, "<div data-certspec-widget=\"%s\" style=\"font-family:sans-serif\">\n<div>\n", id)
	for _, s := range w.Sliders {
		fmt.Fprintf(&b, "<label style=\"display:inline-block;min-width:16em;margin-right:1em\">%s "+
			"<input type=\"range\" min=\"0\" max=\"%d\" step=\"1\" value=\"%d\" disabled "+
			"data-lm-suppress-shortcuts=\"true\" "+ // JupyterLab leaves the arrow keys to it
			"style=\"vertical-align:middle\"> <output>%s</output></label>\n",
			html.EscapeString(s.Name), len(s.Values)-1, s.Start, html.EscapeString(s.Values[s.Start]))
	}
	b.WriteString("</div>\n<div data-frame>")
	for _, piece := range data.Frames[start] {
		b.WriteString(data.Pieces[piece])
	}
	b.WriteString("</div>\n<p data-asleep><em>The sliders move once the notebook is trusted or the cell has run; " +
		"the figure and the table below need no JavaScript.</em></p>\n</div>\n<script>\n")
	b.WriteString(strings.NewReplacer("WIDGET", id, "DATA", string(encoded)).Replace(widgetScript))
	b.WriteString("</script>\n")
	return b.String(), nil
}

func (w *Widget) bundle() (map[protocol.MIMEType]any, error) {
	page, err := w.HTML()
	return map[protocol.MIMEType]any{protocol.MIMETextPlain: w.Caption, protocol.MIMETextHTML: page}, err
}
