package backend

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/cache"
)

// pluginFile is a PJRT plugin file that was found; it has not been loaded.
type pluginFile struct {
	Path   string `json:"path"`
	Device string `json:"device"` // "cpu" or "cuda", by its name
}

// pluginPatterns are the file names of plugins: of GoMLX's installer, of the wheel
// xla-cpu-pjrt, and of JAX's wheels for NVIDIA GPUs.
var pluginPatterns = []string{"pjrt_c_api_*_plugin.*", "pjrt[-_]plugin[-_]*.*", "xla_cpu_pjrt.*", "xla_cuda_plugin.*"}

// findPlugins lists the plugin files for a device, or for any, best first: those for a
// GPU, where there is one, before those for the CPU; those in certspec's cache before
// those in the standard places of GoMLX.
func findPlugins(device string) []pluginFile {
	var found []pluginFile
	for _, folder := range searchedFolders() {
		for _, pattern := range pluginPatterns {
			for _, depth := range []string{"", "[^.]*"} {
				paths, _ := filepath.Glob(filepath.Join(escapeGlob(folder), depth, pattern))
				for _, path := range paths {
					if !slices.Contains([]string{".so", ".dylib"}, filepath.Ext(path)) {
						continue
					}
					plugin := pluginFile{Path: path, Device: "cpu"}
					if name := filepath.Base(path); strings.Contains(name, "cuda") || strings.Contains(name, "nvidia") {
						plugin.Device = "cuda"
					}
					found = append(found, plugin)
				}
			}
		}
	}
	gpu := HasGPU()
	found = slices.DeleteFunc(found, func(p pluginFile) bool {
		return p.Device == "cuda" && !gpu || device != "" && p.Device != device
	})
	slices.SortStableFunc(found, func(a, b pluginFile) int { return strings.Compare(b.Device, a.Device) })
	return sameFileOnce(found)
}

// searchedFolders are the cache, the places where go-xla installs and, on a machine with a
// GPU, those where Python keeps JAX's plugin. PJRT_PLUGIN_LIBRARY_PATH replaces all but the
// cache, as it does for go-xla.
func searchedFolders() []string {
	var folders []string
	if dir, err := cache.Dir("plugins"); err == nil {
		folders = append(folders, dir)
	}
	if paths := os.Getenv("PJRT_PLUGIN_LIBRARY_PATH"); paths != "" {
		return append(folders, filepath.SplitList(paths)...)
	}
	if home, err := os.UserHomeDir(); err == nil {
		local := filepath.Join(home, ".local", "lib")
		if runtime.GOOS == "darwin" {
			local = filepath.Join(home, "Library", "Application Support")
		}
		folders = append(folders, filepath.Join(local, "go-xla"))
	}
	folders = append(folders, "/usr/local/lib/go-xla")
	if HasGPU() {
		folders = append(folders, pythonFolders()...)
	}
	return folders
}

// pythonFolders are the folders of JAX's plugins in the active Python environment, the python3 of
// the PATH and the system's.
func pythonFolders() (folders []string) {
	roots := []string{os.Getenv("VIRTUAL_ENV"), os.Getenv("CONDA_PREFIX"), "/usr/local", "/usr"}
	if python, err := exec.LookPath("python3"); err == nil {
		roots = slices.Insert(roots, 2, filepath.Dir(filepath.Dir(python)))
	}
	for _, root := range roots {
		if !filepath.IsAbs(root) {
			continue
		}
		for _, packages := range []string{"site-packages", "dist-packages"} {
			jax, _ := filepath.Glob(filepath.Join(escapeGlob(root), "lib", "python3*", packages, "jax_plugins"))
			folders = append(folders, jax...)
		}
	}
	return folders
}

// HasGPU reports whether the kernel has made an NVIDIA device.
func HasGPU() bool {
	_, err := os.Stat("/dev/nvidiactl")
	return err == nil
}

func sameFileOnce(plugins []pluginFile) []pluginFile {
	var kept []pluginFile
	seen := map[string]bool{}
	for _, p := range plugins {
		real, err := filepath.EvalSymlinks(p.Path)
		if err != nil {
			real = p.Path
		}
		if !seen[real] {
			seen[real] = true
			kept = append(kept, p)
		}
	}
	return kept
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// absolutePath completes the path of a plugin that a user wrote.
func absolutePath(path string) (string, error) {
	if rest, found := strings.CutPrefix(path, "~/"); found {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		path = filepath.Join(home, rest)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return absolute, nil
}
