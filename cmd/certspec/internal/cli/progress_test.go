package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/certspec/certspec/progress"
)

func TestLineProgress(t *testing.T) {
	var out bytes.Buffer
	clock := time.Unix(0, 0)
	report := lineProgress(&out, func() time.Time { return clock })
	s := progress.State{Task: "train", Done: 1.257, Total: 30, Unit: "epochs", Rate: 287.6, RateUnit: "images", Left: 90 * time.Second, Note: "loss 0.81"}
	for range 12 { // 0 s … 11 s: one line, at 10 s
		report(s)
		clock = clock.Add(time.Second)
	}
	s.Done, s.Final = 30, true
	report(s)
	want := "train: 1.2 of 30 epochs, 288 images/s, 1m30s left, loss 0.81\n" +
		"train: 30 of 30 epochs, 288 images/s, loss 0.81\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestBarProgressEndsInOneLine(t *testing.T) {
	var out bytes.Buffer
	report := barProgress(&out)
	s := progress.State{Task: "certify", Unit: "images", Total: 10}
	for s.Done = 0; s.Done < 10; s.Done++ {
		report(s)
	}
	s.Done, s.Final = 10, true
	report(s)
	lines := bytes.Split(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n"))
	if len(lines) != 1 || !bytes.HasSuffix(lines[0], []byte("\rcertify: 10 of 10 images")) {
		t.Errorf("got %q", out.String())
	}
	if !bytes.Contains(out.Bytes(), []byte("50%")) {
		t.Errorf("no bar at half way: %q", out.String())
	}
}

func TestJSONProgress(t *testing.T) {
	var out bytes.Buffer
	report := jsonProgress(&out)
	report(progress.State{Task: "certify", Done: 3, Total: 10, Unit: "images", Left: 90 * time.Second})
	report.Say("a slow engine")
	want := `{"done":3,"final":false,"left":90,"message":"","task":"certify","text":"certify: 3 of 10 images, 1m30s left","total":10,"unit":"images"}` + "\n" +
		`{"done":0,"final":false,"left":0,"message":"a slow engine","task":"","text":"a slow engine","total":0,"unit":""}` + "\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// A message is printed at once and in full, also between two lines of progress.
func TestMessages(t *testing.T) {
	var out bytes.Buffer
	for _, report := range []progress.Reporter{lineProgress(&out, time.Now), barProgress(&out)} {
		out.Reset()
		report.Say("a slow engine")
		report(progress.State{Task: "train", Done: 1, Total: 2, Unit: "epochs", Final: true})
		if got := out.String(); got != "certspec: a slow engine\ntrain: 1 of 2 epochs\n" {
			t.Errorf("%q", got)
		}
	}
}
