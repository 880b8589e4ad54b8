//go:build external && !noxla

package external

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/certspec/certspec/internal/jupyter"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
)

// The button "interrupt" of Jupyter stops a certification in a cell soon and cleanly, the kernel lives on, and the same cell again goes on there.
func TestInterruptInJupyter(t *testing.T) {
	data, folder := t.TempDir(), t.TempDir()
	// The server of completion lives on for some minutes, and what it starts writes to the folder.
	t.Cleanup(func() {
		for range 50 {
			environs, _ := filepath.Glob("/proc/[0-9]*/environ")
			left := false
			for _, file := range environs {
				environ, _ := os.ReadFile(file)
				if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil &&
					bytes.Contains(environ, []byte("TMPDIR="+folder+"\x00")) {
					left = true
					if process, err := os.FindProcess(pid); err == nil {
						_ = process.Kill()
					}
				}
			}
			if !left {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	if _, err := jupyter.Install(context.Background(), data, "", false, progress.Messages(t.Logf)); err != nil {
		t.Fatal(err)
	}
	program := environment(t, pyenv.Notebook)
	model, err := filepath.Abs("../../notebooks/models/cifar10-resnet20-s025")
	if err != nil {
		t.Fatal(err)
	}
	type cell struct {
		Shown, Said string
		Status      string
		Waited      float64 // seconds from the interrupt to the end
	}
	var got struct{ First, Alive, Second cell }
	first := filepath.Join(folder, "first.ledger")
	pythonOf(t, program, `
import os, shutil, time
from jupyter_client.manager import KernelManager
os.environ.update(TMPDIR=arg["folder"], JUPYTER_DATA_DIR=arg["data"], JUPYTER_RUNTIME_DIR=arg["data"] + "/runtime", JUPYTER_CONFIG_DIR=arg["data"] + "/config", IPYTHONDIR=arg["data"])
kernel = KernelManager(kernel_name=arg["kernel"])
kernel.kernel_spec_manager.kernel_dirs = [arg["data"] + "/kernels"]
log = open(arg["data"] + "/log", "w")
kernel.start_kernel(cwd=arg["folder"], stdout=log, stderr=log)
client = kernel.client()
client.start_channels()

def run(code, interrupt=False):
    cell = dict(Shown="", Said="", Status="", Waited=0.0)
    request, began = client.execute(code), None
    while True:
        m = client.get_iopub_msg(timeout=300)
        if m["parent_header"].get("msg_id") != request:
            continue
        kind, content = m["msg_type"], m["content"]
        if kind == "stream":
            cell["Said"] += content["text"]
        elif kind == "error":
            cell["Said"] += content["evalue"]
        elif kind in ("display_data", "update_display_data"):
            cell["Shown"] += str(content["data"])
            ledger = arg["folder"] + "/run.ledger" # while the cell compiles there is none
            if interrupt and began is None and os.path.exists(ledger) and os.path.getsize(ledger) > arg["least"]:
                began = time.time()
                kernel.interrupt_kernel()
        elif kind == "status" and content["execution_state"] == "idle":
            cell["Status"] = client.get_shell_msg(timeout=60)["content"]["status"]
            if began:
                cell["Waited"] = time.time() - began
            return cell

try:
    client.wait_for_ready(timeout=120)
    answer = dict(First=run(arg["cell"], True))
    shutil.copy(arg["folder"] + "/run.ledger", arg["first"])
    answer["Alive"] = run("%%\nprintln(6*7)")
    answer["Second"] = run(arg["cell"])
    run('import "github.com/certspec/certspec/spectral"\n\n%%\nprintln(spectral.CIFAR10)') # completion looks at it
finally:
    kernel.shutdown_kernel(now=True)
`, map[string]any{"data": data, "folder": folder, "kernel": jupyter.KernelName, "first": first, "least": 1500, "cell": `import (
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/rs"
)

%%
model := nb.Must(engine.Open("` + model + `"))
defer model.Close()
data := nb.Must(dataset.Open("synthetic/test")).Subset(dataset.Count(30))
nb.Must(rs.Certify(nb.Context(), model, data, rs.Options{Sigma: 0.25, MaxSamples: 1000, Ledger: "run.ledger", Progress: nb.Progress()}))
`}, &got)
	const once = "stopped on request; run the cell again to go on\n"
	if got.First.Status != "error" || got.First.Waited > 30 || got.First.Said != once {
		t.Errorf("the interrupted cell: %+v", got.First)
	}
	if got.Alive.Status != "ok" || got.Second.Status != "ok" {
		t.Fatalf("after the interrupt: %+v, %+v", got.Alive, got.Second)
	}
	before, err := rs.Open(first)
	if err != nil {
		t.Fatal(err)
	}
	after, err := rs.Open(filepath.Join(folder, "run.ledger"))
	if err != nil {
		t.Fatal(err)
	}
	if before.Complete() || !after.Complete() || len(after.Rows) != 30 {
		t.Errorf("complete at the interrupt: %v; at the end: %v, with %d images", before.Complete(), after.Complete(), len(after.Rows))
	}
	// Nothing that was counted before the interrupt was counted again.
	early := testkit.Read(t, first)
	late := testkit.Read(t, folder, "run.ledger")
	final, _, _ := bytes.Cut(early, []byte("\n~")) // what follows was under way, where anything was
	final = bytes.TrimSuffix(final, []byte("\n"))
	if !bytes.HasPrefix(late, append(final, '\n')) || bytes.Count(final, []byte("\n")) < 2 {
		t.Errorf("the ledger of the whole run does not begin as the interrupted one:\n%s", final)
	}
	// What the kernel started ends with it; the server of completion does, when nobody asks it for some minutes.
	var left []string
	for range 50 {
		left = nil
		found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, process := range found {
			line, _ := os.ReadFile(process)
			if text := strings.ReplaceAll(string(line), "\x00", " "); strings.Contains(text, folder) && !strings.Contains(text, " -listen ") {
				left = append(left, text)
			}
		}
		if left == nil {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	if left != nil {
		t.Errorf("after the end of the kernel there are %q", left)
	}
}
