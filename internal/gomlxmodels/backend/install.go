package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"github.com/gomlx/go-xla/installer"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/wheel"
	"github.com/certspec/certspec/progress"
)

// Install puts an XLA plugin for the CPU into certspec's cache and returns its path: by
// GoMLX's own installer, else out of a pinned wheel through pip. A plugin that is already
// there and works is kept, one that does not work is replaced. Two programs may install at
// once. It reports what takes time; show may be nil.
func Install(ctx context.Context, show progress.Reporter) (string, error) {
	if !xlaLinked {
		return "", fmt.Errorf("backend: a plugin would be of no use: %s", notLinked)
	}
	platform := runtime.GOOS + "_" + runtime.GOARCH
	dir, err := cache.Dir("plugins")
	if err != nil {
		return "", err
	}
	var failures []error
	for _, source := range []struct {
		folder  string
		install func(folder string) error
	}{
		{"xla-cpu-gomlx-" + gomlxPlugin, func(folder string) error {
			return installGoMLX(ctx, platform, folder, show)
		}},
		{"xla-cpu-pjrt-" + wheels[platform].Version, func(folder string) error {
			return installWheel(ctx, platform, folder, show)
		}},
	} {
		plugin, err := ensure(filepath.Join(dir, source.folder), source.install)
		if err == nil {
			return plugin, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		failures = append(failures, err)
	}
	return "", fmt.Errorf("backend: no XLA plugin could be installed: %w", errors.Join(failures...))
}

// ensure returns the plugin in a folder, after a trial, and installs the folder where it is
// missing or its plugin does not work.
func ensure(folder string, install func(folder string) error) (string, error) {
	if plugin, err := pluginIn(folder); err == nil {
		if _, err := checkPlugin(plugin); err == nil {
			return plugin, nil
		}
		if err := os.RemoveAll(folder); err != nil {
			return "", err
		}
	}
	if err := install(folder); err != nil {
		return "", err
	}
	plugin, err := pluginIn(folder)
	if err != nil {
		return "", err
	}
	_, err = checkPlugin(plugin)
	return plugin, err
}

func pluginIn(folder string) (string, error) {
	for _, pattern := range pluginPatterns {
		found, _ := filepath.Glob(filepath.Join(escapeGlob(folder), pattern))
		if len(found) > 0 {
			return found[0], nil
		}
	}
	return "", fmt.Errorf("%s holds no XLA plugin", folder)
}

func installWheel(ctx context.Context, platform, folder string, show progress.Reporter) error {
	w, found := wheels[platform]
	if !found {
		return fmt.Errorf("the package index has no XLA plugin for %s", platform)
	}
	return wheel.Install(ctx, w, folder, func(name string) string {
		if name == "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so" {
			return path.Base(name)
		}
		return ""
	}, show)
}

const (
	gomlxReleases = "https://api.github.com/repos/" + installer.BinaryCPUReleasesRepo + "/releases/tags/" + gomlxPlugin
	gomlxPatience = 6 * time.Second // before the next source is tried
)

func installGoMLX(ctx context.Context, platform, folder string, show progress.Reporter) error {
	if !slices.Contains(gomlxPlatforms, platform) {
		return fmt.Errorf("GoMLX has no XLA plugin for %s", platform)
	}
	// GoMLX's installer waits without a limit where a network swallows packets.
	reach, cancel := context.WithTimeout(ctx, gomlxPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(reach, http.MethodGet, gomlxReleases, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("GoMLX's releases cannot be reached: %w", err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GoMLX's releases: %s answered %s", gomlxReleases, response.Status)
	}

	lock := flock.New(folder + ".lock")
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return fmt.Errorf("another program holds %s: %w", lock.Path(), err)
	}
	defer lock.Unlock()
	if _, err := pluginIn(folder); err == nil {
		return nil
	}
	pattern := "." + filepath.Base(folder) + "-*"
	// of installations that were killed: this one has the lock
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(folder), pattern))
	for _, old := range left {
		os.RemoveAll(old)
	}
	work, err := os.MkdirTemp(filepath.Dir(folder), pattern)
	if err != nil {
		return err
	}
	show.Say("downloading XLA's CPU plugin %s from GoMLX's releases", gomlxPlugin)
	done := make(chan error, 1)
	go func() { // it takes no context
		err := installer.CPUInstall(platform, gomlxPlugin, work, false, installer.Quiet)
		if err == nil && ctx.Err() == nil {
			err = atomicfile.Rename(work, folder)
		}
		os.RemoveAll(work)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("GoMLX's installer: %v", err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
