package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/progress"
)

// text of a notebook, written as a string or as a list of lines.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	var lines []string
	if json.Unmarshal(data, (*string)(t)) == nil {
		return nil
	}
	err := json.Unmarshal(data, &lines)
	*t = text(strings.Join(lines, ""))
	return err
}

type output struct {
	Type     string                     `json:"output_type"`
	Text     text                       `json:"text"`
	Data     map[string]text            `json:"data"`
	Metadata map[string]json.RawMessage `json:"metadata"`
}

// notebook is the page of a notebook, with the outputs that it was committed with.
func (w *writer) notebook(file string) (page, error) {
	data, err := os.ReadFile(filepath.Join(w.root, filepath.FromSlash(file)))
	if err != nil {
		return page{}, err
	}
	var book struct {
		Cells []struct {
			Type    string   `json:"cell_type"`
			Source  text     `json:"source"`
			Outputs []output `json:"outputs"`

			Metadata struct {
				Jupyter struct {
					Hidden bool `json:"source_hidden"`
				} `json:"jupyter"`
			} `json:"metadata"`
		} `json:"cells"`
	}
	if err := json.Unmarshal(data, &book); err != nil {
		return page{}, err
	}
	p := page{File: pageOf(file), Title: file, Policy: plainPolicy}
	var b bytes.Buffer
	// The switch works without a script: what follows it in the page is shown or hidden by its state.
	b.WriteString("<input type=\"checkbox\" id=\"show-code\" checked><label for=\"show-code\"> show code</label>\n")
	for i, cell := range book.Cells {
		if cell.Type == "markdown" {
			if p.Title == file {
				p.Title = title([]byte(cell.Source), file)
			}
			body, err := w.markdown(file, []byte(cell.Source))
			if err != nil {
				return page{}, fmt.Errorf("cell %d: %w", i, err)
			}
			b.WriteString(body)
			continue
		}
		open, shut := "<div class=\"code\">", "</div>"
		if cell.Metadata.Jupyter.Hidden {
			open, shut = "<details class=\"code\"><summary>code</summary>", "</details>"
		}
		b.WriteString(open)
		if err := highlight(&b, "go", string(cell.Source)); err != nil {
			return page{}, err
		}
		b.WriteString(shut + "\n")
		for _, o := range cell.Outputs {
			b.WriteString("<div class=\"output\">")
			if err := w.output(&b, file, o); err != nil {
				return page{}, fmt.Errorf("cell %d: %w", i, err)
			}
			b.WriteString("</div>\n")
		}
	}
	p.Body = template.HTML(b.String())
	return p, nil
}

var escapes = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`) // colours of a terminal

// output writes the richest form of an output that is there.
func (w *writer) output(b *bytes.Buffer, file string, o output) error {
	alt := html.EscapeString(strings.TrimSpace(string(o.Data["text/plain"])))
	switch {
	case o.Data["text/html"] != "":
		b.WriteString(string(o.Data["text/html"]))
	case o.Data["image/svg+xml"] != "":
		fmt.Fprintf(b, `<img alt="%s" src="data:image/svg+xml;base64,%s">`, alt,
			base64.StdEncoding.EncodeToString([]byte(o.Data["image/svg+xml"])))
	case o.Data["image/png"] != "":
		fmt.Fprintf(b, `<img alt="%s" src="data:image/png;base64,%s">`, alt,
			strings.ReplaceAll(string(o.Data["image/png"]), "\n", ""))
	case o.Data["text/markdown"] != "":
		body, err := w.markdown(file, []byte(o.Data["text/markdown"]))
		b.WriteString(body)
		return err
	default:
		plain := o.Text + o.Data["text/plain"]
		fmt.Fprintf(b, "<pre>%s</pre>", html.EscapeString(escapes.ReplaceAllString(string(plain), "")))
	}
	return nil
}

// toMathML converts formulas with the package that makes the web pages of notebooks.
const toMathML = `
import json, sys
from latex2mathml.converter import convert
json.dump([convert(f["TeX"], display="block" if f["Block"] else "inline") for f in json.load(sys.stdin)], sys.stdout)
`

// convert fills in the MathML of formulas, which browsers set without help.
func convert(ctx context.Context, formulas map[formula]string) error {
	var open []formula
	for f, done := range formulas {
		if done == "" {
			open = append(open, f)
		}
	}
	if len(open) == 0 {
		return nil
	}
	python, err := pyenv.Ensure(ctx, pyenv.Notebook, progress.Messages(log.Printf))
	if err != nil {
		return err
	}
	input, err := json.Marshal(open)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, python, "-c", toMathML)
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &errs
	answer, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("formulas: %w\n%s", err, &errs)
	}
	var done []string
	if err := json.Unmarshal(answer, &done); err != nil || len(done) != len(open) {
		return fmt.Errorf("formulas: %d of %d were converted: %w", len(done), len(open), err)
	}
	for i, f := range open {
		formulas[f] = done[i]
	}
	return nil
}
