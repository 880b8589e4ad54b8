package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fits says of arithmetic on integers of at most 32 bits why it cannot wrap, by function and expression, where the
// expression itself does not show it. What Check makes sure of is tried at both ends of every type by
// intnet.TestBoundsAreExact and quantize.TestConfidenceOfIntegersIsBounded.
var fits = map[string]string{
	"scaled: a * int32(m)":                                     "both fit int16",
	"scaled: a * int32(m) + 1 << 14":                           "both fit int16",
	"(*Layer).sum: a + b":                                      "each is at most 2^22 in size",
	"(*Layer).sum: saturate(a + b) << (15 - l.Bits)":           "saturated to 16 bits; Bits is at least 0",
	"(*Layer).sum: saturate(a + b) << (15 - l.Bits) + 1 << 14": "saturated to 16 bits; Bits is at least 0",
	"(*Network).define: x[i] << 7":                             "a byte",
	"(*Network).define: b[i] << 7":                             "a byte",
	"(*Network).conv: values[l.Addend][i] << 7":                "a byte",
	"addRow: int32(r[c]) << 7":                                 "a byte",
	"addRow: int32(s[c]) << 7":                                 "a byte",
	"addRow: T(l.sum(scaled(int32(r[c]) << 7, l.Factor[0]), scaled(int32(s[c]) << 7, l.Factor[1])))": "sum is a byte",

	"(*Network).define: y[i % in.channels] += v":                                                         "Check refuses sums of bytes beyond int32",
	"(*vectorProgram).sumPool: to[c] += int32(v)":                                                        "Check refuses sums of bytes beyond int32",
	"(*Network).define: x[i] * int32(w)":                                                                 "checkSums refuses sums beyond int32",
	"(*Network).define: y[o] += x[i] * int32(w)":                                                         "checkSums",
	"(*Network).conv: pixel[c] * int32(weight)":                                                          "checkSums",
	"(*Network).conv: sum += pixel[c] * int32(weight)":                                                   "checkSums",
	"(*Network).conv: int32(v) * int32(w[c])":                                                            "checkSums: values beyond the edges are pixels",
	"(*Network).conv: sum += int32(v) * int32(w[c])":                                                     "checkSums",
	"product: int32(x[i]) * int32(v)":                                                                    "checkSums",
	"product: sum += int32(x[i]) * int32(v)":                                                             "the way may wrap, its end does not: checkSums",
	"(*vectorProgram).last: sum += product(numbers[int32](p, w, l.From[0], b, y, x), row[:in.channels])": "checkSums",
	"(*vectorProgram).last: sum += product(numbers[uint8](p, w, l.From[0], b, y, x), row[:in.channels])": "checkSums",
	"(*vectorProgram).last: sum += product(numbers[int16](p, w, l.From[0], b, y, x), row[:in.channels])": "checkSums",
	"(*vectorProgram).last: sum << 8 + w.raw[b * wide + out.stride + o]":                                 "the way may wrap, its end does not: checkSums",
	"(*vectorProgram).last: sum << 8":                                                                    "the way may wrap, its end does not",
	"(*vectorProgram).last: sum + l.Bias[o]":                                                             "checkSums counts the bias",
	"(*onnxWriter).sums: int32(v) * int32(n.Border[o / (l.Out / l.Groups) * group + i % group])":         "two int16",

	"(*Network).integers: int32(v)":                                                  "Check bounds every number of a file",
	"(*Network).integers: uint32(int32(v))":                                          "Check bounds every number of a file",
	"(*Network).integers: uint16(v)":                                                 "the same 16 bits, in a file",
	"(*Network).integers: byte(w)":                                                   "bytes says that all weights fit int8",
	"(*reader).word: int32(binary.LittleEndian.Uint32(b))":                           "the same 32 bits, of a file",
	"(*reader).words: int32(binary.LittleEndian.Uint32(b[4 * i:]))":                  "the same 32 bits, of a file",
	"(*reader).halves: int16(binary.LittleEndian.Uint16(b[2 * i:]))":                 "the same 16 bits, of a file",
	"(*reader).network: int32(r.word())":                                             "a word of a file is an int32",
	"(*reader).layer: Op(r.word())":                                                  "a word of a file is an int32",
	"(*reader).layer: int32(v)":                                                      "a word of a file is an int32",
	"(*reader).layer: int8(v)":                                                       "the same 8 bits, of a file",
	"(Op).String: o - 1":                                                             "o is at least 1 here",
	"(*vectorProgram).prepare: int8(w)":                                              "the low half of a weight; the rest is in the other",
	"(*vectorProgram).pack: byte(w)":                                                 "the low half of a weight; the rest is in the other",
	"(*vectorProgram).pack: byte(w >> 8)":                                            "the high half of a weight",
	"(ref).moved: int32(i)":                                                          "the number of a channel: mostChannels",
	"(*onnxWriter).sums: uint8(lift)":                                                "refused above 255, some lines before",
	"(*onnxWriter).weights: uint8(a + 128)":                                          "|v| ≤ 16,000 is checked, so |a| ≤ 125",
	"(*onnxWriter).weights: a + 128":                                                 "|v| ≤ 16,000 is checked, so |a| ≤ 125",
	"(*onnxWriter).weights: 128 * a":                                                 "|v| ≤ 16,000 is checked, so |a| ≤ 125",
	"(*onnxWriter).weights: v - 128 * a":                                             "|v| ≤ 16,000 is checked: −64 to 63, or within int8",
	"(*onnxWriter).weights: v - 128 * a + 128":                                       "|v| ≤ 16,000 is checked: 0 to 255",
	"(*onnxWriter).weights: uint8(v - 128 * a + 128)":                                "|v| ≤ 16,000 is checked: 0 to 255",
	"(*onnxWriter).weights: v + 64":                                                  "|v| ≤ 16,000 is checked",
	"(*Bounded).Confidence: int16(value)":                                            "within Low to High, or refused, in the line before",
	"factors: int16(max(v, 1))":                                                      "v is at most the largest int16, in the line before",
	"(*Plan).Build: int16(-255 * kappa)":                                             "κ is at most mostReach, or refused",
	"(*Plan).Build: int16(255 * (kappa + 1))":                                        "κ is at most mostReach, or refused",
	"(*Plan).convolution: int16(min(m, math.MaxInt16))":                              "m is at least 1",
	"(*Plan).convolution: int32(math.Floor(s.b[o] / (steps[o] * unit) + .5) + half)": "steps make a bias at most reserve",
	"(*step).last: int16(math.Floor(w / step + .5))":                                 "a step is at least largest/lastWeight",
	"(*step).last: int32(math.Floor(b / (step * unit) + .5))":                        "a step makes a bias at most reserve",
	"(*step).last: int32(math.Ldexp(fraction, 30))":                                  "a fraction from ½ to 1",
	"(*step).last: int32(exponent - 30)":                                             "an exponent of a float64",
}

