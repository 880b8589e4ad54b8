package property

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// term is an S-expression: an atom or a list.
type term struct {
	atom string
	list []term
	line int
}

func (t term) String() string {
	if t.list == nil {
		return t.atom
	}
	var parts []string
	for _, x := range t.list {
		parts = append(parts, x.String())
	}
	text := "(" + strings.Join(parts, " ") + ")"
	if len(text) > 80 {
		text = text[:77] + "…)"
	}
	return text
}

const deepest = 64

func parseTerms(file string, in io.Reader) ([]term, error) {
	r := bufio.NewReader(in)
	var stack [][]term
	var lines []int
	var top []term
	line := 1
	var atom strings.Builder
	push := func(t term) {
		if len(stack) == 0 {
			top = append(top, t)
		} else {
			stack[len(stack)-1] = append(stack[len(stack)-1], t)
		}
	}
	flush := func() {
		if atom.Len() > 0 {
			push(term{atom: atom.String(), line: line})
			atom.Reset()
		}
	}
	for {
		c, _, err := r.ReadRune()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("property: %s: %w", file, err)
		}
		switch c {
		case ';':
			flush()
			if _, err := r.ReadString('\n'); err != nil && err != io.EOF {
				return nil, fmt.Errorf("property: %s: %w", file, err)
			}
			line++
		case '(':
			flush()
			if len(stack) == deepest {
				return nil, &FormatError{file, line, fmt.Sprintf("more than %d open brackets", deepest)}
			}
			stack, lines = append(stack, []term{}), append(lines, line)
		case ')':
			flush()
			if len(stack) == 0 {
				return nil, &FormatError{file, line, "a bracket closes that was not opened"}
			}
			t := term{list: stack[len(stack)-1], line: lines[len(lines)-1]}
			stack, lines = stack[:len(stack)-1], lines[:len(lines)-1]
			push(t)
		case ' ', '\t', '\r', '\n':
			flush()
			if c == '\n' {
				line++
			}
		default:
			atom.WriteRune(c)
			if atom.Len() > 1<<12 {
				return nil, &FormatError{file, line, "a word of more than 4,096 letters"}
			}
		}
	}
	flush()
	if len(stack) > 0 {
		return nil, &FormatError{file, lines[len(lines)-1], "a bracket that is never closed: the file is cut off"}
	}
	return top, nil
}
