// Site builds certspec's pages for a browser: README, documents and notebooks as HTML, the checker of ledgers, and the
// lesson's sliders. Nothing of them asks a network, and every page works where it lies, from file:// too.
//
//	go run ./tools/site -o out/site
package main

import (
	"bytes"
	"context"
	_ "embed"
	"flag"
	"fmt"
	"html/template"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/atomicfile"
)

var (
	//go:embed page.html
	pageText string
	//go:embed style.css
	style string
	frame = template.Must(template.New("page").Parse(pageText))
)

// page is one page of the site.
type page struct {
	File   string // where it lies in the site: docs/glossary.html
	Title  string
	Body   template.HTML
	Policy string // what a browser allows the page: see the Content-Security-Policy
}

// What a page may do: show what is in it. None may connect to anything.
const (
	plainPolicy = "default-src 'none'; img-src 'self' data: file:; style-src 'unsafe-inline'; script-src " +
		"'unsafe-inline'"
	programPolicy = "default-src 'none'; connect-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src " +
		"'unsafe-inline' 'wasm-unsafe-eval'; worker-src blob:"
)

func (p page) Root() string          { return strings.Repeat("../", strings.Count(p.File, "/")) }
func (page) Style() template.CSS     { return template.CSS(style + colours) }
func (p page) Is(file string) bool   { return p.File == file }
func (p page) IsIn(name string) bool { return strings.HasPrefix(p.File, name+"/") }

func main() {
	log.SetFlags(0)
	log.SetPrefix("site: ")
	out := flag.String("o", filepath.Join("out", "site"), "folder that the site is written to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := build(ctx, ".", *out); err != nil {
		log.Fatal(err)
	}
	fmt.Println(filepath.Join(*out, "index.html"))
}

// build makes the site of the repository root in the folder out.
func build(ctx context.Context, root, out string) error {
	documents, notebooks, err := sources(root)
	if err != nil {
		return err
	}
	w := &writer{root: root, pages: map[string]string{}, assets: map[string]bool{}}
	for _, file := range slices.Concat(documents, notebooks) {
		w.pages[file] = pageOf(file)
	}
	pages, err := w.render(ctx, documents, notebooks)
	if err != nil {
		return err
	}
	programs, err := programs(ctx, root)
	if err != nil {
		return err
	}
	pages = append(pages, contents(pages))
	pages = append(pages, programs...)
	for _, p := range pages {
		var text bytes.Buffer
		if err := frame.Execute(&text, p); err != nil {
			return err
		}
		if err := write(filepath.Join(out, filepath.FromSlash(p.File)), text.Bytes()); err != nil {
			return err
		}
	}
	for file := range w.assets {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return err
		}
		if err := write(filepath.Join(out, filepath.FromSlash(file)), data); err != nil {
			return err
		}
	}
	return nil
}

// sources finds the documents and notebooks of the repository.
func sources(root string) (documents, notebooks []string, err error) {
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && file != root && (strings.HasPrefix(name, ".") ||
			slices.Contains([]string{"out", "bin", "testdata"}, name)):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		name, err := filepath.Rel(root, file)
		switch name = filepath.ToSlash(name); path.Ext(name) {
		case ".md":
			documents = append(documents, name)
		case ".ipynb":
			notebooks = append(notebooks, name)
		}
		return err
	})
	return documents, notebooks, err
}

// pageOf is where the page of a document or notebook lies.
func pageOf(file string) string {
	if file == "README.md" {
		return "index.html"
	}
	return strings.TrimSuffix(file, path.Ext(file)) + ".html"
}

// contents is the page that lists all others.
func contents(pages []page) page {
	var b strings.Builder
	list := func(head, id string, keep func(page) bool) {
		fmt.Fprintf(&b, "<h2 id=%q>%s</h2>\n<ul>\n", id, head)
		for _, p := range pages {
			if keep(p) {
				fmt.Fprintf(&b, "<li><a href=%q>%s</a> <small>%s</small></li>\n", p.File,
					template.HTMLEscapeString(p.Title), p.File)
			}
		}
		b.WriteString("</ul>\n")
	}
	notebook := func(p page) bool {
		return p.IsIn("notebooks") && strings.Count(p.File, "/") == 1 && path.Base(p.File) != "README.html"
	}
	b.WriteString("<h1>All pages</h1>\n")
	list("Notebooks", "notebooks", notebook)
	list("Documents", "documents", func(p page) bool { return !notebook(p) })
	return page{File: "contents.html", Title: "All pages", Body: template.HTML(b.String()), Policy: plainPolicy}
}

func write(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(file, data)
}