// Whatever narrows, negates, adds or multiplies integers of at most 32 bits in the code of integer networks and their
// bounds shows that it does not wrap: by min and max, by a comparison with the way back, or by an entry of fits. A bound
// that wraps is too small, and false without a sign.
func TestIntegersDoNotWrap(t *testing.T) {
	used, known := map[string]bool{}, map[string]*types.Package{}
	for _, dir := range []string{"internal/intnet", "internal/feedforward/quantize"} {
		names, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil || len(names) == 0 {
			t.Fatal(dir, err)
		}
		set := token.NewFileSet()
		var files []*ast.File
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		for _, found := range wraps(module+"/"+dir, set, files, known) {
			if fits[found.what] == "" {
				t.Errorf("%s: %s may wrap; expected a check, or why it cannot in fits", set.Position(found.at), found.what)
			}
			used[found.what] = true
		}
	}
	for what := range fits {
		if !used[what] {
			t.Errorf("fits has %s, which is nowhere", what)
		}
	}
}

// The check finds what it is made for, and nothing that is safe.
func TestWrapsAreFound(t *testing.T) {
	for body, want := range map[string]int{
		"_ = int16(w)":                  1, // the cast that made bounds false
		"_ = int16(f)":                  1,
		"_ = -a":                        1, // −(−32,768)
		"_ = a * b":                     1,
		"_ = int32(a) * int32(b)":       1,
		"c += int32(a)":                 1,
		"_ = uint8(a)":                  1,
		"c <<= 3":                       1,
		"_ = int32(a)":                  0,
		"_ = int16(-5 * 7)":             0,
		"_ = int(a) - int(b)":           0,
		"_ = int16(min(max(w, -9), 9))": 0,
		"if w != int(int16(w)) { return }; _ = int16(w)": 0,
	} {
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, "x.go", "package x\nfunc f(w int, f float64, a, b int16, c int32) {\n"+body+"\n}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if found := wraps("x", set, []*ast.File{f}, nil); len(found) != want {
			t.Errorf("%s: %d found, want %d: %v", body, len(found), want, found)
		}
	}
}

