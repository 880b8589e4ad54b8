//go:build external && !noxla && linux

package external

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"image/png"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/certspec/certspec/internal/pyenv"
)

// labBudget is the time that JupyterLab in a browser may take, for each user.
const labBudget = 8 * time.Minute

// What a reader does in JupyterLab as "make lab" opens it, as root and as a plain user: press Run all in each of the
// nine notebooks and of the three in Python, move sliders, interrupt, save a figure, begin a notebook from the launcher's card.
func TestLab(t *testing.T) {
	program := builtProgram(t)
	files, _ := filepath.Glob("../../notebooks/*.ipynb")
	for part := range slices.Chunk(files, 3) {
		t.Run("Notebooks", func(t *testing.T) {
			l := openLab(t, program, false)
			for _, file := range part {
				l.everyCell(file)
			}
		})
	}
	t.Run("Python", func(t *testing.T) {
		torch := environment(t, pyenv.Bench)
		t.Setenv(pyenv.Variable, torch) // the PyTorch that a person has
		l := openLab(t, program, false)
		files, _ := filepath.Glob("../../notebooks/python/*.ipynb")
		if len(files) != 3 {
			t.Errorf("%d notebooks in Python", len(files))
		}
		for _, file := range files {
			l.notebook("python/" + filepath.Base(file))
			l.runAll()
			l.until("all cells", 3*time.Minute, "lab.waiting() === 0")
			l.succeeded()
			do(t, l.ctx, chromedp.Evaluate[any]("lab.close().then(() => 0)", chromedp.EvalAwaitPromise))
		}
	})
	t.Run("PlainUser", func(t *testing.T) {
		l := openLab(t, program, true)
		l.until("the launcher's card", time.Minute,
			`[...document.querySelectorAll(".jp-LauncherCard")].some((c) => c.textContent.includes("New certification"))`)
		js[any](t, l.ctx, `jupyterapp.commands.execute("certspec:new", { cwd: "" }), 0`)
		l.until("its file", 20*time.Second, `jupyterapp.shell.currentWidget?.context?.path === "Untitled.ipynb"`)
		l.notebook("Untitled.ipynb")
		l.firstTab()
		l.runAll()
		l.until("all cells", 3*time.Minute, "lab.waiting() === 0")
		l.succeeded()
		if js[bool](t, l.ctx, `JSON.stringify(lab.said("display_data")).includes("0 images of")`) {
			t.Error("the template's classifier certifies no image")
		}
		said := js[string](t, l.ctx, `JSON.stringify(lab.said("stream"))`)
		if !strings.Contains(said, "certification.ledger: holds") {
			t.Errorf("the last cell of the template says %s", said)
		}
	})
}

// everyCell opens a notebook, runs all its cells, and does what a reader does with its figures.
func (l *lab) everyCell(file string) {
	l.Helper()
	l.notebook(filepath.Base(file))
	l.runAll()
	// A cell with live sliders, which ask Go, waits for them.
	l.until("all cells", 3*time.Minute, `lab.waiting() === 0 || lab.waiting() === 1 && lab.all("`+live+`").length > 0`)
	if js[int](l.T, l.ctx, "lab.waiting()") > 0 {
		l.moveLive()
		l.click(`[data-command="notebook:interrupt-kernel"]`, 0.5)
		l.until("the end of the cell", 20*time.Second, "lab.waiting() === 0")
	}
	l.succeeded()
	switch filepath.Base(file) {
	case "calibration.ipynb": // a slider without a kernel: the page holds all its frames
		const still = "[data-certspec-widget] [data-frame]"
		before := js[string](l.T, l.ctx, `lab.all("`+still+`")[0].innerHTML`)
		l.click("[data-certspec-widget] input", 1)
		l.until("another frame", 10*time.Second, fmt.Sprintf(`lab.all("%s")[0].innerHTML !== %q`, still, before))
	case "quickstart.ipynb":
		l.saveFigure()
	}
	do(l.T, l.ctx, chromedp.Evaluate[any]("lab.close().then(() => 0)", chromedp.EvalAwaitPromise))
}

