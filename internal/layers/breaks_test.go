package layers

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
	"unicode/utf8"
)

// A signature, call, result or operation stands on one line where that has at most 100 columns: other
// breaks come from a program that wraps lines. What holds a body or a literal has lines of its own.
func TestShortExpressionsStandOnOneLine(t *testing.T) {
	checked := 0
	set, files := parsed()
	for path, f := range files {
		lines := strings.Split(string(goFiles()[path]), "\n")
		ast.Inspect(f, func(n ast.Node) bool {
			from, to := oneLine(set, n)
			if from == to {
				return true
			}
			checked++
			if whole := joined(lines[from-1 : to]); whole != "" && utf8.RuneCountInString(whole) <= 100 {
				t.Errorf("%s:%d: a line break in %s", path, from, strings.TrimSpace(whole))
			}
			return true
		})
	}
	if checked < 500 {
		t.Errorf("%d expressions on several lines: this test looks in the wrong place", checked)
	}
}

// oneLine are the first and last line of a node that should stand on one line if it fits; equal of others.
func oneLine(set *token.FileSet, n ast.Node) (from, to int) {
	lines := func(from, to token.Pos) (int, int) { return set.Position(from).Line, set.Position(to).Line }
	var parts []ast.Node
	switch n := n.(type) {
	case *ast.FuncDecl:
		from, to = lines(n.Pos(), n.Type.End())
		parts = []ast.Node{n.Type}
	case *ast.FuncLit:
		from, to = lines(n.Pos(), n.Type.End())
		parts = []ast.Node{n.Type}
	case *ast.CallExpr:
		if len(n.Args) == 0 || set.Position(n.Args[len(n.Args)-1].End()).Line != set.Position(n.Rparen).Line {
			return 0, 0
		}
		from, to = lines(n.Lparen, n.Rparen)
		for _, a := range n.Args {
			parts = append(parts, a)
		}
	case *ast.BinaryExpr, *ast.ReturnStmt:
		from, to = lines(n.Pos(), n.End())
		parts = []ast.Node{n}
	default:
		return 0, 0
	}
	for _, part := range parts {
		ast.Inspect(part, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.FuncLit, *ast.CompositeLit, *ast.InterfaceType, *ast.StructType:
				to = from
			}
			return true
		})
	}
	return from, to
}

// joined is some lines as one, tabs as four columns; nothing where a comment stands between them.
func joined(lines []string) string {
	whole := lines[0]
	for _, line := range lines[1:] {
		if strings.Contains(whole, "//") {
			return ""
		}
		if line = strings.TrimSpace(line); !strings.HasSuffix(whole, "(") {
			line = " " + line
		}
		whole += line
	}
	return strings.ReplaceAll(whole, "\t", "    ")
}
