package report

import (
	"strings"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/table"
)

// document is the words of a report, before they take a form.
type document struct {
	title  string
	blocks []any // heading, paragraph, list, *table.Table, code, picture
}

type (
	heading   string
	paragraph []span
	list      []paragraph
	code      []string // lines to type

	// span is a piece of text in one style. What a ledger says enters a document as the text of
	// spans and of cells only, which every form escapes.
	span struct {
		text  string
		style style
	}

	// picture is the curve, for forms that can show it.
	picture struct {
		svg     string
		caption string
	}
)

type style int

const (
	plain style = iota
	strong
	literal // names, digests and commands
)

// words makes a paragraph of text in which **…** is strong and the arguments, in turn, stand for each ¤ as literals.
func words(text string, literals ...string) paragraph {
	var p paragraph
	for i, part := range strings.Split(text, "**") {
		s := plain
		if i%2 == 1 {
			s = strong
		}
		for j, piece := range strings.Split(part, "¤") {
			if j > 0 {
				p = append(p, span{literals[0], literal})
				literals = literals[1:]
			}
			if piece != "" {
				p = append(p, span{piece, s})
			}
		}
	}
	return p
}

func (d *document) add(blocks ...any) { d.blocks = append(d.blocks, blocks...) }

// facts is a table of names and values.
func facts(namesAndValues ...any) *table.Table {
	t := &table.Table{Columns: []string{"item", "value"}}
	for i := 0; i < len(namesAndValues); i += 2 {
		t.Rows = append(t.Rows, []any{namesAndValues[i], printable.Sprintf("%v", namesAndValues[i+1])})
	}
	return t
}
