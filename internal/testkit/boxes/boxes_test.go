package boxes

import (
	"strings"
	"testing"
)

// Texts that overlap, leave the view, or do so turned are found; neighbours are not.
func TestFaults(t *testing.T) {
	for body, want := range map[string]string{
		`<text x="10" y="50" font-size="10">left</text><text x="60" y="50" font-size="10">right</text>`:                                                                                "",
		`<text x="10" y="50" font-size="10">left</text><text x="20" y="52" font-size="10">right</text>`:                                                                                "collide",
		`<text x="10" y="50" font-size="10">line</text><text x="10" y="62" font-size="10">line</text>`:                                                                                 "",
		`<text x="85" y="50" font-size="10">clipped</text>`:                                                                                                                            "clipped",
		`<text x="85" y="50" font-size="10" text-anchor="end">inside</text>`:                                                                                                           "",
		`<g transform="rotate(90)"><text x="80" y="-20" font-size="10">turned</text></g>`:                                                                                              "clipped",
		`<g transform="scale(1, -1) translate(0, -100)"><text x="10" y="-50" transform="scale(1, -1)" style="font-size:10px">up</text></g>`:                                            "",
		`<g transform="scale(1, -1) translate(0, -100)"><text x="10" y="-50" transform="scale(1, -1)" style="font-size:10px">up</text></g><text x="10" y="50" font-size="9">on</text>`: "collide",
	} {
		faults, err := Faults([]byte(`<svg viewBox="0 0 100 100">` + body + `</svg>`))
		if err != nil || (want == "") != (len(faults) == 0) || !strings.Contains(strings.Join(faults, ""), want) {
			t.Errorf("%s: %q, %v; want %q", body, faults, err, want)
		}
	}
}