// firstTab presses Tab as the first thing that is asked of a kernel, whose completion is still loading: it is held
// back until the page has said so. Then the list comes.
func (l *lab) firstTab() {
	l.Helper()
	var held []int
	for began := time.Now(); held == nil; time.Sleep(20 * time.Millisecond) {
		found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, process := range found {
			line, _ := os.ReadFile(process) // of a process that may have ended
			if bytes.Contains(line, []byte("gopls\x00-listen\x00unix;"+l.temporary)) {
				id, _ := strconv.Atoi(strings.Split(process, "/")[2])
				held = append(held, id)
			}
		}
		if time.Since(began) > time.Minute {
			l.Fatal("the kernel has started no gopls")
		}
	}
	signal := func(s syscall.Signal) {
		for _, id := range held {
			if err := syscall.Kill(id, s); err != nil {
				l.Error(err)
			}
		}
	}
	signal(syscall.SIGSTOP)
	js[any](l.T, l.ctx, `["notebook:insert-cell-above", "notebook:enter-edit-mode"].forEach((c) =>
		jupyterapp.commands.execute(c)), 0`)
	l.until("a cell to write in", 20*time.Second, "lab.panel.content.activeCell?.editor?.hasFocus()")
	do(l.T, l.ctx, chromedp.KeyEvent("rs.Re"+kb.Tab))
	l.until("a word while names are loading", 20*time.Second, `document.body.innerText.includes("names are loading")`)
	signal(syscall.SIGCONT)
	l.until("the names that Tab asks for", 3*time.Minute,
		`[...document.querySelectorAll(".jp-Completer-item")].some((e) => e.textContent.includes("ReadLedger"))`)
	js[any](l.T, l.ctx, `["completer:dismiss", "notebook:enter-command-mode", "notebook:delete-cell"].filter((c) =>
		jupyterapp.commands.hasCommand(c)).forEach((c) => jupyterapp.commands.execute(c)), 0`)
}

// live are the sliders that ask Go, once they may be moved.
const live = "[id^=certspec-live] input:not([disabled])"

// moveLive moves the first of them by the mouse, and by a key, which JupyterLab does not take for a command.
func (l *lab) moveLive() {
	l.Helper()
	const frame = `lab.all("[id^=certspec-live] [data-frame]")[0].innerHTML`
	before := js[string](l.T, l.ctx, frame)
	l.click(live, 1)
	l.until("the figure of the last value", time.Minute, fmt.Sprintf("%s !== %q", frame, before))
	before = js[string](l.T, l.ctx, frame)
	do(l.T, l.ctx, chromedp.KeyEvent(kb.ArrowLeft))
	l.until("the figure of the value before it", time.Minute, fmt.Sprintf("%s !== %q", frame, before))
}

// lab is a JupyterLab in a browser.
type lab struct {
	*testing.T
	ctx       context.Context
	downloads string
	temporary string // where its kernels have theirs
}

