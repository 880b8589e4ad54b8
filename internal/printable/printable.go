// Package printable writes what people read: counts in groups of digits, and text without what a
// terminal would obey, or what would turn text around: names in files that others made may hold
// anything. Such characters become \u001b, as in JSON.
package printable

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line is a text on one line: control characters, line ends and tabs among them, marks of direction
// and bytes that are no UTF-8 are escaped.
func Line(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError || obeyed(r) }) < 0 {
		return text
	}
	out, _ := appendEscaped(nil, []byte(text), func(r rune) bool { return false }, true)
	return string(out)
}

// obeyed reports whether a character is not seen as it stands. The joiners of scripts are.
func obeyed(r rune) bool { return !unicode.IsGraphic(r) && r != '\u200c' && r != '\u200d' }

// appendEscaped escapes a text but for characters that are kept. Where it is not the end, it leaves
// the bytes of a character that may go on.
func appendEscaped(out, text []byte, kept func(rune) bool, end bool) (_, left []byte) {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			if !end && !utf8.FullRune(text) {
				return out, text
			}
			out = fmt.Appendf(out, `\x%02x`, text[0])
		case !obeyed(r) || kept(r):
			out = append(out, text[:n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[n:]
	}
	return out, nil
}

// Writer writes text with its line ends and tabs, and escapes all else as Line does. A character may come in two calls.
type Writer struct {
	w    io.Writer
	left []byte // of a character that is not complete
}

// NewWriter makes a Writer.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

func (p *Writer) Write(text []byte) (int, error) {
	n := len(text)
	if len(p.left) > 0 {
		text = append(p.left, text...)
	}
	out, left := appendEscaped(nil, text, func(r rune) bool { return r == '\n' || r == '\t' }, false)
	p.left = append([]byte(nil), left...)
	if _, err := p.w.Write(out); err != nil {
		return 0, err
	}
	return n, nil
}

// Flush writes what is left of a character that never came to its end.
func (p *Writer) Flush() error {
	out, _ := appendEscaped(nil, p.left, nil, true)
	p.left = nil
	_, err := p.w.Write(out)
	return err
}

// Args are the arguments of a format with texts as Line has them; other types stay.
func Args(args []any) []any {
	safe := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case string:
			safe[i] = Line(a)
		case []string:
			lines := make([]string, len(a))
			for k, text := range a {
				lines[k] = Line(text)
			}
			safe[i] = lines
		default:
			safe[i] = a
		}
	}
	return safe
}

// Count writes a number of things as people read it, with commas between groups of three digits.
func Count[N ~int | ~int64 | ~uint64](n N) string { return Grouped(float64(n), 0) }

// Sprintf is fmt.Sprintf with commas in whole numbers of type int, which count things; seeds are of other types.
func Sprintf(format string, args ...any) string {
	args = slices.Clone(args)
	for i, a := range args {
		if n, ok := a.(int); ok {
			args[i] = count(n)
		}
	}
	return fmt.Sprintf(format, args...)
}

type count int

func (n count) Format(to fmt.State, _ rune) { _, _ = io.WriteString(to, Count(n)) }

// Grouped writes a number with commas between groups of three digits before its point.
func Grouped(v float64, digits int) string {
	s := strconv.FormatFloat(v, 'f', digits, 64)
	whole, rest, _ := strings.Cut(s, ".")
	first := len(whole) - len(strings.TrimLeft(whole, "-"))
	for i := len(whole) - 3; i > first; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	return whole
}

// Name is a name of a program, such as gaussian_noise, as people write it.
func Name(name string) string { return names.Replace(name) }

var names = strings.NewReplacer("_", " ", "gaussian", "Gaussian", "jpeg", "JPEG", "augmix", "AugMix",
	"abberation", "aberration") // as the published set has it
