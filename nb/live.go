package nb

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/comms"
	"github.com/janpfeifer/gonb/gonbui/dom"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

//go:embed live.js
var liveScript string

// batchVariable is the environment variable that says that nobody moves sliders while cells run.
const batchVariable = "CERTSPEC_BATCH"

// How long a cell waits for the first sign of its page, from there for the first move, for the next one, and for
// another sign (rarer if the page is hidden).
var firstSign, firstMove, nextMove, silence = 20 * time.Second, 20 * time.Second, 10 * time.Minute, 90 * time.Second

// Slide is a slider over numbers, for Live; it begins at the first one.
func Slide(name string, values ...float64) Slider {
	s := Slider{Name: name, numbers: values}
	for _, v := range values {
		s.Values = append(s.Values, fmt.Sprint(v))
	}
	return s
}

// number is the value at a place; of a slider over words it is the place.
func (s Slider) number(at int) float64 {
	if s.numbers == nil {
		return float64(at)
	}
	return s.numbers[at]
}

// Live shows a value that this cell computes anew for each choice of the sliders: a figure, a table or text. It is
// called with the value of each slider, in their order. The cell runs on until it is interrupted, its page is closed,
// or nobody moves a slider: 20 seconds once it is open, then ten minutes. Where cells run without a reader, and in
// saved notebooks, it is the value of the first choice.
func Live(show func(at ...float64) any, sliders ...Slider) {
	at := make([]int, len(sliders))
	for i, s := range sliders {
		if at[i] = s.Start; s.Start < 0 || s.Start >= len(s.Values) {
			end(fmt.Errorf("nb.Live: slider %s starts at value %d of %d", s.Name, s.Start, len(s.Values)))
			return
		}
	}
	of := func(at []int) any {
		values := make([]float64, len(at))
		for i, s := range sliders {
			values[i] = s.number(at[i])
		}
		return show(values...)
	}
	first := of(at)
	if !inNotebook || os.Getenv(batchVariable) != "" {
		Show(first)
		return
	}
	id := "certspec-live-" + gonbui.UniqueId()
	element := id + "-element"
	display := func(page string) {
		gonbui.UpdateHtml(element, page)
		gonbui.Sync()
	}
	display(livePage(id, sliders, first))
	moves := comms.Listen[string]("/" + id + "/at").LatestOnly()
	defer moves.Close()
	all, err := json.Marshal(sliders)
	end(err)
	dom.TransientJavascript(strings.NewReplacer("LIVE", id, "SLIDERS", string(all)).Replace(liveScript))
	last := follow(moves.C, sliders, at, first, of, func(v any) { comms.Send("/"+id+"/frame", piece(v)) })
	comms.Send("/"+id+"/end", "The sliders sleep. Run the cell again to wake them.")
	display("")
	Show(last)
}

// follow shows the value of each choice that arrives, until nobody is there; it returns the last one. A page repeats
// its choice as a sign that it is open, with a question mark before it while it waits for a value.
func follow(moves <-chan string, sliders []Slider, at []int, last any, show func([]int) any, send func(any)) any {
	heard, end, opened := time.Now(), time.Now().Add(firstSign), false
	for {
		select {
		case move := <-moves:
			move, asks := strings.CutPrefix(move, "?")
			next, ok := choice(move, sliders)
			if ok && !slices.Equal(next, at) {
				at, last, asks = next, show(next), true
			}
			heard = time.Now()
			switch {
			case ok && asks:
				send(last)
				end = time.Now().Add(nextMove)
			case !opened:
				end = heard.Add(firstMove)
			}
			opened = true
		case <-Context().Done():
			return last
		case <-time.After(min(time.Until(end), time.Until(heard.Add(silence)))):
			return last
		}
	}
}

// choice reads the indices of a move.
func choice(move string, sliders []Slider) (at []int, ok bool) {
	for i, word := range strings.Split(move, ",") {
		k, err := strconv.Atoi(word)
		if err != nil || i >= len(sliders) || k < 0 || k >= len(sliders[i].Values) {
			return nil, false
		}
		at = append(at, k)
	}
	return at, len(at) == len(sliders)
}

func livePage(id string, sliders []Slider, first any) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<div id=\"%s\" style=\"font-family:sans-serif\">\n<div>", id)
	for _, s := range sliders {
		fmt.Fprintf(&b, "<label style=\"display:inline-block;min-width:18em\">%s <input type=\"range\" min=\"0\" max=\"%d\" "+
			"value=\"%d\" disabled data-lm-suppress-shortcuts=\"true\" style=\"vertical-align:middle\">"+
			"<output>%s</output></label>\n", // the attribute counts on the key's own target alone
			html.EscapeString(s.Name), len(s.Values)-1, s.Start, html.EscapeString(s.Values[s.Start]))
	}
	fmt.Fprintf(&b, "<em data-state></em></div>\n<div data-frame>%s</div></div>", piece(first))
	return b.String()
}

// piece is a value as a piece of a page.
func piece(value any) string {
	switch v := value.(type) {
	case *Figure:
		return picture(v)
	case rendered:
		return v.Table().HTML()
	case *Tabular:
		return v.HTML()
	}
	return "<p>" + html.EscapeString(words(value)) + "</p>"
}

// picture is a figure as a piece of a page.
func picture(f *Figure) string {
	data, err := f.bundle()
	end(err)
	if drawing, ok := data[protocol.MIMEImageSVG].(string); ok {
		return drawing
	}
	pixels, _ := data[protocol.MIMEImagePNG].([]byte)
	return fmt.Sprintf(`<img alt="%s" width="%.0f" src="data:image/png;base64,%s"/>`, html.EscapeString(f.String()),
		f.Width.Points()/0.75, base64.StdEncoding.EncodeToString(pixels))
}
