package jupyter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/progress"
)

// KernelName is the name by which notebooks ask for the kernel; a person sees DisplayName.
const (
	KernelName  = "certspec"
	DisplayName = "certspec (GoNB)"
)

// prelude are the packages that cells use without an import.
var prelude = []string{"calib", "corrupt", "dataset", "model", "nb", "ood", "rs", "spectral", "study", "table"}

// DataDir is the folder in which Jupyter looks for the user's own kernels.
func DataDir() (string, error) {
	if dir := os.Getenv("JUPYTER_DATA_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no home folder to register a kernel in: %w; set JUPYTER_DATA_DIR", err)
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Jupyter"), nil
	}
	if data := os.Getenv("XDG_DATA_HOME"); data != "" {
		return filepath.Join(data, "jupyter"), nil
	}
	return filepath.Join(home, ".local", "share", "jupyter"), nil
}

// Kernel says what an installed kernel uses.
type Kernel struct {
	Dir    string `json:"dir"`    // the folder of its kernel.json
	Module string `json:"module"` // the module whose packages cells import
	XLA    bool   `json:"xla"`    // cells link XLA; false where there is no C compiler
}

// Install builds what the kernel needs and, unless warmed, compiles what the quickstart imports for
// first cells. It registers the kernel below dataDir, with a card in JupyterLab's launcher. version is
// of the running program; show, which may be nil, gets the progress; flags are further ones of GoNB.
func Install(ctx context.Context, dataDir, version string, warmed bool, show progress.Reporter,
	flags ...string) (Kernel, error) {
	k, err := install(ctx, dataDir, version, warmed, show, flags...)
	if err != nil {
		return Kernel{}, err
	}
	return k, installCompletion(ctx, show)
}

// installCompletion builds what completes words in cells.
func installCompletion(ctx context.Context, show progress.Reporter) error {
	g, err := findGo(ctx)
	if err != nil {
		return err
	}
	_, err = completionTools.build(ctx, g, show)
	return err
}

// install is Install without what completes words.
func install(ctx context.Context, dataDir, version string, warmed bool, show progress.Reporter,
	flags ...string) (Kernel, error) {
	g, err := findGo(ctx)
	if err != nil {
		return Kernel{}, err
	}
	bin, err := kernelTools.build(ctx, g, show)
	if err != nil {
		return Kernel{}, err
	}
	module, err := findModule(ctx, g, version, show)
	if err != nil {
		return Kernel{}, err
	}
	if !warmed {
		if err := warm(ctx, g, module, show); err != nil {
			return Kernel{}, fmt.Errorf("kernel: what a first cell needs: %w", err)
		}
	}
	program, err := os.Executable()
	if err != nil {
		return Kernel{}, fmt.Errorf("kernel: where this program is: %w", err)
	}
	k := Kernel{Dir: filepath.Join(dataDir, "kernels", KernelName), Module: module, XLA: g.cgo}
	if err := os.MkdirAll(filepath.Join(k.Dir, "path"), 0o755); err != nil {
		return Kernel{}, fmt.Errorf("kernel: %w", err)
	}
	if !warmed && isCheckout(module) {
		c := compilation{task: "networks for cells", dir: module, env: cellEnvironment(g), show: show}
		if err := c.run(ctx, g, k.serving(), append(g.servingFlags(), "./cmd/certspec")); err != nil {
			return Kernel{}, fmt.Errorf("kernel: what holds networks for cells: %w", err)
		}
	}
	if isCheckout(module) {
		if err := writeRequired(filepath.Join(k.Dir, requiredName), workspace(module)); err != nil {
			return Kernel{}, fmt.Errorf("kernel: what completion reads: %w", err)
		}
	}
	start := filepath.Join(k.Dir, "start")
	spec, err := json.MarshalIndent(map[string]any{
		"argv": append([]string{start, "--kernel", "{connection_file}", "--go_work=" +
			strings.Join(workspace(module), ",")}, flags...),
		"display_name":   DisplayName,
		"language":       "go",
		"interrupt_mode": "message",
	}, "", "  ")
	if err != nil {
		return Kernel{}, err
	}
	for _, f := range []struct {
		path, text string
		write      func(path string, data []byte) error
	}{
		{filepath.Join(k.Dir, "path", "go"), goScript(g), atomicfile.WriteProgram},
		{filepath.Join(k.Dir, "path", "gopls"), goplsScript(k, bin), atomicfile.WriteProgram},
		{filepath.Join(k.Dir, "path", "certspec"), programScript(program), atomicfile.WriteProgram},
		{filepath.Join(k.Dir, "serve"), serveScript(k, g, program), atomicfile.WriteProgram},
		{start, startScript(k, g, bin), atomicfile.WriteProgram},
		{filepath.Join(k.Dir, "kernel.json"), string(spec) + "\n", atomicfile.Write},
		{filepath.Join(k.Dir, "logo-svg.svg"), logo, atomicfile.Write},
	} {
		if err := f.write(f.path, []byte(f.text)); err != nil {
			return Kernel{}, fmt.Errorf("kernel: %w", err)
		}
	}
	if err := installLauncher(dataDir); err != nil {
		return Kernel{}, fmt.Errorf("kernel: the launcher's card: %w", err)
	}
	return k, nil
}

