package nb

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/rule"
	"github.com/certspec/certspec/spectral"
)

// page stands in for the notebook and collects what is sent to it.
func page(t *testing.T) *[]*protocol.DisplayData {
	t.Helper()
	var sent []*protocol.DisplayData
	inNotebook, send = true, func(d *protocol.DisplayData) { sent = append(sent, d) }
	t.Cleanup(func() { inNotebook = false })
	return &sent
}

func TestShowKeepsTheOrder(t *testing.T) {
	sent := page(t)
	Show("one", 2, nastyTable(), fmt.Errorf("three"), Curve(run(0.25, 0.5)), Markdown("*four*"), run(0.25, 0.5).CertifiedAccuracy(0))
	want := []protocol.MIMEType{protocol.MIMETextPlain, protocol.MIMETextHTML, protocol.MIMETextPlain, protocol.MIMEImageSVG,
		protocol.MIMETextHTML, protocol.MIMETextMarkdown}
	if len(*sent) < len(want) {
		t.Fatalf("%d outputs, want at least %d", len(*sent), len(want))
	}
	for i, kind := range want {
		if _, ok := (*sent)[i].Data[kind]; !ok {
			t.Errorf("output %d has no %s", i, kind)
		}
		if (*sent)[i].Data[protocol.MIMETextPlain] == "" {
			t.Errorf("output %d says nothing to those who read plain text", i)
		}
	}
	if text := (*sent)[0].Data[protocol.MIMETextPlain]; text != "one\n2" {
		t.Errorf("text is %q", text)
	}
}

// A value without a form ends the cell, alone, folded and live, in the place of addresses.
func TestShowRefusesAddresses(t *testing.T) {
	page(t)
	ended := 0
	stderr := os.Stderr
	os.Stderr, exit = nil, func(int) { ended++ }
	t.Cleanup(func() { os.Stderr, exit = stderr, os.Exit })
	formless := &struct{ To *int }{new(int)}
	Show(formless)
	Show(Fold("more", "text", formless))
	piece(formless)
	if ended != 3 {
		t.Errorf("%d of 3 values without a form ended the cell", ended)
	}
}

func TestShowPrintsOutsideNotebooks(t *testing.T) {
	var out bytes.Buffer
	stdout = &out
	defer func() { stdout = os.Stdout }()
	Show("text", nastyTable(), Curve(run(0.25, 0.5)))
	for _, want := range []string{"text\n", nasty, "certified accuracy of the smoothed classifier against"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the terminal shows no %q:\n%s", want, out.String())
		}
	}
}

// Progress may use one element of the page, and must leave it empty.
func TestProgressLeavesNoTrail(t *testing.T) {
	sent := page(t)
	report := Progress()
	for i := range 1000 {
		report(progress.State{Task: "certify <toy>", Done: float64(i), Total: 1000, Unit: "images", Rate: 41200, RateUnit: "samples", Left: 31 * time.Second})
	}
	report(progress.State{Task: "certify", Done: 1000, Total: 1000, Unit: "images", Final: true})
	if n := len(*sent); n < 2 || n > 10 {
		t.Fatalf("%d messages for a thousand quick reports", n)
	}
	for _, d := range *sent {
		if d.DisplayID == "" || d.DisplayID != (*sent)[0].DisplayID {
			t.Error("progress uses more than one element")
		}
	}
	first := (*sent)[0].Data[protocol.MIMETextHTML].(string)
	if want := "certify &lt;toy&gt;: 0 of 1000 images, 41200 samples/s, 31s left"; !strings.Contains(first, want) {
		t.Errorf("progress says %q, want %q in it", first, want)
	}
	if last := (*sent)[len(*sent)-1].Data[protocol.MIMETextHTML]; last != "" {
		t.Errorf("progress leaves %q", last)
	}
	*sent = nil
	Progress()(progress.State{Final: true})
	if len(*sent) != 0 {
		t.Error("work that was finished before leaves an element")
	}
}

// stopped runs f, which must end the cell, and returns the exit code and what was said.
func stopped(t *testing.T, f func()) (code int, said string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = w
	exit = func(c int) { code = c; panic(t) }
	defer func() {
		if p := recover(); p != nil && p != any(t) {
			panic(p)
		}
		os.Stderr, exit = stderr, os.Exit
		w.Close()
		var b bytes.Buffer
		_, _ = b.ReadFrom(r)
		said = b.String()
	}()
	f()
	t.Error("the cell goes on")
	return 0, ""
}

