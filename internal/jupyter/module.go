package jupyter

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/progress"
)

const modulePath = "github.com/certspec/certspec"

// released matches the version of a program that was not built from a checkout.
var released = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// findModule returns the folder of the module whose packages notebooks import: the checkout
// around the current folder, else the checkout that this program was built from, else a small
// module in the cache that requires certspec at this program's version.
func findModule(ctx context.Context, g goTool, version string, show progress.Reporter) (string, error) {
	if here, err := os.Getwd(); err == nil {
		for dir := here; ; dir = filepath.Dir(dir) {
			if isCheckout(dir) {
				return dir, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		dir := filepath.Dir(filepath.Dir(filepath.Dir(file)))
		if isCheckout(dir) && !strings.HasPrefix(dir, g.modCache+string(filepath.Separator)) {
			return dir, nil
		}
	}
	if !released.MatchString(version) {
		return "", fmt.Errorf("this program (version %s) was built from a checkout that is no longer there: "+
			"run it inside a checkout of certspec, or install a released version", version)
	}
	return writeModule(ctx, g, version, show)
}

// workspace are the modules whose packages a cell imports: in a checkout with the examples and the steps of the
// notebooks, which are modules of their own.
func workspace(module string) []string {
	modules := []string{module}
	if !isCheckout(module) {
		return modules
	}
	for _, name := range []string{"examples", "notebooks"} {
		if _, err := os.Stat(filepath.Join(module, name, "go.mod")); err == nil {
			modules = append(modules, filepath.Join(module, name))
		}
	}
	return modules
}

// isCheckout reports whether dir holds certspec's own go.mod.
func isCheckout(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) == 2 && fields[0] == "module" {
			return fields[1] == modulePath
		}
	}
	return false
}

// writeModule makes the small module in the cache.
func writeModule(ctx context.Context, g goTool, version string, show progress.Reporter) (string, error) {
	dir, err := cache.Dir("module", version)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, ready)); err == nil {
		return dir, nil
	}
	show.Say("fetching the packages of certspec %s for notebooks", version)
	if err := atomicfile.Write(filepath.Join(dir, "go.mod"),
		[]byte("module certspec-notebooks\n\ngo 1.26\n")); err != nil {
		return "", fmt.Errorf("notebook module: %w", err)
	}
	// The pattern asks for the checksums of everything that a cell may import.
	if _, err := output(ctx, dir, g.program, "get", modulePath+"/...@"+version); err != nil {
		return "", fmt.Errorf("notebook module: %w", err)
	}
	return dir, atomicfile.Write(filepath.Join(dir, ready), nil)
}
