// Package jupyter sets up the GoNB kernel and runs notebooks headlessly.
//
// Everything it builds or installs lies in certspec's cache, except a kernel that the
// user asks to have registered.
package jupyter

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/progress"
)

// The kernel and the two programs that it calls, in a module of their own so that
// users of certspec's packages do not carry their requirements.
var (
	//go:embed tools.mod
	toolsMod []byte
	//go:embed tools.sum
	toolsSum []byte
)

// tools are programs that are built together, into the same folder.
type tools struct {
	task     string
	packages []string
	ready    string // the file that marks that they are there
}

var (
	kernelTools = tools{"GoNB and goimports", []string{"github.com/janpfeifer/gonb",
		"golang.org/x/tools/cmd/goimports"}, ready}
	// completionTools can come after the first cell.
	completionTools = tools{"gopls, which completes words", []string{"golang.org/x/tools/gopls"}, "gopls-ready"}
)

// goTool is the go command and what it says of itself.
type goTool struct {
	program  string
	version  string
	cgo      bool // C can be compiled
	modCache string
}

func findGo(ctx context.Context) (goTool, error) {
	program, err := exec.LookPath("go")
	if err != nil {
		return goTool{}, fmt.Errorf("notebooks compile their cells and need the go command on the PATH: %w", err)
	}
	out, err := output(ctx, "", program, "env", "GOVERSION", "CGO_ENABLED", "CC", "GOMODCACHE")
	if err != nil {
		return goTool{}, err
	}
	lines := strings.Split(out, "\n")
	if len(lines) < 4 {
		return goTool{}, fmt.Errorf("%s env answers %q, four lines expected", program, out)
	}
	g := goTool{program: program, version: lines[0], modCache: lines[3]}
	if cc := strings.Fields(lines[2]); lines[1] == "1" && len(cc) > 0 {
		_, err := exec.LookPath(cc[0])
		g.cgo = err == nil
	}
	return g, nil
}

// build returns the folder with the programs, and builds them where they are missing.
func (t tools) build(ctx context.Context, g goTool, show progress.Reporter) (bin string, err error) {
	if runtime.GOOS == "windows" {
		return "", fmt.Errorf("GoNB does not run on native Windows; use WSL2")
	}
	bin, err = toolsDir(g)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(bin, t.ready)); err == nil {
		return bin, nil
	}
	dir := filepath.Dir(bin)
	show.Say("building %s in %s; sources are downloaded where they are missing", t.task, dir)
	for name, data := range map[string][]byte{"go.mod": toolsMod, "go.sum": toolsSum} {
		if err := atomicfile.Write(filepath.Join(dir, name), data); err != nil {
			return "", fmt.Errorf("GoNB kernel: %w", err)
		}
	}
	if err := writeGonb(ctx, g, dir, filepath.Join(dir, "gonb")); err != nil {
		return "", fmt.Errorf("GoNB kernel: %w", err)
	}
	changed := append(slices.Clone(toolsMod), "\nreplace "+gonbModule+" => ./gonb\n"...)
	if err := atomicfile.Write(filepath.Join(dir, "go.mod"), changed); err != nil {
		return "", fmt.Errorf("GoNB kernel: %w", err)
	}
	c := compilation{task: t.task, dir: dir, env: append(os.Environ(), "GOWORK=off"), show: show}
	if err := c.run(ctx, g, bin+string(filepath.Separator), t.packages); err != nil {
		return "", fmt.Errorf("GoNB kernel: %w; the first time, this needs the network", err)
	}
	return bin, atomicfile.Write(filepath.Join(bin, t.ready), nil)
}

// ready is the file that marks what is complete in the cache.
const ready = "certspec-ready"

// toolsDir is where the programs built by this version of Go belong.
func toolsDir(g goTool) (string, error) {
	text := g.version + string(toolsMod) + fmt.Sprint(gonbChanges)
	for _, name := range slices.Sorted(maps.Keys(gonbAdded)) {
		added, err := gonbFiles.ReadFile(name)
		if err != nil {
			return "", err
		}
		text += string(added)
	}
	sum := sha256.Sum256([]byte(text))
	return cache.Dir("gonb", hex.EncodeToString(sum[:6]), "bin")
}

// output runs a program in dir and returns its standard output without the last newline.
func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
