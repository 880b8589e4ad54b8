package nb

import (
	"encoding/base64"
	"fmt"
	"html"
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

// Fold puts values, as Show takes them but for widgets, behind a line that a reader opens with a click. Show takes what
// it returns.
func Fold(summary string, values ...any) any { return folded{summary, values} }

type folded struct {
	summary string
	of      []any
}

// What tests replace.
var (
	inNotebook           = gonbui.IsNotebook
	send                 = gonbui.SendData
	stdout     io.Writer = os.Stdout

	shownFigure = func(*Figure) {}
)

// Show puts values into the page, in order: figures, gonum plots and images as pictures; widgets,
// with their static form folded below; tables, fits and slices of structs as tables; Markdown set
// as such; everything else as text by its String method. A run of certification becomes its curve
// and table, a sweep a dot plot of its corruptions, a comparison of runs or the card of a model a
// table, a data set its first images with labels, a spectrum or a map of frequencies a heat map, the
// bins of a calibration a reliability diagram, a record of confidences a histogram.
//
// A call that returns a result and an error may stand in the place of the values: the error ends the cell.
func Show(values ...any) {
	sayStandIns()
	if n := len(values); n > 1 && isNil(values[0]) {
		if err, is := values[n-1].(error); is { // of a call in the place of the arguments
			end(err)
			return
		}
	}
	var text []string
	flush := func() {
		if len(text) > 0 {
			display(map[protocol.MIMEType]any{protocol.MIMETextPlain: strings.Join(text, "\n")})
			text = nil
		}
	}
	for _, value := range values {
		if value == nil {
			continue
		}
		if more, ok := defaults(value); ok {
			flush()
			Show(more...)
			continue
		}
		switch v := value.(type) {
		case *Figure:
			flush()
			displayFigure(v)
		case *Widget:
			flush()
			display(must(v.bundle()))
			if len(v.Static) > 0 {
				Show(Fold("The same without a slider", v.Static...))
			}
		case *plot.Plot:
			flush()
			displayFigure(Plot(v, v.Title.Text))
		case image.Image:
			flush()
			displayFigure(imageFigure(v))
		case Markdown:
			flush()
			display(map[protocol.MIMEType]any{protocol.MIMETextPlain: string(v), protocol.MIMETextMarkdown: string(v)})
		case folded:
			flush()
			display(must(v.bundle()))
		case *Tabular:
			flush()
			display(tableBundle(v))
		case rendered:
			flush()
			display(tableBundle(v.Table()))
		case fmt.Stringer, error, string:
			text = append(text, fmt.Sprint(v))
		default:
			if isTable(reflect.TypeOf(v)) {
				flush()
				display(tableBundle(Table(v)))
			} else {
				text = append(text, words(v))
			}
		}
	}
	flush()
	if inNotebook {
		gonbui.Sync()
	}
}

// words of a value that is shown as text. What would be addresses ends the cell.
func words(value any) string {
	switch value.(type) {
	case fmt.Stringer, error:
		return fmt.Sprint(value)
	}
	if t := reflect.TypeOf(value); t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct {
		end(fmt.Errorf("nb.Show has no form for a %T; expected a figure, a table, a picture, text, or a type with a "+
			"method String or Table", value))
	}
	return fmt.Sprint(value)
}

func isNil(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// displayFigure shows a figure and, in a page, the menu that saves it.
func displayFigure(f *Figure) {
	shownFigure(f)
	display(must(f.bundle()))
	if inNotebook {
		display(must(f.menuBundle()))
	}
}

// bundle is one element of a page, which opens and closes without JavaScript.
func (f folded) bundle() (map[protocol.MIMEType]any, error) {
	plain := f.summary
	page := "<details><summary>" + html.EscapeString(f.summary) + "</summary>\n"
	for _, value := range f.of {
		if t, ok := value.(rendered); ok {
			value = t.Table()
		}
		switch v := value.(type) {
		case *Tabular:
			page += tablePage(v)
		case *Figure:
			kind, drawn := "png", []byte(nil)
			data, err := v.bundle()
			if err != nil {
				return nil, err
			}
			if drawing, ok := data[protocol.MIMEImageSVG].(string); ok {
				kind, drawn = "svg+xml", []byte(drawing)
			} else {
				drawn = data[protocol.MIMEImagePNG].([]byte)
			}
			page += fmt.Sprintf(`<img alt="%s" style="max-width:100%%" width="%.0f" src="data:image/%s;base64,%s"/>`,
				html.EscapeString(v.String()), v.Width.Points()/0.75, kind, base64.StdEncoding.EncodeToString(drawn))
			menu, err := v.menu()
			if err != nil {
				return nil, err
			}
			page += menu
		default:
			page += "<p>" + html.EscapeString(words(v)) + "</p>"
		}
		plain += "\n" + fmt.Sprint(value)
		page += "\n"
	}
	return map[protocol.MIMEType]any{protocol.MIMETextPlain: plain, protocol.MIMETextHTML: page + "</details>"}, nil
}

// rendered is a result that makes itself a table.
type rendered interface{ Table() *Tabular }

func must(data map[protocol.MIMEType]any, err error) map[protocol.MIMEType]any {
	end(err)
	return data
}

// widestPicture is how wide a page shows a picture, in pixels.
const widestPicture = 960

// display sends one output with all its forms; outside a notebook it prints the plain one.
func display(data map[protocol.MIMEType]any) {
	if !inNotebook {
		fmt.Fprintln(stdout, data[protocol.MIMETextPlain])
		return
	}
	out := &protocol.DisplayData{Data: data}
	if png, ok := data[protocol.MIMEImagePNG].([]byte); ok {
		if width, height, err := pngSize(png); err == nil {
			// GoNB passes numbers on, not numbers and words together: a saved notebook gets its
			// alternative text from the plain form.
			width, height = width/figure.PNGScale, height/figure.PNGScale
			if width > widestPicture {
				width, height = widestPicture, height*widestPicture/width
			}
			out.Metadata = map[string]any{"image/png": map[string]int{"width": width, "height": height}}
		}
	}
	send(out)
}
