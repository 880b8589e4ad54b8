package layers

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
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
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
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
