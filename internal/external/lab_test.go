//go:build external && !noxla

package external

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// What a reader does in JupyterLab, by the page's own buttons: a new notebook from the launcher's card, Run all there and in the lesson, a
// slider, a live figure that Go computes anew, interrupt, a figure saved.
func TestLab(t *testing.T) {
	folder, downloads := t.TempDir(), t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "results"), os.DirFS("../../notebooks/results")); err != nil {
		t.Fatal(err)
	}
	lesson, err := os.ReadFile("../../notebooks/certification.ipynb")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "certification.ipynb"), lesson, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CERTSPEC_TIER", "fast")
	t.Setenv("JUPYTER_CONFIG_DIR", t.TempDir())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	listener.Close()
	program := filepath.Join(t.TempDir(), "certspec") // the kernel has it on its PATH
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/certspec").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	lab := exec.Command(program, "notebook", "lab", folder, "--", "--no-browser", "--allow-root", "--port="+port,
		"--ServerApp.port_retries=0", "--IdentityProvider.token=secret", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate")
	var said bytes.Buffer
	lab.Stdout, lab.Stderr = &said, &said
	if err := lab.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- lab.Wait() }()
	defer func() {
		_ = lab.Process.Signal(os.Interrupt)
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			_ = lab.Process.Kill()
		}
	}()
	for began := time.Now(); ; time.Sleep(time.Second) {
		if answer, err := http.Get("http://" + address + "/lab?token=secret"); err == nil {
			answer.Body.Close()
			break
		}
		select {
		case err := <-done:
			t.Fatalf("JupyterLab ended: %v\n%s", err, &said)
		default:
		}
		if time.Since(began) > 3*time.Minute {
			t.Fatal("JupyterLab does not answer")
		}
	}
	ctx, _ := newBrowser(t, 10*time.Minute)
	if _, err := chromedp.Call(ctx, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
		Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllow, DownloadPath: downloads}); err != nil {
		t.Fatal(err)
	}
	size := emulation.SetDeviceMetricsOverrideParams{Width: 1500, Height: 1100, DeviceScaleFactor: 1}
	if _, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, size); err != nil {
		t.Fatal(err)
	}
	until := func(what, condition string) {
		t.Helper()
		began := time.Now()
		for !js[bool](t, ctx, condition) {
			if time.Since(began) > 4*time.Minute {
				var picture []byte
				if picture = do(t, ctx, chromedp.CaptureScreenshot()); picture != nil {
					file := filepath.Join(os.TempDir(), "certspec-lab.png")
					_ = os.WriteFile(file, picture, 0o644)
					t.Logf("the page: %s", file)
				}
				t.Fatalf("%s: not within four minutes", what)
			}
			time.Sleep(300 * time.Millisecond)
		}
		t.Logf("%s: %.0f s", what, time.Since(began).Seconds())
	}
	// visible finds the elements of the notebook in front.
	const front = `const panel = [...document.querySelectorAll(".jp-NotebookPanel")].find((p) => p.offsetParent !== null);`
	inFront := func(expression string) string {
		return "(() => {" + front + " if (!panel) return false; return " + expression + "})()"
	}
	menu := func(name, item string) {
		t.Helper()
		js[any](t, ctx, fmt.Sprintf(`(() => { const at = [...document.querySelectorAll(".lm-MenuBar-item")].find((e) => e.textContent === %q).getBoundingClientRect();
			for (const kind of ["mousemove", "mousedown", "mouseup"]) document.elementFromPoint(at.x + 5, at.y + 5).dispatchEvent(
				new MouseEvent(kind, { bubbles: true, clientX: at.x + 5, clientY: at.y + 5, button: 0 })); })()`, name))
		until("menu "+name, fmt.Sprintf(`[...document.querySelectorAll(".lm-Menu-item")].some((e) => e.textContent.startsWith(%q))`, item))
		js[any](t, ctx, fmt.Sprintf(`(() => { const e = [...document.querySelectorAll(".lm-Menu-item")].find((e) => e.textContent.startsWith(%q));
			const at = e.getBoundingClientRect();
			for (const kind of ["mousemove", "mousedown", "mouseup"]) e.dispatchEvent(
				new MouseEvent(kind, { bubbles: true, clientX: at.x + 5, clientY: at.y + 5, button: 0 })); })()`, item))
	}
	const idle = `!panel.querySelector(".jp-InputPrompt")?.textContent.includes("*") && ![...panel.querySelectorAll(".jp-InputPrompt")].some((p) => p.textContent.includes("*"))`

	do(t, ctx, chromedp.Navigate("http://"+address+"/lab?token=secret&reset"))
	until("the launcher's card", `[...document.querySelectorAll(".jp-LauncherCard")].some((c) => c.textContent.includes("New certification"))`)
	js[any](t, ctx, `[...document.querySelectorAll(".jp-LauncherCard")].find((c) => c.textContent.includes("New certification")).click()`)
	until("a new notebook", inFront(`panel.textContent.includes("A certification")`))
	until("its kernel", inFront(`panel.querySelector(".jp-Notebook-ExecutionIndicator")?.dataset.status === "idle"`))
	time.Sleep(5 * time.Second) // the page may start a kernel twice
	until("its kernel", inFront(`panel.querySelector(".jp-Notebook-ExecutionIndicator")?.dataset.status === "idle"`))
	menu("Run", "Run All Cells")
	until("all of it", inFront(`panel.textContent.includes("certification.ledger: holds") || panel.querySelector(".jp-RenderedText[data-mime-type*=stderr]") !== null || `+
		`[...panel.querySelectorAll(".jp-InputPrompt")].filter((p) => /\[\d+\]/.test(p.textContent)).length >= 4 && `+idle))
	if said := js[string](t, ctx, inFront(`[...panel.querySelectorAll(".jp-RenderedText[data-mime-type*=stderr], .jp-RenderedText[data-mime-type*=error]")].map((e) => e.textContent).join("\n")`)); said != "" {
		t.Errorf("the template says %s", said)
	}
	if n := js[int](t, ctx, inFront(`panel.querySelectorAll("[data-certspec-save]:not([hidden])").length`)); n < 4 {
		t.Errorf("%d menus to save with", n)
	}
	// A figure as PDF and its numbers; who points at a step reads the image.
	for _, kind := range []string{"pdf", "csv", "svg", "png"} {
		js[any](t, ctx, inFront(fmt.Sprintf(`(() => { const of = [...panel.querySelectorAll("[data-certspec-save]")].find((m) => m.querySelector("[value=csv]") && m.querySelector("[value=pdf]"));
			of.value = %q; of.dispatchEvent(new Event("change")); return true; })()`, kind)))
		var saved []string
		for range 50 {
			if saved, _ = filepath.Glob(filepath.Join(downloads, "*."+kind)); len(saved) > 0 {
				break
			}
			time.Sleep(200 * time.Millisecond)
		}
		if len(saved) == 0 {
			t.Errorf("no %s was saved", kind)
			continue
		}
		time.Sleep(300 * time.Millisecond)
		data, _ := os.ReadFile(saved[0])
		head := map[string]string{"pdf": "%PDF-", "csv": "run,radius", "svg": "<", "png": "\x89PNG"}[kind]
		if !bytes.HasPrefix(data, []byte(head)) || len(data) < 200 {
			t.Errorf("%s begins with %.20q and has %d bytes", kind, data, len(data))
		}
	}
	until("names of images", inFront(`[...panel.querySelectorAll("svg title")].some((e) => /^image \d+/.test(e.textContent))`))

	// A live figure: it is computed anew when its slider moves; the button ■ ends its cell.
	js[any](t, ctx, inFront(`(() => { panel.querySelector(".jp-Notebook").scrollTo(0, 1e6); return true; })()`))
	if err := os.WriteFile(filepath.Join(folder, "live.ipynb"), []byte(liveNotebook), 0o644); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, chromedp.Navigate("http://"+address+"/lab/tree/live.ipynb?reset"))
	until("live.ipynb", inFront(`panel.textContent.includes("nb.Live") && panel.querySelector(".jp-Notebook-ExecutionIndicator")?.dataset.status === "idle"`))
	menu("Run", "Run All Cells")
	until("its slider", inFront(`[...panel.querySelectorAll("[id^=certspec-live] input")].some((i) => !i.disabled)`))
	js[any](t, ctx, inFront(`(() => { const i = panel.querySelector("[id^=certspec-live] input"); i.value = 2; i.dispatchEvent(new Event("input")); return true; })()`))
	until("the figure of another choice", inFront(`panel.querySelector("[id^=certspec-live] [data-frame]").textContent.includes("title of 3")`))
	js[any](t, ctx, inFront(`(() => { [...panel.querySelectorAll("jp-button, button")].find((b) => /nterrupt/.test(b.title || b.getAttribute("aria-label") || "")).click(); return true; })()`))
	until("its end", inFront(idle+` && panel.querySelector("[id^=certspec-live]") === null && [...panel.querySelectorAll("img")].some((i) => decodeURIComponent(i.src).includes("title of 3"))`))

	// The lesson, from its first to its last cell, and one of its sliders.
	do(t, ctx, chromedp.Navigate("http://"+address+"/lab/tree/certification.ipynb?reset"))
	until("the lesson", inFront(`panel.textContent.includes("What a certificate says") && panel.querySelector(".jp-Notebook-ExecutionIndicator")?.dataset.status === "idle"`))
	menu("Run", "Run All Cells")
	cells := strings.Count(string(lesson), `"cell_type": "code"`)
	until("Run all", inFront(`panel.querySelector(".jp-Notebook-ExecutionIndicator")?.dataset.status === "busy"`))
	saved := func() (run int) {
		menu("File", "Save Notebook")
		time.Sleep(time.Second)
		data, _ := os.ReadFile(filepath.Join(folder, "certification.ipynb"))
		if bytes.Contains(data, []byte(`"output_type": "error"`)) {
			t.Fatalf("a cell of the lesson fails:\n%.600s", data[bytes.Index(data, []byte(`"output_type": "error"`)):])
		}
		return bytes.Count(data, []byte(`"execution_count": `)) - bytes.Count(data, []byte(`"execution_count": null`))
	}
	for began := time.Now(); ; {
		if js[bool](t, ctx, inFront(`panel.querySelector(".jp-Notebook-ExecutionIndicator")?.dataset.status === "idle"`)) && saved() >= cells {
			t.Logf("%d cells of the lesson: %.0f s", cells, time.Since(began).Seconds())
			break
		}
		if time.Since(began) > 4*time.Minute {
			t.Fatalf("%d of %d cells of the lesson ran", saved(), cells)
		}
		time.Sleep(2 * time.Second)
	}
	js[any](t, ctx, inFront(`(() => { const w = panel.querySelector("[data-certspec-widget]"); w?.scrollIntoView(); return true; })()`))
	until("a slider", inFront(`panel.querySelector("[data-certspec-widget] input:not([disabled])") !== null`))
	moved := js[bool](t, ctx, inFront(`(() => { const w = panel.querySelector("[data-certspec-widget]"), i = w.querySelector("input"), before = w.querySelector("[data-frame]").innerHTML;
		i.value = Number(i.max); i.dispatchEvent(new Event("input")); return before !== w.querySelector("[data-frame]").innerHTML; })()`))
	if !moved {
		t.Error("a slider of the lesson changes nothing")
	}
}

// liveNotebook has a live figure whose title says its choice.
var liveNotebook = `{"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": {"name": "certspec", "display_name": "certspec (GoNB)", "language": "go"}},
"cells": [{"cell_type": "code", "id": "a", "metadata": {}, "execution_count": null, "outputs": [], "source": ` +
	`"import (\n\t\"fmt\"\n\n\t\"github.com/certspec/certspec/nb\"\n)\n\n%%\nnb.Live([]nb.Slider{{Name: \"k\", Values: []string{\"1\", \"2\", \"3\"}}}, func(at []int) *nb.Figure {\n` +
	`\treturn nb.Lines(nb.Axes{Title: fmt.Sprintf(\"title of %d\", at[0]+1)}, nb.Line{X: []float64{0, 1}, Y: []float64{0, 1}})\n})"}]}`