type wrap struct {
	at   token.Pos
	what string
}

// wraps finds arithmetic that may wrap, and makes the package known. Of packages that are not known nothing is read: a
// value of theirs counts as wide.
func wraps(path string, set *token.FileSet, files []*ast.File, known map[string]*types.Package) (found []wrap) {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	check := types.Config{Error: func(error) {}, FakeImportC: true, Importer: importing(
		func(path string) (*types.Package, error) {
			if p := known[path]; p != nil {
				return p, nil
			}
			return nil, fmt.Errorf("%s is not read", path)
		})}
	p, _ := check.Check(path, set, files, info) // with errors, of imports
	if p != nil && known != nil {
		p.MarkComplete()
		known[path] = p
	}
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			compared := map[string]bool{} // with what came back from a narrower type
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if e, ok := n.(*ast.BinaryExpr); ok && (e.Op == token.NEQ || e.Op == token.EQL) {
					compared[types.ExprString(e.X)+" "+types.ExprString(e.Y)] = true
				}
				return true
			})
			add := func(e ast.Node, text string) {
				found = append(found, wrap{e.Pos(), functionName(fn) + ": " + text})
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					to := info.Types[n.Fun]
					if !to.IsType() || len(n.Args) != 1 || info.Types[n].Value != nil || holds(to.Type, info.Types[n.Args[0]].Type) ||
						width(to.Type) == 0 {
						break
					}
					back, arg := types.ExprString(n), types.ExprString(n.Args[0])
					clamped := strings.Contains(arg, "min(") && strings.Contains(arg, "max(")
					if !clamped && !compared[arg+" int("+back+")"] {
						add(n, back)
					}
				case *ast.UnaryExpr:
					if n.Op == token.SUB && info.Types[n].Value == nil && width(info.Types[n].Type) > 0 {
						add(n, types.ExprString(n))
					}
				case *ast.BinaryExpr:
					ops := []token.Token{token.ADD, token.SUB, token.MUL, token.SHL}
					if slices.Contains(ops, n.Op) && info.Types[n].Value == nil && width(info.Types[n].Type) > 0 {
						add(n, types.ExprString(n))
					}
				case *ast.AssignStmt:
					ops := []token.Token{token.ADD_ASSIGN, token.SUB_ASSIGN, token.MUL_ASSIGN, token.SHL_ASSIGN}
					if slices.Contains(ops, n.Tok) && width(info.Types[n.Lhs[0]].Type) > 0 {
						add(n, types.ExprString(n.Lhs[0])+" "+n.Tok.String()+" "+types.ExprString(n.Rhs[0]))
					}
				}
				return true
			})
		}
	}
	return found
}

// functionName is the name of a function, with its receiver.
func functionName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	return "(" + types.ExprString(fn.Recv.List[0].Type) + ")." + fn.Name.Name
}

// width is the number of bits of an integer of at most 32, the least of a type parameter's; 0: another type.
func width(t types.Type) int {
	if t == nil {
		return 0
	}
	if p, ok := t.(*types.TypeParam); ok {
		least := 0
		if union, ok := p.Constraint().Underlying().(*types.Interface).EmbeddedType(0).(*types.Union); ok {
			for term := range union.Terms() {
				if w := width(term.Type()); least == 0 || w < least {
					least = w
				}
			}
		}
		return least
	}
	basic, ok := t.Underlying().(*types.Basic)
	if !ok {
		return 0
	}
	switch basic.Kind() {
	case types.Int8, types.Uint8:
		return 8
	case types.Int16, types.Uint16:
		return 16
	case types.Int32, types.Uint32:
		return 32
	}
	return 0
}

// holds reports whether every value of one type is one of another.
func holds(to, from types.Type) bool {
	if p, ok := from.(*types.TypeParam); ok {
		union, ok := p.Constraint().Underlying().(*types.Interface).EmbeddedType(0).(*types.Union)
		for i := 0; ok && i < union.Len(); i++ {
			ok = holds(to, union.Term(i).Type())
		}
		return ok
	}
	unsigned := func(t types.Type) bool {
		basic, ok := t.Underlying().(*types.Basic)
		return ok && basic.Info()&types.IsUnsigned != 0
	}
	a, b := width(to), width(from)
	switch {
	case a == 0 || b == 0:
		return false
	case unsigned(to) == unsigned(from):
		return a >= b
	}
	return !unsigned(to) && a > b
}
