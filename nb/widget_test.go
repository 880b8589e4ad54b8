package nb

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// small has 2 × 3 pictures, each of a piece of its first slider and one of both.
func smallWidget() *Widget {
	return &Widget{Caption: "a widget", Static: []any{"in words"},
		Sliders: []Slider{{Name: "a", Values: []string{"0", "1"}}, {Name: "b<", Values: []string{"x", "y", "z"}, Start: 2}},
		Frame: func(at []int) []string {
			return []string{fmt.Sprintf("<b>%d</b>", at[0]), fmt.Sprintf("</script>%d-%d", at[0], at[1])}
		},
	}
}

// What the page's script reads must give each choice of the sliders its picture, and stay inside the script.
func TestWidgetHasEveryFrame(t *testing.T) {
	w := smallWidget()
	page, err := w.HTML()
	if err != nil {
		t.Fatal(err)
	}
	static, script, ok := strings.Cut(page, "<script>")
	if !ok || strings.Count(script, "</script>") != 1 {
		t.Fatalf("no script, or one that its data ends:\n%s", page)
	}
	found := regexp.MustCompile(`const data = (.*);`).FindStringSubmatch(script)
	if found == nil {
		t.Fatalf("no data in the script:\n%s", script)
	}
	var data widgetData
	if err := json.Unmarshal([]byte(found[1]), &data); err != nil {
		t.Fatal(err)
	}
	if len(data.Pieces) != 2+6 {
		t.Errorf("%d pieces are stored, want each of 8 once", len(data.Pieces))
	}
	for a := range 2 {
		for b := range 3 {
			// As widget.js numbers the choices.
			var got string
			for _, piece := range data.Frames[a*3+b] {
				got += data.Pieces[piece]
			}
			if want := strings.Join(w.Frame([]int{a, b}), ""); got != want {
				t.Errorf("choice %d, %d shows %q, want %q", a, b, got, want)
			}
		}
	}
	for _, want := range []string{"<b>0</b>", "0-2", "b&lt;", "<output>z</output>"} {
		if !strings.Contains(static, want) {
			t.Errorf("without a script the page lacks %q", want)
		}
	}
	if again, _ := smallWidget().HTML(); again != page {
		t.Error("the same widget gives two different pages")
	}
	w.Sliders[1].Start = 3
	if _, err := w.HTML(); err == nil {
		t.Error("a start behind the last value is no error")
	}
}

func TestWidgetIsShownWithItsStaticForm(t *testing.T) {
	sent := page(t)
	Show(smallWidget())
	if len(*sent) != 2 {
		t.Fatalf("%d outputs, want the widget and its static form", len(*sent))
	}
	if html, _ := (*sent)[0].Data[protocol.MIMETextHTML].(string); !strings.Contains(html, "data-certspec-widget") {
		t.Error("the first output is no widget")
	}
	if text := (*sent)[1].Data[protocol.MIMETextPlain]; text != "The same without a slider\nin words" {
		t.Errorf("the static form is %q", text)
	}
}
