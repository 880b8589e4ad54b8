package layers

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// Every file that a page names is there: by its path from the root or from the page, or by the end of a path. NAME stands for what a reader adds.
func TestPagesNameFilesThatExist(t *testing.T) {
	var files []string
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		files = append(files, filepath.ToSlash(path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, _ := filepath.Glob("../../docs/*.md")
	named := regexp.MustCompile(`(^|[^\w/.…-])((?:[\w.-]+/)*[\w-]+\.(?:go|py|c|ipynb))\b`)
	checked := 0
	for _, page := range append(pages, "../../ARCHITECTURE.md", "../../CONTRIBUTING.md", "../../README.md") {
		text := testkit.Read(t, page)
		for _, m := range named.FindAllSubmatch(text, -1) {
			name := string(m[2])
			if checked++; strings.Contains(name, "NAME") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), name)); err == nil {
				continue
			}
			if !slices.ContainsFunc(files, func(f string) bool { return strings.HasSuffix(f, "/"+name) }) {
				t.Errorf("%s names %s, which is not there", page, name)
			}
		}
	}
	if checked < 40 {
		t.Errorf("pages name %d files: this test looks for the wrong form", checked)
	}
}

func TestExamplesOfOnesOwnAreShort(t *testing.T) {
	for _, file := range []string{"own-method/main.go", "own-network/main.go"} {
		text, err := os.ReadFile(filepath.Join("../../examples", file))
		if n := bytes.Count(text, []byte("\n")); err != nil || n >= 80 {
			t.Errorf("%s: %d lines, %v; expected fewer than 80", file, n, err)
		}
	}
}

// A link of a document or a notebook leads to a file that is there, and to a heading of it.
func TestLinksOfTheDocuments(t *testing.T) {
	link := regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	checked := 0
	for _, path := range documents(t) {
		for _, found := range link.FindAllStringSubmatch(proseOf(t, path), -1) {
			file, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(file, ":") {
				continue
			}
			checked++
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", path, found[1])
			} else if ext := filepath.Ext(target); anchor != "" && (ext == ".md" || ext == ".ipynb") &&
				!slices.Contains(anchorsOf(t, target), anchor) {
				t.Errorf("%s links to %s, which has no such heading", path, found[1])
			}
		}
	}
	if checked < 250 {
		t.Errorf("%d links", checked)
	}
}

// documents are the pages and notebooks of the repository, by their paths from here.
func documents(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if name := filepath.Base(path); err == nil && d.IsDir() &&
			(len(name) > 2 && name[0] == '.' || slices.Contains([]string{"out", "bin", "testdata"}, name)) {
			return fs.SkipDir
		}
		if ext := filepath.Ext(path); ext == ".md" || ext == ".ipynb" {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Links lead from the README to every page of docs.
func TestPagesAreReached(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s#]+\.md)[^)]*\)`)
	seen := map[string]bool{}
	for queue := []string{"../../README.md"}; len(queue) > 0; queue = queue[1:] {
		for _, found := range link.FindAllStringSubmatch(proseOf(t, queue[0]), -1) {
			to := filepath.Join(filepath.Dir(queue[0]), found[1])
			if _, err := os.Stat(to); err == nil && !seen[to] {
				seen[to], queue = true, append(queue, to)
			}
		}
	}
	pages, _ := filepath.Glob("../../docs/*.md")
	for _, page := range pages {
		if !seen[page] {
			t.Errorf("no link leads from README.md to %s", page)
		}
	}
}

// proseOf is a document, or the Markdown of a notebook, without its blocks of code.
func proseOf(t *testing.T, path string) string {
	t.Helper()
	text := testkit.Read(t, path)
	if filepath.Ext(path) == ".ipynb" {
		var book struct {
			Cells []struct {
				Kind   string `json:"cell_type"`
				Source []string
			}
		}
		if err := json.Unmarshal(text, &book); err != nil {
			t.Fatal(path, err)
		}
		text = nil
		for _, cell := range book.Cells {
			if cell.Kind == "markdown" {
				text = append(text, strings.Join(cell.Source, "")+"\n\n"...)
			}
		}
	}
	return regexp.MustCompile("(?ms)^ *```.*?^ *```").ReplaceAllString(string(text), "")
}

// anchorsOf are the names that GitHub gives to the headings of a document; JupyterLab keeps case and all characters.
func anchorsOf(t *testing.T, path string) (all []string) {
	t.Helper()
	named := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	gone := regexp.MustCompile(`[^\pL\pN_ -]`)
	for _, found := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(proseOf(t, path), -1) {
		name := found[1]
		if filepath.Ext(path) == ".md" {
			name = strings.ToLower(gone.ReplaceAllString(named.ReplaceAllString(strings.TrimSpace(name), "$1"), ""))
		}
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	return all
}
