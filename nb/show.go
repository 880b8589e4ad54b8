package nb

import (
	"fmt"
	"image"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
	"gonum.org/v1/plot"

	"github.com/certspec/certspec/internal/figure"
)

// Markdown is text that Show sets as Markdown.
type Markdown string

// What tests replace.
var (
	inNotebook           = gonbui.IsNotebook
	send                 = gonbui.SendData
	stdout     io.Writer = os.Stdout
)

// Show puts values into the page, in order: figures, gonum plots and images as pictures; widgets, with their static form
// below; tables, fits and slices of structs as tables; Markdown set as such; everything else as text by its String method.
func Show(values ...any) {
	sayStandIns()
	var text []string
	flush := func() {
		if len(text) > 0 {
			display(map[protocol.MIMEType]any{protocol.MIMETextPlain: strings.Join(text, "\n")})
			text = nil
		}
	}
	for _, value := range values {
		switch v := value.(type) {
		case *Figure:
			flush()
			display(must(v.bundle()))
		case *Widget:
			flush()
			display(must(v.bundle()))
			Show(v.Static...)
		case *plot.Plot:
			flush()
			display(must(Plot(v, v.Title.Text).bundle()))
		case image.Image:
			flush()
			display(must(imageFigure(v).bundle()))
		case Markdown:
			flush()
			display(map[protocol.MIMEType]any{protocol.MIMETextPlain: string(v), protocol.MIMETextMarkdown: string(v)})
		case *Tabular:
			flush()
			display(tableBundle(v))
		case rendered:
			flush()
			display(tableBundle(v.Rendered()))
		case fmt.Stringer, error, string:
			text = append(text, fmt.Sprint(v))
		default:
			if isTable(reflect.TypeOf(v)) {
				flush()
				display(tableBundle(Table(v)))
			} else {
				text = append(text, fmt.Sprint(v))
			}
		}
	}
	flush()
	if inNotebook {
		gonbui.Sync()
	}
}

// rendered is a result that makes itself a table.
type rendered interface{ Rendered() *Tabular }

func must(data map[protocol.MIMEType]any, err error) map[protocol.MIMEType]any {
	end(err)
	return data
}

// display sends one output with all its forms; outside a notebook it prints the plain one.
func display(data map[protocol.MIMEType]any) {
	if !inNotebook {
		fmt.Fprintln(stdout, data[protocol.MIMETextPlain])
		return
	}
	out := &protocol.DisplayData{Data: data}
	if png, ok := data[protocol.MIMEImagePNG].([]byte); ok {
		if width, height, err := pngSize(png); err == nil {
			// GoNB passes numbers on, not numbers and words together: a saved notebook gets its alternative text from the plain form.
			out.Metadata = map[string]any{"image/png": map[string]int{"width": width / figure.PNGScale, "height": height / figure.PNGScale}}
		}
	}
	send(out)
}
