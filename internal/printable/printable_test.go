package printable

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// What terminals obey is escaped, be it in UTF-8 or a lone byte; what people read stays.
func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"σ = 0.25, ℓ₂ – “ab” 図鑑\u00a0é e\u0301": "σ = 0.25, ℓ₂ – “ab” 図鑑\u00a0é e\u0301",
		"نمی\u200cخواهم":                        "نمی\u200cخواهم",
		"a\x1b[2Jb":                             `a\u001b[2Jb`,
		"a\nb\tc\rd\x00":                        `a\u000ab\u0009c\u000dd\u0000`,
		"\u009b31m\x7f":                         `\u009b31m\u007f`,
		"\x9b31m\xff":                           `\x9b31m\xff`,
		"\u202egpj.exe\u2066\u2028\ufeff":       `\u202egpj.exe\u2066\u2028\ufeff`,
		"\U000e0041":                            `\udb40\udc41`,
		"\ufffd":                                "\ufffd",
	} {
		if got := Line(text); got != want {
			t.Errorf("%q becomes %q; expected %q", text, got, want)
		}
	}
}

// A character that comes in pieces is one; JSON stays JSON, with the same values.
func TestWriter(t *testing.T) {
	name := "図\x1b[1m\u009b\x7f\u202e\U000e0041é\n\t"
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "\t")
	if err := enc.Encode(map[string]string{"name": name}); err != nil {
		t.Fatal(err)
	}
	for size := 1; size < 5; size++ {
		var out strings.Builder
		w := NewWriter(&out)
		for rest := text.String(); rest != ""; rest = rest[min(size, len(rest)):] {
			if n, err := fmt.Fprint(w, rest[:min(size, len(rest))]); n != min(size, len(rest)) || err != nil {
				t.Fatalf("%d, %v", n, err)
			}
		}
		var back map[string]string
		if err := json.Unmarshal([]byte(out.String()), &back); err != nil || back["name"] != name {
			t.Errorf("in pieces of %d: %v, %q", size, err, back)
		}
		if i := strings.IndexFunc(out.String(), func(r rune) bool { return obeyed(r) && r != '\n' && r != '\t' }); i >= 0 {
			t.Errorf("in pieces of %d: %q", size, out.String()[i:])
		}
	}
	var out strings.Builder
	w := NewWriter(&out)
	w.Write([]byte("a\xe5\x9b"))
	if w.Flush(); out.String() != `a\xe5\x9b` || !utf8.ValidString(out.String()) {
		t.Errorf("%q", &out)
	}
}

func TestArgs(t *testing.T) {
	got := fmt.Sprintf("%s|%v|%d|%v", Args([]any{"a\nb", []string{"c\x1b", "d"}, 3, fmt.Errorf("e\nf")})...)
	if want := "a\\u000ab|[c\\u001b d]|3|e\nf"; got != want {
		t.Errorf("%q; expected %q", got, want)
	}
}

// Counts are grouped, in any place; seeds, which are unsigned, and other words stay.
func TestSprintf(t *testing.T) {
	if got := Sprintf("%d of %v images, seed %d, %g", 1234567, 10_000, uint64(12345), 12345.5); got !=
		"1,234,567 of 10,000 images, seed 12345, 12345.5" {
		t.Error(got)
	}
}