// openLab starts JupyterLab on a copy of the notebooks and opens it in a browser. Where root is to be a plain user, he
// is one in a namespace of his own: his files and the cache stay his.
func openLab(t *testing.T, program string, plain bool) *lab {
	t.Helper()
	l, folder := &lab{T: t, downloads: t.TempDir(), temporary: t.TempDir()}, t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("../../notebooks")); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	listener.Close()
	args := []string{"notebook", "lab", folder, "--", "--no-browser", "--port=" + port, "--ServerApp.port_retries=0",
		"--IdentityProvider.token=secret", "--LabApp.expose_app_in_browser=True"}
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 && plain {
		attributes.Cloneflags = syscall.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: 1000, HostID: 0, Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: 1000, HostID: 0, Size: 1}}
	} else {
		args = append(args, "--allow-root")
	}
	server := exec.Command(program, args...)
	server.SysProcAttr = attributes
	server.Env = append(os.Environ(), "CERTSPEC_TIER=fast", "JUPYTER_CONFIG_DIR="+t.TempDir(),
		"TMPDIR="+l.temporary)
	said, err := os.Create(filepath.Join(t.TempDir(), "said")) // a file: kernels may hold on to it
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	server.Stdout, server.Stderr = said, said
	if err := server.Start(); err != nil {
		if attributes.Cloneflags != 0 {
			t.Skipf("root cannot become a plain user here: %v", err)
		}
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Wait() }()
	t.Cleanup(func() {
		// It ends its kernels, too, which a signal may leave behind.
		if answer, err := http.Post("http://"+address+"/api/shutdown?token=secret", "application/json", nil); err == nil {
			answer.Body.Close()
		}
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			_ = syscall.Kill(-server.Process.Pid, syscall.SIGKILL)
			<-done
		}
	})
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		if answer, err := http.Get("http://" + address + "/lab?token=secret"); err == nil {
			answer.Body.Close()
			break
		}
		select {
		case err := <-done:
			done <- err
			words, _ := os.ReadFile(said.Name())
			t.Fatalf("JupyterLab ended: %v\n%s", err, words)
		default:
		}
		if time.Since(began) > 4*time.Minute { // the first time all of it is installed
			t.Fatal("JupyterLab does not answer within four minutes")
		}
	}
	l.ctx, _ = newBrowser(t, labBudget)
	if _, err := chromedp.Call(l.ctx, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
		Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllow, DownloadPath: l.downloads}); err != nil {
		t.Fatal(err)
	}
	size := emulation.SetDeviceMetricsOverrideParams{Width: 1500, Height: 1100, DeviceScaleFactor: 1}
	if _, err := chromedp.Call(l.ctx, emulation.SetDeviceMetricsOverride, size); err != nil {
		t.Fatal(err)
	}
	do(t, l.ctx, chromedp.Navigate("http://"+address+"/lab?token=secret"))
	l.until("JupyterLab", time.Minute, `globalThis.jupyterapp?.commands.hasCommand("docmanager:open") &&
		document.getElementById("jupyterlab-splash") === null`)
	js[any](t, l.ctx, labScript)
	return l
}

// labScript asks the program of the page, not its elements: a cell outside of the window may have none.
const labScript = `globalThis.lab = {
	open: async (path) => {
		lab.panel = await jupyterapp.commands.execute("docmanager:open", { path, factory: "Notebook" });
		await lab.panel.revealed;
		await lab.panel.sessionContext.ready;
		await lab.panel.sessionContext.session?.kernel?.info; // it has answered
		await jupyterapp.restored; // which may take the focus
		jupyterapp.shell.activateById(lab.panel.id);
	},
	close: async () => {
		await lab.panel.context.save();
		await lab.panel.sessionContext.shutdown();
		lab.panel.dispose();
	},
	all: (selector) => lab.panel.node.querySelectorAll(selector),
	show: async (selector) => {
		const e = lab.all(selector)[0], notebook = lab.panel.content;
		const cell = notebook.widgets.findIndex((c) => c.node.contains(e));
		if (cell >= 0) await notebook.scrollToItem(cell, "center");
		e.scrollIntoView({ block: "center" });
	},
	code: () => lab.panel.content.widgets.filter((c) => c.model.type === "code"),
	waiting: () => lab.code().filter((c) => c.model.executionState !== "idle").length,
	said: (kind) => lab.code().flatMap((c) => c.model.outputs.toJSON()).filter((o) => o.output_type === kind),
}; 0`

// until waits for a condition of the page. Where it does not come the page is kept as a picture.
func (l *lab) until(what string, most time.Duration, condition string) {
	l.Helper()
	began := time.Now()
	for ; !js[bool](l.T, l.ctx, "!!("+condition+")"); time.Sleep(200 * time.Millisecond) {
		if time.Since(began) > most {
			file := filepath.Join(os.TempDir(), "certspec-lab.png")
			_ = os.WriteFile(file, do(l.T, l.ctx, chromedp.CaptureScreenshot()), 0o644)
			l.Fatalf("%s: not within %v; %s shows the page", what, most, file)
		}
	}
	l.Logf("%s: %.1f s", what, time.Since(began).Seconds())
}

// notebook opens a notebook, whose kernel answers.
func (l *lab) notebook(name string) {
	l.Helper()
	do(l.T, l.ctx, chromedp.Evaluate[any](fmt.Sprintf("lab.open(%q).then(() => 0)", name), chromedp.EvalAwaitPromise))
	l.until(name, time.Minute, `lab.panel.sessionContext.session?.kernel?.status === "idle" &&
		jupyterapp.shell.currentWidget === lab.panel`)
}

