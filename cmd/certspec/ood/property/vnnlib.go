// Package property decides properties of networks in the form that verifiers exchange (VNN-LIB). A property has boxes
// of inputs, and conditions on outputs that no input of a box may meet.
package property

import (
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/inflate"
)

// Property is the negation of what should hold, as the files have it. An input violates it if it lies in the box of
// some case and its outputs meet all conditions of that case.
type Property struct {
	Inputs, Outputs int
	Cases           []Case // whose boxes are not empty
}

// Boxes of the cases, each once where cases share it.
func (p *Property) Boxes() (boxes []feedforward.Box) {
	for i, c := range p.Cases {
		if i == 0 || !sameEnds(c.Box.Lower, p.Cases[i-1].Box.Lower) || !sameEnds(c.Box.Upper, p.Cases[i-1].Box.Upper) {
			boxes = append(boxes, c.Box)
		}
	}
	return boxes
}

// Case is a box and linear conditions on the outputs. Cases with the same box may share its memory.
type Case struct {
	Box feedforward.Box // ends rounded outwards: what is proven holds for the box as it is written
	// Nearest is where witnesses are looked for: ends that float32 holds, rounded inwards, strict ones left out;
	// empty where strict ends leave no such number.
	Nearest    feedforward.Box
	Conditions []Condition
}

// Condition is Row·Y ≤ Bound, or < where it is Strict. Bound is rounded up.
type Condition struct {
	Row    []float64
	Bound  float64
	Strict bool

	exact *inequality // as the file has it
}

// rational is the condition without rounding.
func (c Condition) rational() inequality {
	if c.exact != nil {
		return *c.exact
	}
	q := inequality{linear: linear{y: map[int]*big.Rat{}, number: new(big.Rat)}, strict: c.Strict}
	q.number.SetFloat64(c.Bound)
	q.number.Neg(q.number)
	for i, v := range c.Row {
		if v != 0 {
			q.y[i] = new(big.Rat).SetFloat64(v)
		}
	}
	return q
}

// FormatError says what in a file is not understood.
type FormatError struct {
	File   string
	Line   int
	Reason string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("property %s: line %d: %s", e.File, e.Line, e.Reason)
}

// Read reads a VNN-LIB file of version 1, packed by gzip or not. It declares the real constants X_0, X_1, … and Y_0,
// Y_1, …. It asserts comparisons (<=, >=, <, >) between constants, numbers and sums with constant factors, joined by
// and and or. Ends of boxes are rounded outwards to float64, bounds on outputs so that no input that violates the
// property is lost. A case whose box is empty is left out. Errors are *FormatError: other forms, an input without a
// lower or an upper bound, conditions that join inputs and outputs, more than 100,000 cases.
func Read(path string) (*Property, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("property: %w", err)
	}
	defer f.Close()
	unpacked, err := inflate.NewStream(f, -1)
	if err != nil {
		return nil, fmt.Errorf("property: %s: %w", path, err)
	}
	return parseFrom(path, unpacked)
}

// parseFrom is Read from a reader; file stands in messages.
func parseFrom(file string, in io.Reader) (*Property, error) {
	p := &parser{file: file, cases: []clause{{}}}
	if err := parseTerms(file, in, p.term); err != nil {
		return nil, err
	}
	if p.inputs == 0 || p.outputs == 0 {
		return nil, &FormatError{file, 1, fmt.Sprintf("%d inputs X_… and %d outputs Y_… are declared", p.inputs,
			p.outputs)}
	}
	return p.finish()
}

// term takes a term of the file.
func (p *parser) term(t term) error {
	switch {
	case len(t.list) == 3 && t.list[0].atom == "declare-const" && t.list[2].atom == "Real":
		return p.declare(t)
	case len(t.list) == 2 && t.list[0].atom == "assert":
		more, err := p.assertion(t.list[1])
		if err != nil {
			return err
		}
		if len(more) == 1 {
			p.common = append(p.common, more[0]...)
			return nil
		}
		p.cases, err = p.join(t, p.cases, more)
		return err
	case len(t.list) > 0 && (t.list[0].atom == "vnnlib-version" || t.list[0].atom == "declare-network"):
		return p.fail(t, "%s: this file is of VNN-LIB 2.0; files of version 1 are read, with declare-const and assert",
			t)
	}
	return p.fail(t, "%s; declare-const and assert are understood", t)
}

type parser struct {
	file            string
	inputs, outputs int
	common          clause // part of all cases
	cases           []clause
	last            int // line of an assertion
}

func (p *parser) fail(t term, format string, args ...any) error {
	return &FormatError{p.file, t.line, fmt.Sprintf(format, args...)}
}

