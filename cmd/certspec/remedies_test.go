package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var (
	// foreign are packages whose texts have flags of other programs.
	foreign = []string{"bench", "examples", "cmd/certcheck", "docs", "internal/jupyter", "internal/pyenv", "internal/wheel",
		"tools"}
	// prose are words behind "certspec" that begin no command.
	prose = strings.Fields("are authors can from help images in is l made network reads shape tests")

	namedCommand = regexp.MustCompile(`(?:^|[^\w./:-])certspec ([a-z]+)( [a-z]+)?`)
	namedFlag    = regexp.MustCompile(`(?:^|[^\w-])--([a-z][a-z0-9-]+)`)
	otherDoor    = regexp.MustCompile(`certspec [a-z]+|certcheck|\bcard\b`)
)

// Every command and flag that a text of the program names is there, and of the command that the text is about; and a
// package that people import names no flag without the command, or the option, that it is of.
func TestTextsNameWhatIsThere(t *testing.T) {
	all := root()
	flags := func(cmd *cobra.Command) (found []string) {
		var into func(*cobra.Command)
		into = func(c *cobra.Command) {
			for _, f := range flagsOf(c) {
				found = append(found, f.Name)
			}
			for _, sub := range c.Commands() {
				into(sub)
			}
		}
		into(cmd)
		return append(found, "help", "version")
	}
	everywhere, texts, shared := flags(all), 0, map[string]int{}
	for _, name := range everywhere {
		shared[name]++
	}
	top := map[string]*cobra.Command{}
	for _, cmd := range all.Commands() {
		top[cmd.Name()] = cmd
	}
	word := regexp.MustCompile(`[a-z]+`)
	for file, list := range sourceTexts(t, "../..") {
		verb, inside := strings.CutPrefix(file, "cmd/certspec/")
		verb, _, _ = strings.Cut(verb, "/")
		for _, text := range list {
			texts++
			for _, m := range namedCommand.FindAllStringSubmatch(text, -1) {
				cmd, sub := top[m[1]], strings.TrimSpace(m[2])
				switch {
				case cmd == nil && !slices.Contains(prose, m[1]):
					t.Errorf("%s: there is no command %s: %s", file, m[1], text)
				case cmd != nil && cmd.HasSubCommands() && sub != "" && strings.Contains(text, m[0]+" -"):
					if below, _, err := cmd.Find([]string{sub}); err != nil || below == cmd {
						t.Errorf("%s: %s has no command %s: %s", file, m[1], sub, text)
					}
				}
			}
			own := everywhere
			if inside && top[verb] != nil { // those of the file's command, and of all that the text names
				own = flags(top[verb])
				for _, name := range word.FindAllString(text, -1) {
					if top[name] != nil && name != verb {
						own = append(own, flags(top[name])...)
					}
				}
			}
			for _, m := range namedFlag.FindAllStringSubmatch(text, -1) {
				if !slices.Contains(own, m[1]) && shared[m[1]] < 8 && !strings.Contains(text, "certcheck") {
					t.Errorf("%s: no command of this text has a flag --%s: %s", file, m[1], text)
				}
				if public := !strings.Contains("/"+file, "/internal/") && !strings.HasPrefix(file, "cmd/"); public &&
					!otherDoor.MatchString(text) {
					t.Errorf("%s: --%s is a word of the command line alone; expected the command, or the option: %s", file,
						m[1], text)
				}
			}
		}
	}
	if texts < 1000 {
		t.Errorf("only %d texts were read", texts)
	}
}

// sourceTexts are the texts in the sources of the program, by file: literals with spaces, joined where they are added.
func sourceTexts(t *testing.T, root string) map[string][]string {
	t.Helper()
	texts := map[string][]string{}
	for _, dir := range foreign {
		if _, err := os.Stat(filepath.Join(root, dir)); err != nil {
			t.Error(err)
		}
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil || slices.Contains(foreign, filepath.ToSlash(name)) ||
			d.IsDir() && (strings.HasPrefix(d.Name(), ".git") || d.Name() == "testdata" || d.Name() == "_gonb") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				if text := joined(e); strings.Contains(text, " ") {
					texts[filepath.ToSlash(name)] = append(texts[filepath.ToSlash(name)], text)
					return false
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// joined is the text of literals that are added; what is no literal is a verb of fmt.
func joined(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value)
			return strings.ReplaceAll(text, "\n", " ")
		}
	case *ast.BinaryExpr:
		if a, b := joined(e.X), joined(e.Y); e.Op == token.ADD && a+b != "" {
			if a == "" {
				a = "%v"
			}
			if b == "" {
				b = "%v"
			}
			return a + b
		}
	}
	return ""
}