// Uninstall removes the kernel below dataDir and reports whether there was one.
func Uninstall(dataDir string) (bool, error) {
	dir := filepath.Join(dataDir, "kernels", KernelName)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return true, errors.Join(os.RemoveAll(dir), os.RemoveAll(filepath.Join(dataDir, "labextensions", KernelName)))
}

// startScript is run by Jupyter. A script rather than the env table of kernel.json,
// since not every front end expands variables there.
func startScript(k Kernel, g goTool, bin string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "#!/bin/sh\n# Starts GoNB for certspec; written by \"certspec notebook install\".\n")
	fmt.Fprintf(&s, "PATH=%s:%s:\"$PATH\"\nexport PATH\nunset GOWORK\n", quote(filepath.Join(k.Dir, "path")),
		quote(bin))
	fmt.Fprintf(&s, "GOFLAGS=\"$GOFLAGS %s\"\nexport GOFLAGS\n", strings.Join(cellFlags(g), " "))
	if !g.cgo {
		s.WriteString("CGO_ENABLED=0\nexport CGO_ENABLED\n")
	}
	if runtime.GOARCH == "amd64" {
		s.WriteString("GOEXPERIMENT=simd\nexport GOEXPERIMENT\n")
	}
	fmt.Fprintf(&s, "CERTSPEC_PRELUDE='%s/%s'\nexport CERTSPEC_PRELUDE\n", modulePath,
		strings.Join(prelude, " "+modulePath+"/"))
	fmt.Fprintf(&s, "CERTSPEC_KERNEL=$$\nCERTSPEC_SERVE=%s\nexport CERTSPEC_KERNEL CERTSPEC_SERVE\n",
		quote(filepath.Join(k.Dir, "serve")))
	s.WriteString("TF_CPP_MIN_LOG_LEVEL=${TF_CPP_MIN_LOG_LEVEL:-2}\nexport TF_CPP_MIN_LOG_LEVEL\n")
	fmt.Fprintf(&s, "exec %s \"$@\"\n", quote(filepath.Join(bin, "gonb")))
	return s.String()
}

// goScript stands before the go command on the kernel's PATH. GoNB runs a bare "go get" before
// every cell, which asks the network about every import; certspec's module already
// fixes all versions. GoNB has no setting for this other than %noautoget in every notebook.
func goScript(g goTool) string {
	return "#!/bin/sh\n# GoNB runs \"go get\" before every cell; the versions are those of certspec's module instead.\n" +
		"# \"!*go get PACKAGE@VERSION\" in a cell adds a package of your own.\n" +
		"case \"$*\" in get | \"get -t\") exit 0 ;; esac\n" +
		"exec " + quote(g.program) + " \"$@\"\n"
}

