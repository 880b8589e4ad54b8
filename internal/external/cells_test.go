//go:build external && !noxla

package external

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/jupyter"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/progress"
)

// What a newcomer meets in JupyterLab: a typing error says what is wrong and where, without paths. Cells that
// wait behind one that fails or is interrupted do not run. Tab answers before the first cell, and statements run as they are.
func TestCellsInJupyter(t *testing.T) {
	data, folder := t.TempDir(), t.TempDir()
	if _, err := jupyter.Install(context.Background(), data, "", false, progress.Messages(t.Logf)); err != nil {
		t.Fatal(err)
	}
	program := environment(t, pyenv.Notebook)
	var got struct {
		Errors    []string
		Failed    []string
		Stopped   []string
		Said      []string
		Right     string
		Completed []string
		First     []string
		Waited    float64 // seconds from the ready kernel to the first names
	}
	pythonOf(t, program, `
import os, time
from jupyter_client.manager import KernelManager
data = arg["data"]
os.environ.update(JUPYTER_DATA_DIR=data, JUPYTER_RUNTIME_DIR=data + "/runtime", IPYTHONDIR=data)
os.environ["JUPYTER_CONFIG_DIR"] = data + "/config"
kernel = KernelManager(kernel_name=arg["kernel"])
kernel.kernel_spec_manager.kernel_dirs = [arg["data"] + "/kernels"]
log = open(arg["data"] + "/log", "w")
kernel.start_kernel(cwd=arg["folder"], stdout=log, stderr=log)
client = kernel.client()
client.start_channels()

def reply(request):
    while True:
        m = client.get_shell_msg(timeout=300)
        if m["parent_header"].get("msg_id") == request:
            return m["content"]

def outputs(request):
    found = []
    while True:
        m = client.get_iopub_msg(timeout=300)
        if m["parent_header"].get("msg_id") != request:
            continue
        if m["msg_type"] == "status" and m["content"]["execution_state"] == "idle":
            return found
        found.append((m["msg_type"], m["content"]))

def queue(cells, interrupt):
    requests = [client.execute(cell) for cell in cells]
    if interrupt:
        while not os.path.exists(arg["folder"] + "/began"):
            time.sleep(.1)
        kernel.interrupt_kernel()
    return [reply(request)["status"] for request in requests]

try:
    client.wait_for_ready(timeout=120)
    answer, ready = dict(Errors=[], Said=[], First=[]), time.time()
    while not answer["First"] and time.time() - ready < 240:
        answer["First"] = reply(client.complete("nb.Sho", 6)).get("matches", [])
    answer["Waited"] = time.time() - ready
    reply(client.execute('import (\n\t"fmt"\n\t"os"\n\t"time"\n\n\t"github.com/certspec/certspec/rs/bound"\n)'))
    for cell in arg["wrong"]:
        request = client.execute(cell)
        error = reply(request)
        answer["Errors"].append("\n".join(error["traceback"]))
        answer["Said"] += [str(c) for kind, c in outputs(request) if kind in ("stream", "display_data")]
    answer["Right"] = ""
    for cell in arg["right"]:
        request = client.execute(cell)
        reply(request)
        answer["Right"] += "".join(c.get("text", c.get("evalue", "")) for kind, c in outputs(request))
    answer["Failed"] = queue(["%%\nos.Exit(3)", "%%\nfmt.Println(1)", "%%\nfmt.Println(2)"], False)
    answer["Failed"].append(reply(client.execute("%%\nfmt.Println(3)"))["status"])
    slow = '%%\nos.WriteFile("began", nil, 0o644)\ntime.Sleep(5*time.Minute)'
    answer["Stopped"] = queue([slow, "%%\nfmt.Println(1)"], True)
    for attempt in range(20):
        code = "%%\nbound.Lo"
        answer["Completed"] = reply(client.complete(code, len(code))).get("matches", [])
        if answer["Completed"]:
            break
        time.sleep(3)
finally:
    kernel.shutdown_kernel(now=True)
`, map[string]any{"data": data, "folder": folder, "kernel": jupyter.KernelName, "wrong": []string{
		"%%\nfmt.Println(\n\tnothing, nothing2)", "z := 3", "%%\nz := 3", "func f() int {\n}",
		"run := nb.Must(rs.Opne(\"nothing\"))\nfmt.Println(run)", "x := 3\nfmt.Println(x)\ny := x.Radius",
		"var n = 2\nfmt.Println(nb.Must(bound.Lower(n)))", "fmt.Println(1 +)", "fmt.Println(nobody.Count(3))",
		"text := \"a\"\ntext = 3\nfmt.Println(text)", "run := nb.Must(rs.Open(3))\nfmt.Println(run)", "rs.Open()",
		"fmt.Println(nb.Must(rs.Open(\"a\")).Raduis)",
	}, "right": []string{
		"x := 3\nfmt.Println(\"three\", x)", "// a comment\nvar kept = 4\nfmt.Println(\"four\", kept)",
		"fmt.Println(\"again\", kept, rs.Fixed, len(table.Forms) > 0)",
	}}, &got)
	t.Logf("the first names come %.1f s after the kernel is ready", got.Waited)
	if !slices.Contains(got.First, "Show") {
		t.Errorf("a first Tab behind nb.Sho gives %q", got.First)
	}
	for i, want := range []string{
		"undefined: nothing\nline 3 of cell [2]:\n    \tnothing, nothing2)\n    \t^\nand 1 more, once this is mended",
		"declared and not used: z\nline 1 of cell [3]:\n    z := 3\n    ^",
		"declared and not used: z\nline 2 of cell [4]:\n    z := 3\n    ^",
		"missing return\nline 2 of cell [5]:\n    }\n    ^",
		"undefined: rs.Opne\nline 1 of cell [6]:\n    run := nb.Must(rs.Opne(\"nothing\"))\n                      ^\n" +
			"and 1 more, once this is mended",
		"x.Radius undefined (type int has no field or method Radius)\nline 3 of cell [7]:\n    y := x.Radius\n" +
			"           ^\nand 1 more, once this is mended",
		"not enough arguments in call to bound.Lower\n\thave (int)\n\twant (int, int, float64)\nline 2 of cell [8]:\n" +
			"    fmt.Println(nb.Must(bound.Lower(n)))\n                                    ^",
		"expected operand, found ')'\nline 1 of cell [9]:\n    fmt.Println(1 +)\n                   ^",
		"undefined: nobody\nline 1 of cell [10]:\n    fmt.Println(nobody.Count(3))\n                ^",
		"cannot use 3 (untyped int constant) as string value in assignment\nline 2 of cell [11]:\n    text = 3\n           ^",
		"cannot use 3 (untyped int constant) as string value in argument to rs.Open\nline 1 of cell [12]:\n" +
			"    run := nb.Must(rs.Open(3))\n                           ^",
		"not enough arguments in call to rs.Open\n\thave ()\n\twant (string)\nline 1 of cell [13]:\n    rs.Open()\n" +
			"    ^",
		"nb.Must(rs.Open(\"a\")).Raduis undefined (type *rs.Run has no field or method Raduis)\nline 1 of cell [14]:\n" +
			"    fmt.Println(nb.Must(rs.Open(\"a\")).Raduis)\n                                      ^",
	} {
		if got := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(got.Errors[i], ""); got != want {
			t.Errorf("the page says %q, want %q", got, want)
		}
	}
	if said := strings.Join(got.Said, "\n"); strings.Contains(said, "main.go") || strings.Contains(said, "undefined") {
		t.Errorf("beside the errors it shows %s", said)
	}
	if want := "three 3\nfour 4\nagain 4 fixed true\n"; got.Right != want {
		t.Errorf("statements alone, and packages of the prelude, print %q; want %q", got.Right, want)
	}
	if want := []string{"error", "aborted", "aborted", "ok"}; !slices.Equal(got.Failed, want) {
		t.Errorf("cells around a failing one: %q, want %q", got.Failed, want)
	}
	if want := []string{"error", "aborted"}; !slices.Equal(got.Stopped, want) {
		t.Errorf("cells at an interrupt: %q, want %q", got.Stopped, want)
	}
	if !slices.Contains(got.Completed, "Lower") {
		t.Errorf("completed to %q", got.Completed)
	}
}
