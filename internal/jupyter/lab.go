package jupyter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/progress"

	"golang.org/x/sync/errgroup"
)

// Lab opens JupyterLab on a folder, with the kernel ready and certspec in its Python, until it is
// closed or ctx is cancelled. args go to JupyterLab.
func Lab(ctx context.Context, dir, version string, show progress.Reporter, args ...string) error {
	if err := checkRoot(os.Geteuid(), args); err != nil {
		return err // before anything is installed
	}
	data, err := cache.Dir("jupyter")
	if err != nil {
		return err
	}
	var python string
	var kernel Kernel
	both, within := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		python, err = pyenv.Ensure(within, pyenv.Lab, show)
		return err
	})
	both.Go(func() (err error) {
		kernel, err = install(within, data, version, false, show)
		return err
	})
	if err := both.Wait(); err != nil {
		return err
	}
	variables, err := pythonVariables(ctx, kernel.Module)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, python, append([]string{"-m", "jupyterlab", "--notebook-dir", dir,
		"--MultiKernelManager.default_kernel_name=" + KernelName}, args...)...)
	cmd.Env = append(append(os.Environ(), "JUPYTER_DATA_DIR="+data, "JUPYTER_RUNTIME_DIR="+filepath.Join(data, "runtime"),
		"PYTHONHOME="), variables...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		return err
	}
	open, closed := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := installCompletion(open, show); err != nil && open.Err() == nil {
			show.Say("Tab will complete nothing: %v", err)
		}
	}()
	err = cmd.Wait()
	closed()
	<-ended
	if ctx.Err() != nil {
		return nil // how people close it
	}
	return err
}

// dataVariable is the environment variable that names the folder of data sets; see package dataset.
const dataVariable = "CERTSPEC_DATA"

// pythonVariables let Python import the package of the module, which runs this program.
func pythonVariables(ctx context.Context, module string) ([]string, error) {
	if !isCheckout(module) {
		g, err := findGo(ctx)
		if err != nil {
			return nil, err
		}
		if module, err = output(ctx, module, g.program, "list", "-m", "-f", "{{.Dir}}", modulePath); err != nil {
			return nil, fmt.Errorf("the Python package: %w", err)
		}
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("where this program is: %w", err)
	}
	sets, err := cache.Dir("data") // where certspec dataset fetch puts them
	if err != nil {
		return nil, err
	}
	return []string{"PYTHONPATH=" + filepath.Join(strings.TrimSpace(module), "python"), "CERTSPEC_PROGRAM=" + program,
		"PATH=" + filepath.Dir(program) + string(filepath.ListSeparator) + os.Getenv("PATH"),
		dataVariable + "=" + cmp.Or(os.Getenv(dataVariable), sets)}, nil
}

// checkRoot says what JupyterLab would say after all is installed: it does not start as root, as in
// most containers, unless it is told to.
func checkRoot(user int, args []string) error {
	told := func(arg string) bool { return strings.Contains(strings.ReplaceAll(arg, "_", "-"), "allow-root") }
	if user != 0 || slices.ContainsFunc(args, told) {
		return nil
	}
	return errors.New("JupyterLab does not start as root unless it is told to: certspec notebook lab FOLDER -- " +
		"--allow-root")
}