// goplsScript waits for gopls, which may be built while the first cells run already. In a checkout gopls sees cells
// beside the module of writeRequired.
func goplsScript(k Kernel, bin string) string {
	s := "#!/bin/sh\nuntil test -e " + quote(filepath.Join(bin, completionTools.ready)) + "; do sleep 1; done\n"
	if isCheckout(k.Module) {
		s += "required=" + quote(filepath.Join(k.Dir, requiredName)) + "\n" +
			`GOWORK="$GONB_TMP_DIR/` + requiredName + `.work"; export GOWORK` + "\n" +
			`test -e "$GOWORK" || { grep '^go ' "$GONB_TMP_DIR/go.mod"; ` +
			`printf 'use "%s"\n' "$GONB_TMP_DIR" "$required"; } >"$GOWORK"` + "\n"
	}
	return s + "exec " + quote(filepath.Join(bin, "gopls")) + ` "$@"` + "\n"
}

const requiredName = "required"

// writeRequired writes a module that requires the modules of a checkout. gopls reads what is required from the export
// data that it keeps; of a module that is in use it loads all packages with their tests, which takes three times as
// long and is what the first completion waits for.
func writeRequired(dir string, modules []string) error {
	version, err := goVersionOf(modules[0])
	if err != nil {
		return err
	}
	var mod, sum strings.Builder
	fmt.Fprintf(&mod, "module certspec-required\n\ngo %s\n\n", version)
	for i, folder := range modules {
		path := modulePath
		if i > 0 {
			path += "/" + filepath.Base(folder)
		}
		fmt.Fprintf(&mod, "require %s v0.0.0\n\nreplace %s => %q\n\n", path, path, folder)
		text, err := os.ReadFile(filepath.Join(folder, "go.sum"))
		if err != nil {
			return err
		}
		sum.Write(text)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return errors.Join(atomicfile.Write(filepath.Join(dir, "go.mod"), []byte(mod.String())),
		atomicfile.Write(filepath.Join(dir, "go.sum"), []byte(sum.String())))
}

// programScript runs the program that installed the kernel, so that "!certspec" works in a cell.
func programScript(program string) string {
	return "#!/bin/sh\n# For !certspec in a cell.\nprogram=" + quote(program) + "\n" +
		`test -x "$program" || { echo "certspec is no longer at $program: ` +
		`run certspec notebook install again" >&2; exit 127; }` + "\n" +
		`exec "$program" "$@"` + "\n"
}

// serveScript starts the process that holds networks for cells: this program, or in a checkout, whose files may be
// others than those that this program was built from, one that Go builds of them where they are.
func serveScript(k Kernel, g goTool, program string) string {
	s := "#!/bin/sh\n# For cells that name a network.\n"
	if !isCheckout(k.Module) {
		return s + "exec " + quote(program) + ` notebook serve "$@"` + "\n"
	}
	s += "since=$(date +%s)\nprogram=" + quote(k.serving()) + "\n" +
		`test -w "$(dirname "$program")" || program="$GONB_TMP_DIR/serving"` + "\n" + quote(g.program) + " build -C " +
		quote(k.Module)
	for _, flag := range g.servingFlags() {
		s += " " + flag
	}
	return s + ` -o "$program" ./cmd/certspec </dev/null || exit` + "\n" + `exec "$program" notebook serve --checkout ` +
		quote(k.Module) + ` --since "$since" "$@"` + "\n"
}

// serving is the program that serveScript builds of a checkout.
func (k Kernel) serving() string { return filepath.Join(k.Dir, "serving") }

// servingFlags are what it is built with: a program, no cell.
func (g goTool) servingFlags() []string {
	return []string{"-buildvcs=false", "-tags=" + strings.TrimPrefix(g.tags(), ",")}
}

// quote makes one word of s for the shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