func TestErrorsEndTheCell(t *testing.T) {
	code, said := stopped(t, func() { Must(3, errors.New("no such model")) })
	if code != 1 || !strings.Contains(said, "show_test.go:") || !strings.Contains(said, "no such model") {
		t.Errorf("exit code %d, %q", code, said)
	}
	code, said = stopped(t, func() { Check(fmt.Errorf("certify: %w", context.Canceled)) })
	if code != 75 || !strings.Contains(said, "run the cell again") {
		t.Errorf("after an interrupt: exit code %d, %q", code, said)
	}
	code, said = stopped(t, func() { Assert(1 > 2, "%d is not more than %d", 1, 2) })
	if code != 1 || !strings.Contains(said, "1 is not more than 2") {
		t.Errorf("after a failed assertion: exit code %d, %q", code, said)
	}
	t.Setenv(tierVariable, "quick")
	code, said = stopped(t, func() { Tier("paper") })
	if code != 1 || !strings.Contains(said, `"quick"`) {
		t.Errorf("unknown tier: exit code %d, %q", code, said)
	}
}

// A cell whose kernel is gone must stop as if it were interrupted. The cell is this test again, started
// by a shell that ends at once.
func TestCellEndsWithItsKernel(t *testing.T) {
	if mark := os.Getenv("NB_TEST_CELL"); mark != "" {
		testkit.Write(t, []byte("runs"), mark)
		<-Context().Done()
		testkit.Write(t, []byte("stopped"), mark)
		return
	}
	if runtime.GOOS == "windows" {
		t.Skip("GoNB does not run on native Windows")
	}
	mark := filepath.Join(t.TempDir(), "mark")
	cmd := exec.Command("/bin/sh", "-c", `"$0" -test.run=TestCellEndsWithItsKernel >/dev/null 2>&1 & while ! test -s "$NB_TEST_CELL"; do sleep 0.1; done`, os.Args[0])
	cmd.Env = append(os.Environ(), "NB_TEST_CELL="+mark, protocol.GONB_PIPE_ENV+"=none")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for range 300 {
		if data, _ := os.ReadFile(mark); string(data) == "stopped" {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("the cell goes on without its kernel")
}

func TestTheEnvironmentDecidesTheTier(t *testing.T) {
	for tier, want := range map[string]int{"": 2, "paper": 2, "fast": 1} {
		t.Setenv(tierVariable, tier)
		if got := Pick(Tier("paper"), 1, 2); got != want {
			t.Errorf("tier %q picks %d, want %d", tier, got, want)
		}
	}
}

// fixed is a data set in memory.
type fixed struct{ *dataset.Images }

func (f fixed) Load(context.Context) (*dataset.Images, error) { return f.Images, nil }

func TestGalleryNamesWhatIsWrong(t *testing.T) {
	data := fixed{&dataset.Images{Name: "toy/test", Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1},
		Classes: []string{"cat", "dog"}, IDs: []int{4, 8, 12}, Labels: []int{0, 1, 1}, Pixels: []uint8{0, 100, 200}}}
	rows := rs.Rows{
		{Image: 8, Label: 1, Outcome: rule.Outcome{Class: 1, Radius: 0.5999}},
		{Image: 12, Label: 1, Outcome: rule.Outcome{Class: 0, Radius: 0.25}},
		{Image: 4, Label: 0, Outcome: rule.Outcome{Class: int(classifier.Miss)}},
	}
	drawing, err := Gallery(data, rows).svg()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("\n", "", "\t", "").Replace(svgText(t, drawing))
	for _, want := range []string{"dogradius 0.599", "catradius 0.250label dog", "no certificatelabel cat"} {
		if !strings.Contains(text, want) {
			t.Errorf("the gallery says %q, want %q in it", text, want)
		}
	}
	titled := Gallery(data, rows)
	titled.Title = "my title"
	if text := svgText(t, must2(titled.svg())(t)); !strings.Contains(text, "my title") || strings.Contains(text, "3 images") {
		t.Errorf("with a title of its own the gallery says %q", text)
	}
	code, said := stopped(t, func() { Gallery(data, rs.Rows{{Image: 5}}) })
	if code != 1 || !strings.Contains(said, "image 5 is not in toy/test") {
		t.Errorf("rows of other data: exit code %d, %q", code, said)
	}
	noisyText, err := Noisy(data, 2, 0.25).svg()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no noise", "σ = 0.25", "cat", "dog"} {
		if !strings.Contains(svgText(t, noisyText), want) {
			t.Errorf("the noisy images lack %q", want)
		}
	}
}

