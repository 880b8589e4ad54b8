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

// parseTerms hands over the terms of a file, one after the other.
func parseTerms(file string, in io.Reader, take func(term) error) error {
	r := bufio.NewReader(in)
	if mark, _, err := r.ReadRune(); err == nil && mark != '\ufeff' {
		_ = r.UnreadRune() // of a byte order mark
	}
	var stack [][]term
	var lines []int
	line := 1
	var atom strings.Builder
	push := func(t term) error {
		if len(stack) == 0 {
			return take(t)
		}
		stack[len(stack)-1] = append(stack[len(stack)-1], t)
		return nil
	}
	flush := func() error {
		if atom.Len() == 0 {
			return nil
		}
		t := term{atom: atom.String(), line: line}
		atom.Reset()
		return push(t)
	}
	for {
		c, _, err := r.ReadRune()
		if err != nil && err != io.EOF {
			return fmt.Errorf("property: %s: %w", file, err)
		}
		if at := strings.IndexRune(";() \t\r\n", c); at < 0 && err == nil {
			if atom.WriteRune(c); atom.Len() > 1<<12 {
				return &FormatError{file, line, "a word of more than 4,096 letters"}
			}
			continue
		}
		if err := flush(); err != nil {
			return err
		}
		if err == io.EOF {
			break
		}
		switch c {
		case ';':
			if _, err := r.ReadString('\n'); err != nil && err != io.EOF {
				return fmt.Errorf("property: %s: %w", file, err)
			}
			line++
		case '\n':
			line++
		case '(':
			if len(stack) == deepest {
				return &FormatError{file, line, fmt.Sprintf("more than %d open brackets", deepest)}
			}
			stack, lines = append(stack, []term{}), append(lines, line)
		case ')':
			if len(stack) == 0 {
				return &FormatError{file, line, "a bracket closes that was not opened"}
			}
			t := term{list: stack[len(stack)-1], line: lines[len(lines)-1]}
			stack, lines = stack[:len(stack)-1], lines[:len(lines)-1]
			if err := push(t); err != nil {
				return err
			}
		}
	}
	if len(stack) > 0 {
		return &FormatError{file, lines[len(lines)-1], "a bracket that is never closed: the file is cut off"}
	}
	return nil
}
