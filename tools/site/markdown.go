package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"html/template"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/alecthomas/chroma/v2"
	chromahtml "github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/alecthomas/chroma/v2/styles"
	"github.com/gohugoio/hugo-goldmark-extensions/passthrough"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	rendererhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// repository is where files lie that are no pages.
const repository = "https://github.com/certspec/certspec/blob/main/"

// writer turns Markdown into HTML. It knows which files have a page, and gathers the pictures that pages show.
type writer struct {
	root     string
	pages    map[string]string // page by source
	assets   map[string]bool
	formulas map[formula]string // as MathML
}

type formula struct {
	TeX   string
	Block bool
}

// render makes the pages. It goes through all of them twice: for their formulas, which are
// converted together, and for good.
func (w *writer) render(ctx context.Context, documents, notebooks []string) (pages []page, err error) {
	w.formulas = map[formula]string{}
	for range 2 {
		pages = nil
		for _, file := range documents {
			p, err := w.document(file)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			pages = append(pages, p)
		}
		for _, file := range notebooks {
			p, err := w.notebook(file)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			pages = append(pages, p)
		}
		if err := convert(ctx, w.formulas); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

func (w *writer) document(file string) (page, error) {
	text, err := os.ReadFile(filepath.Join(w.root, filepath.FromSlash(file)))
	if err != nil {
		return page{}, err
	}
	body, err := w.markdown(file, text)
	return page{File: pageOf(file), Title: title(text, file), Body: template.HTML(body), Policy: plainPolicy}, err
}

var heading = regexp.MustCompile(`(?m)^# +(.+)$`)

func title(markdown []byte, file string) string {
	if m := heading.FindSubmatch(markdown); m != nil {
		return strings.NewReplacer("`", "", "**", "").Replace(string(m[1]))
	}
	return file
}

// markdown is HTML of GitHub's Markdown, with formulas between dollars. Links of file lead to
// pages, or to the repository.
func (w *writer) markdown(file string, text []byte) (string, error) {
	dollars := []passthrough.Delimiters{{Open: "$", Close: "$"}}
	md := goldmark.New(
		goldmark.WithExtensions(extension.GFM, passthrough.New(passthrough.Config{
			InlineDelimiters: append([]passthrough.Delimiters{{Open: "$$", Close: "$$"}}, dollars...),
			BlockDelimiters:  []passthrough.Delimiters{{Open: "$$", Close: "$$"}},
		})),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(rendererhtml.WithUnsafe(), renderer.WithNodeRenderers(util.Prioritized(w, 1))),
	)
	var out bytes.Buffer
	if err := md.Convert(text, &out); err != nil {
		return "", err
	}
	var problems []error
	body := address.ReplaceAllStringFunc(out.String(), func(at string) string {
		m := address.FindStringSubmatch(at)
		to, err := w.link(file, html.UnescapeString(m[2]))
		if err != nil {
			problems = append(problems, err)
		}
		return m[1] + `="` + html.EscapeString(to) + `"`
	})
	body = strings.NewReplacer("<table>", `<div class="wide"><table>`, "</table>", "</table></div>").Replace(body)
	return body, errors.Join(problems...)
}

var address = regexp.MustCompile(`\b(href|src)="([^"]*)"`)

// link is where an address in a source leads on its page.
func (w *writer) link(file, to string) (string, error) {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Path == "" {
		return to, err
	}
	target := path.Join(path.Dir(file), u.Path)
	switch info, err := os.Stat(filepath.Join(w.root, filepath.FromSlash(target))); {
	case err != nil:
		return "", fmt.Errorf("the link %s leads nowhere: %w", to, err)
	case w.pages[target] != "":
		u.Path = strings.Repeat("../", strings.Count(w.pages[file], "/")) + w.pages[target]
	case !info.IsDir() && strings.Contains(".png.svg.jpg.gif", path.Ext(target)) && path.Ext(target) != "":
		w.assets[target] = true
	default:
		return repository + target, nil
	}
	return u.String(), nil
}

// RegisterFuncs has formulas and code written by the functions below.
func (w *writer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(passthrough.KindPassthroughInline, w.inlineFormula)
	r.Register(passthrough.KindPassthroughBlock, w.blockFormula)
	r.Register(ast.KindFencedCodeBlock, w.code)
}

func (w *writer) inlineFormula(b util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if f := n.(*passthrough.PassthroughInline); entering {
		w.formula(b, string(f.Segment.Value(source)))
	}
	return ast.WalkContinue, nil
}

func (w *writer) blockFormula(b util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		w.formula(b, string(n.Lines().Value(source)))
	}
	return ast.WalkContinue, nil
}

func (w *writer) formula(b util.BufWriter, text string) {
	text = strings.TrimSpace(text)
	f := formula{TeX: strings.Trim(text, "$ \n"), Block: strings.HasPrefix(text, "$$")}
	if _, ok := w.formulas[f]; !ok {
		w.formulas[f] = ""
	}
	b.WriteString(w.formulas[f])
}

func (w *writer) code(b util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	return ast.WalkSkipChildren, highlight(b, string(n.(*ast.FencedCodeBlock).Language(source)),
		string(n.Lines().Value(source)))
}

var formatter = chromahtml.New(chromahtml.WithClasses(true))

// colours is the style sheet of code, for light and for dark.
var colours = func() string {
	var light, dark strings.Builder
	err := errors.Join(formatter.WriteCSS(&light, styles.Get("github")), formatter.WriteCSS(&dark,
		styles.Get("github-dark")))
	if err != nil {
		panic("site: " + err.Error())
	}
	return "@media (prefers-color-scheme: light) {\n" + light.String() + "}\n@media (prefers-color-scheme: dark) {\n" +
		dark.String() + "}\n"
}()

// highlight writes code with its words marked for colours.
func highlight(b interface{ Write([]byte) (int, error) }, language, text string) error {
	lexer := lexers.Get(language)
	if lexer == nil {
		lexer = lexers.Fallback
	}
	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, strings.TrimSuffix(text, "\n"))
	if err != nil {
		return err
	}
	return formatter.Format(b, styles.Get("github"), tokens)
}