// Pictures say what is to be seen to those who do not see them: beside the picture, and in the drawing itself.
func TestPicturesHaveAlternativeText(t *testing.T) {
	sent := page(t)
	f := Lines(Axes{X: "x", Y: "y", Title: `errors < 1 & "more"`}, Line{X: []float64{0, 1}, Y: []float64{0, 1}})
	Show(f)
	shown := (*sent)[0]
	if shown.Data[protocol.MIMETextPlain] != f.Caption {
		t.Errorf("the plain form is %q, want %q", shown.Data[protocol.MIMETextPlain], f.Caption)
	}
	// What GoNB cannot pass on, it loses with the picture.
	if err := gob.NewEncoder(io.Discard).Encode(shown); err != nil {
		t.Errorf("the picture does not get through to GoNB: %v", err)
	}
	svg := shown.Data[protocol.MIMEImageSVG].(string)
	if !strings.Contains(svg, `<svg role="img" aria-label="errors &lt; 1 &amp; &#34;more&#34;" `) {
		t.Errorf("the drawing does not say its caption: %.300s", svg)
	}
}

// A fold holds tables with their columns and pictures with their alternative texts, behind an escaped line.
func TestFold(t *testing.T) {
	data, err := Fold("a < b", Columns("x").Add(1), Lines(Axes{Caption: "a \"line\""}), "words").(folded).bundle()
	if err != nil {
		t.Fatal(err)
	}
	page := data[protocol.MIMETextHTML].(string)
	for _, want := range []string{"<details><summary>a &lt; b</summary>", "<td", `<img alt="a &#34;line&#34;"`,
		"data:image/svg+xml;base64,", "<p>words</p>", "</details>"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in %.300s", want, page)
		}
	}
}

// What has a picture of its own is shown as one: a run by its curve and table, a map, bins of a calibration, images.
func TestShowDefaults(t *testing.T) {
	sent := page(t)
	m := &spectral.Map{Height: 4, Width: 4, U: []int{0, 1}, V: []int{0, 1}, Values: []float64{1, 2, 3, 4}}
	images := &dataset.Images{Name: "toy/test[count=1]", Shape: pixel.Shape{Height: 2, Width: 2, Channels: 1},
		Classes: []string{"a"}, IDs: []int{0}, Labels: []int{0}, Pixels: make([]uint8, 4)}
	for _, of := range []struct {
		value any
		parts int
	}{{run(0.25, 0.5), 3}, {m, 2}, {&spectral.Spectrum{Images: 3, Amplitude: *m}, 2}, {images, 2},
		{[]calib.Bin{{Confidence: 0.5, Accuracy: 0.5, Count: 1}}, 2}} { // a menu below each picture
		*sent = nil
		Show(of.value)
		if _, picture := (*sent)[0].Data[protocol.MIMEImagePNG]; !picture || len(*sent) != of.parts {
			t.Errorf("%T: %d parts, the first a picture: %v", of.value, len(*sent), picture)
		}
	}
}

// Records of models become a table with a column for each label, accuracy and number; what a record lacks is left open.
func TestShowOfRecords(t *testing.T) {
	sent := page(t)
	Show([]lines.Record{
		{Model: "vgg", Labels: map[string]string{"pruning": "lth"}, Percent: map[string]float64{"fog": 70.5}},
		{Model: "conv", Numbers: map[string]float64{"jacobian": 2.25}},
	})
	text, _ := (*sent)[0].Data[protocol.MIMETextPlain].(string)
	for _, want := range []string{"model", "pruning", "fog", "jacobian", "lth", "70.5", "2.25", "–"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