func (p *parser) declare(t term) error {
	name := t.list[1].atom
	switch name {
	case fmt.Sprintf("X_%d", p.inputs):
		p.inputs++
	case fmt.Sprintf("Y_%d", p.outputs):
		p.outputs++
	default:
		return p.fail(t, "%q is declared; expected X_%d or Y_%d, in order", name, p.inputs, p.outputs)
	}
	return nil
}

// linear is a sum of constants with rational factors, plus a number.
type linear struct {
	x, y   map[int]*big.Rat
	number *big.Rat
}

// inequality says that a linear term is at most 0, or below 0.
type inequality struct {
	linear
	strict bool
	line   int
}

// clause is a conjunction.
type clause []inequality

const mostCases = 100_000

// join forms the disjunctive normal form of a and b.
func (p *parser) join(t term, a, b []clause) ([]clause, error) {
	if len(a)*len(b) > mostCases {
		return nil, p.fail(t, "more than %d cases", mostCases)
	}
	var out []clause
	for _, c := range a {
		for _, d := range b {
			out = append(out, append(append(clause{}, c...), d...))
		}
	}
	return out, nil
}

func (p *parser) assertion(t term) ([]clause, error) {
	if len(t.list) == 0 {
		return nil, p.fail(t, "%s is no condition", t)
	}
	switch op := t.list[0].atom; op {
	case "and":
		out := []clause{{}}
		for _, part := range t.list[1:] {
			more, err := p.assertion(part)
			if err != nil {
				return nil, err
			}
			if out, err = p.join(t, out, more); err != nil {
				return nil, err
			}
		}
		return out, nil
	case "or":
		var out []clause
		for _, part := range t.list[1:] {
			more, err := p.assertion(part)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
		if len(out) == 0 || len(out) > mostCases {
			return nil, p.fail(t, "a choice of %d cases", len(out))
		}
		return out, nil
	case "<=", ">=", "<", ">":
		if len(t.list) != 3 {
			return nil, p.fail(t, "%s compares %d things", t, len(t.list)-1)
		}
		left, err := p.value(t.list[1])
		if err != nil {
			return nil, err
		}
		right, err := p.value(t.list[2])
		if err != nil {
			return nil, err
		}
		if op[0] == '>' {
			left, right = right, left
		}
		left.add(right, big.NewRat(-1, 1))
		return []clause{{inequality{left, len(op) == 1, t.line}}}, nil
	}
	return nil, p.fail(t, "%s; and, or, <= and >= are understood", t)
}

// add adds f times another term.
func (l *linear) add(other linear, f *big.Rat) {
	for i, v := range other.x {
		l.x[i] = sum(l.x[i], v, f)
	}
	for i, v := range other.y {
		l.y[i] = sum(l.y[i], v, f)
	}
	l.number = sum(l.number, other.number, f)
}

func sum(a, b, f *big.Rat) *big.Rat {
	s := new(big.Rat).Mul(b, f)
	if a != nil {
		s.Add(s, a)
	}
	return s
}

func (p *parser) value(t term) (linear, error) {
	l := linear{map[int]*big.Rat{}, map[int]*big.Rat{}, new(big.Rat)}
	if t.list == nil {
		if kind, index, ok := strings.Cut(t.atom, "_"); ok && (kind == "X" || kind == "Y") {
			i, err := strconv.Atoi(index)
			if limit := map[string]int{"X": p.inputs, "Y": p.outputs}[kind]; err != nil || i < 0 || i >= limit {
				return l, p.fail(t, "%s is not declared", t.atom)
			}
			map[string]map[int]*big.Rat{"X": l.x, "Y": l.y}[kind][i] = big.NewRat(1, 1)
			return l, nil
		}
		v, ok := parseNumber(t.atom)
		if !ok {
			return l, p.fail(t, "%q is neither a number nor a constant X_… or Y_…", t.atom)
		}
		l.number = v
		return l, nil
	}
	if len(t.list) < 2 {
		return l, p.fail(t, "%s is no sum", t)
	}
	var parts []linear
	for _, part := range t.list[1:] {
		v, err := p.value(part)
		if err != nil {
			return l, err
		}
		parts = append(parts, v)
	}
	one, minus := big.NewRat(1, 1), big.NewRat(-1, 1)
	switch op := t.list[0].atom; {
	case op == "+":
		for _, v := range parts {
			l.add(v, one)
		}
	case op == "-" && len(parts) == 1:
		l.add(parts[0], minus)
	case op == "-":
		l.add(parts[0], one)
		for _, v := range parts[1:] {
			l.add(v, minus)
		}
	case op == "*" && len(parts) == 2:
		a, b := parts[0], parts[1]
		if len(a.x)+len(a.y) > 0 {
			a, b = b, a
		}
		if len(a.x)+len(a.y) > 0 {
			return l, p.fail(t, "%s is not linear", t)
		}
		for i, v := range b.x {
			l.x[i] = new(big.Rat).Mul(v, a.number)
		}
		for i, v := range b.y {
			l.y[i] = new(big.Rat).Mul(v, a.number)
		}
		l.number.Mul(b.number, a.number)
	default:
		return l, p.fail(t, "%s; +, - and * with a number are understood", t)
	}
	return l, nil
}

// parseNumber takes decimals, with an exponent of at most three digits: a rational of a larger one would fill the
// memory.
func parseNumber(text string) (*big.Rat, bool) {
	for _, c := range text {
		if !strings.ContainsRune("0123456789.eE+-", c) {
			return nil, false
		}
	}
	if at := strings.IndexAny(text, "eE"); at >= 0 && len(strings.TrimLeft(text[at+1:], "+-0")) > 3 || len(text) > 200 {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// finish turns conjunctions into boxes and conditions.
func (p *parser) finish() (*Property, error) {
	out := &Property{Inputs: p.inputs, Outputs: p.outputs}
	common := ends{make([]end, p.inputs), make([]end, p.inputs)}
	shared, err := p.take(p.common, &common)
	if err != nil {
		return nil, err
	}
	var box, nearest feedforward.Box // of the common ends, which most cases have
	for _, c := range p.cases {
		own := ends{slices.Clone(common.lower), slices.Clone(common.upper)}
		conditions, err := p.take(c, &own)
		if err != nil {
			return nil, err
		}
		if own.empty() {
			continue
		}
		made := Case{Conditions: append(slices.Clip(shared), conditions...)}
		if same := slices.Equal(own.lower, common.lower) && slices.Equal(own.upper, common.upper); same &&
			box.Lower != nil {
			made.Box, made.Nearest = box, nearest
		} else {
			if i := own.open(); i >= 0 {
				return nil, &FormatError{p.file, p.last, fmt.Sprintf("X_%d has no lower or no upper bound", i)}
			}
			made.Box, made.Nearest = own.boxes()
			if same {
				box, nearest = made.Box, made.Nearest
			}
		}
		out.Cases = append(out.Cases, made)
	}
	return out, nil
}

// take sorts a conjunction into ends of the box, which it narrows, and conditions.
func (p *parser) take(c clause, box *ends) (conditions []Condition, err error) {
	for _, q := range c {
		p.last = max(p.last, q.line)
		prune(q.x)
		prune(q.y)
		switch {
		case len(q.x) == 1 && len(q.y) == 0:
			for i, f := range q.x {
				at := new(big.Rat).Neg(q.number)
				box.narrow(i, f.Sign() > 0, end{at.Quo(at, f), q.strict})
			}
		case len(q.x) == 0 && len(q.y) > 0:
			condition, err := p.condition(q)
			if err != nil {
				return nil, err
			}
			conditions = append(conditions, condition)
		default:
			return nil, p.fail(term{line: q.line}, "a condition that is neither on one input nor on outputs alone")
		}
	}
	return conditions, nil
}

func prune(m map[int]*big.Rat) {
	for i, v := range m {
		if v.Sign() == 0 {
			delete(m, i)
		}
	}
}

// condition scales the row so that its factors are exact: dividing by the largest keeps decimals like 0.1 out of
// the way where all factors are equal, and other factors must be float64 numbers.
func (p *parser) condition(q inequality) (Condition, error) {
	c := Condition{Row: make([]float64, p.outputs), Strict: q.strict, exact: &q}
	largest := new(big.Rat)
	for _, f := range q.y {
		if abs := new(big.Rat).Abs(f); abs.Cmp(largest) > 0 {
			largest = abs
		}
	}
	exact := true
	for i, f := range q.y {
		v, ok := f.Float64()
		c.Row[i], exact = v, exact && ok
	}
	bound := new(big.Rat).Neg(q.number)
	if !exact {
		for i, f := range q.y {
			v, ok := new(big.Rat).Quo(f, largest).Float64()
			if !ok {
				return c, p.fail(term{line: q.line}, "the factor %s of Y_%d is no float64", f.FloatString(12), i)
			}
			c.Row[i] = v
		}
		bound.Quo(bound, largest)
	}
	v, ok := bound.Float64()
	if !ok {
		v = math.Nextafter(v, math.Inf(1))
	}
	c.Bound = v
	return c, nil
}
