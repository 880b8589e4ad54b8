package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// tree is a small repository.
func tree(t *testing.T) *writer {
	root := t.TempDir()
	for file, text := range map[string]string{
		"README.md":       "# A `title`\n[page](docs/a.md#part), [code](main.go), [picture](p.png), <img src=\"docs/q.svg\" alt=\"q\">, [away](https://example.org/)",
		"docs/a.md":       "# Page\n[home](../README.md) and $a_1\\le b_2$ and\n\n$$\\sum_i x_i$$\n\n```go\nvar x = 1 < 2\n```\n\n| a |\n| --- |\n| b |\n",
		"docs/q.svg":      "<svg/>",
		"p.png":           "p",
		"main.go":         "package main",
		"n/book.ipynb":    `{"cells":[{"cell_type":"markdown","source":["# A book\n","*text*"]},{"cell_type":"code","source":"x := 1","outputs":[` + `{"output_type":"stream","text":["\u001b[31m<red>"]},{"output_type":"display_data","data":{"image/png":"QUJD\n","text/plain":"a \"figure\""}}]}]}`,
		"out/ignored.md":  "[broken](nothing.md)",
		".git/ignored.md": "[broken](nothing.md)",
	} {
		if err := write(filepath.Join(root, filepath.FromSlash(file)), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return &writer{root: root, pages: map[string]string{}, assets: map[string]bool{}, formulas: map[formula]string{
		{TeX: `a_1\le b_2`}: "<math>INLINE</math>", {TeX: `\sum_i x_i`, Block: true}: "<math>BLOCK</math>",
	}}
}

func TestPages(t *testing.T) {
	w := tree(t)
	documents, notebooks, err := sources(w.root)
	if err != nil || len(documents) != 2 || len(notebooks) != 1 {
		t.Fatalf("found %v and %v: %v", documents, notebooks, err)
	}
	for _, file := range append(documents, notebooks...) {
		w.pages[file] = pageOf(file)
	}
	readme, err := w.document("README.md")
	if err != nil || readme.File != "index.html" || readme.Title != "A title" {
		t.Fatalf("%q of the title %q: %v", readme.File, readme.Title, err)
	}
	a, err := w.document("docs/a.md")
	if err != nil {
		t.Fatal(err)
	}
	book, err := w.notebook("n/book.ipynb")
	if err != nil || book.Title != "A book" {
		t.Fatalf("the title %q: %v", book.Title, err)
	}
	for _, v := range []struct{ body, want string }{
		{string(readme.Body), `href="docs/a.html#part"`}, {string(readme.Body), `href="` + repository + `main.go"`},
		{string(readme.Body), `href="p.png"`}, {string(readme.Body), `src="docs/q.svg"`}, {string(readme.Body), `href="https://example.org/"`},
		{string(a.Body), `href="../index.html"`}, {string(a.Body), "INLINE"}, {string(a.Body), "BLOCK"}, {string(a.Body), `class="kd">var`}, {string(a.Body), "&lt;"},
		{string(a.Body), `<div class="wide"><table>`},
		{string(book.Body), "<em>text</em>"}, {string(book.Body), "<pre>&lt;red&gt;</pre>"}, {string(book.Body), `<img alt="a &#34;figure&#34;" src="data:image/png;base64,QUJD">`},
	} {
		if !strings.Contains(v.body, v.want) {
			t.Errorf("%q is not in %s", v.want, v.body)
		}
	}
	if !w.assets["p.png"] || !w.assets["docs/q.svg"] || len(w.assets) != 2 {
		t.Errorf("pictures: %v", w.assets)
	}
}

func TestBrokenLink(t *testing.T) {
	w := tree(t)
	testkit.Write(t, []byte("[x](nothing.md)"), w.root, "b.md")
	if _, err := w.document("b.md"); err == nil || !strings.Contains(err.Error(), "nothing.md leads nowhere") {
		t.Errorf("a link to nothing: %v", err)
	}
}

// Every link of the repository's own documents and notebooks leads somewhere.
func TestLinksOfTheRepository(t *testing.T) {
	w := &writer{root: filepath.Join("..", ".."), pages: map[string]string{}, assets: map[string]bool{}, formulas: map[formula]string{}}
	documents, notebooks, err := sources(w.root)
	if err != nil || len(documents) == 0 || len(notebooks) == 0 {
		t.Fatalf("%d documents, %d notebooks: %v", len(documents), len(notebooks), err)
	}
	for _, file := range documents {
		if _, err := w.document(file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, file := range notebooks {
		if _, err := w.notebook(file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