// runAll does what "Run All Cells" of the menu Run does, and waits until cells run.
func (l *lab) runAll() {
	l.Helper()
	js[any](l.T, l.ctx, `jupyterapp.commands.execute("runmenu:run-all"), 0`)
	l.until("the first cell", 20*time.Second, "lab.waiting() > 0")
}

// click presses the mouse on the first element of a selector, at a share of its width. JupyterLab's buttons listen to
// the mouse alone.
func (l *lab) click(selector string, share float64) {
	l.Helper()
	do(l.T, l.ctx, chromedp.Evaluate[any](fmt.Sprintf("lab.show(%q).then(() => 0)", selector), chromedp.EvalAwaitPromise))
	var at [2]float64
	for before := at; ; before = at { // what lies above an element may still come, and move it
		at = js[[2]float64](l.T, l.ctx, fmt.Sprintf(`(() => {
			const e = lab.all(%q)[0];
			const r = e.getBoundingClientRect();
			return [r.left + 4 + %g * (r.width - 8), r.top + r.height / 2];
		})()`, selector, share))
		if at == before {
			break
		}
		time.Sleep(300 * time.Millisecond)
	}
	do(l.T, l.ctx, chromedp.MouseClickXY(at[0], at[1]))
}

// succeeded wants every cell to have run, without an error.
func (l *lab) succeeded() {
	l.Helper()
	for _, e := range js[[]struct{ Ename, Evalue string }](l.T, l.ctx, `lab.said("error")`) {
		l.Errorf("a cell fails: %s: %s", e.Ename, e.Evalue)
	}
	if n := js[int](l.T, l.ctx, "lab.code().filter((c) => !c.model.executionCount).length"); n > 0 {
		l.Errorf("%d cells did not run", n)
	}
}

// saveFigure saves the first figure that has numbers in each form, by its menu, and reads what came.
func (l *lab) saveFigure() {
	l.Helper()
	reads := map[string]func(data []byte) error{
		"pdf": func(data []byte) error {
			if !bytes.HasPrefix(data, []byte("%PDF-")) || !bytes.Contains(data, []byte("%%EOF")) {
				return fmt.Errorf("no PDF: it begins with %.20q", data)
			}
			return nil
		},
		"svg": func(data []byte) error {
			var drawing struct {
				XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
				Label   string   `xml:"aria-label,attr"`
			}
			if err := xml.Unmarshal(data, &drawing); err != nil || drawing.Label == "" {
				return fmt.Errorf("no drawing with words: %w", err)
			}
			return nil
		},
		"png": func(data []byte) error {
			picture, err := png.Decode(bytes.NewReader(data))
			if err == nil && picture.Bounds().Dx() < 500 {
				err = fmt.Errorf("%d pixels wide, want 500 or more", picture.Bounds().Dx())
			}
			return err
		},
		"csv": func(data []byte) error {
			rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
			if err == nil && (len(rows) < 10 || rows[0][1] != "radius") {
				err = fmt.Errorf("%d rows, the first %q, want the steps of a curve", len(rows), rows[0])
			}
			return err
		},
	}
	for kind, read := range reads {
		js[any](l.T, l.ctx, fmt.Sprintf(`(() => {
			const menu = [...lab.all("[data-certspec-save]:has([value=csv]):has([value=pdf])")][0];
			menu.value = %q;
			menu.dispatchEvent(new Event("change"));
		})()`, kind))
		var saved []string
		for range 50 {
			if saved, _ = filepath.Glob(filepath.Join(l.downloads, "*."+kind)); len(saved) > 0 {
				break
			}
			time.Sleep(200 * time.Millisecond)
		}
		if len(saved) == 0 {
			l.Errorf("no %s was saved", kind)
			continue
		}
		data, err := os.ReadFile(saved[0])
		if err == nil {
			err = read(data)
		}
		if err != nil {
			l.Errorf("%s: %v", filepath.Base(saved[0]), err)
		}
	}
}
