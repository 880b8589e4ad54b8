package nb

import (
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// What stands in for a data set is named once in a cell, before its first output.
func TestStandInIsSaidFirst(t *testing.T) {
	for _, name := range []string{"CERTSPEC_DATA", "CERTSPEC_CACHE", "HOME"} {
		t.Setenv(name, t.TempDir())
	}
	sent := page(t)
	d := Data("fashionmnist/test[count=10]")
	if d.String() != "synthetic/test[count=10]" {
		t.Fatalf("%v", d)
	}
	Data("fashionmnist/test[count=10]")
	Data("synthetic/train")
	if len(*sent) > 0 {
		t.Fatalf("said before anything is shown: %v", *sent)
	}
	Show("one")
	Show("two")
	if len(*sent) != 3 {
		t.Fatalf("%d outputs, want a note and two texts", len(*sent))
	}
	note := (*sent)[0].Data
	if html := note[protocol.MIMETextHTML].(string); !strings.Contains(html, `class="`+standIn+`"`) || !strings.Contains(html, "certspec dataset fetch fashionmnist") {
		t.Errorf("the note is %s", html)
	}
	if text := note[protocol.MIMETextPlain].(string); !strings.HasPrefix(text, "Drawn shapes in place of fashionmnist/test[count=10], ") {
		t.Errorf("the note is %s", text)
	}
	standIns, saidStandIns = nil, nil
}
