package feedforward

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit/drawnet"
)

// apart are words of the reader that are no operators, attributes or values of attributes of ONNX.
var apart = map[string]string{
	"normalisation": "the name of a layer",
	"ChannelOrder":  "a kind of layer",
	"shape":         "an input of Reshape",
	"steps":         "an input of Slice",
	"Take":          "a kind of layer",
}

// Whatever operator, attribute or mode the reader names is drawn by package drawnet, so that the networks drawn at
// random meet it. A word alone in quotes is taken for one.
func TestReaderNamesWhatIsDrawn(t *testing.T) {
	drawn := map[string]bool{}
	for op, attributes := range drawnet.Operators {
		drawn[op] = true
		for name, values := range attributes {
			drawn[name] = true
			for _, v := range values {
				drawn[v] = true
			}
		}
	}
	files, err := filepath.Glob("onnx*.go")
	if err != nil {
		t.Fatal(err)
	}
	word := regexp.MustCompile(`^[A-Za-z][A-Za-z_]*[A-Za-z]$`)
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if _, imports := n.(*ast.ImportSpec); imports {
				return false
			}
			l, ok := n.(*ast.BasicLit)
			if !ok || l.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(l.Value)
			if err != nil || !word.MatchString(text) || apart[text] != "" {
				return true
			}
			if found++; !drawn[text] {
				t.Errorf("%v: the reader names %q, which drawnet never draws", set.Position(l.Pos()), text)
			}
			return true
		})
	}
	for op := range operators {
		if !drawn[op] {
			t.Errorf("the reader takes %s, which drawnet never draws", op)
		}
	}
	if found < 80 {
		t.Errorf("%d words were found: this test looks in the wrong place", found)
	}
}
