//go:build external

package external

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/certspec/certspec/internal/cache"
)

// debian fetches packages of Debian once and unpacks them into a folder of the cache; nothing is installed. fetch is the command of
// apt-get that leaves the packages in the current folder.
func debian(t *testing.T, name string, fetch ...string) (root string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skipf("%s needs Linux", name)
	}
	for _, program := range []string{"apt-get", "dpkg-deb", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the packages of %s come from Debian: %v", name, err)
		}
	}
	dir, err := cache.Dir(name)
	if err != nil {
		t.Fatal(err)
	}
	root = filepath.Join(dir, "root")
	if _, err := os.Stat(root); err == nil {
		return root
	}
	part, err := os.MkdirTemp(dir, "part-*")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(part)
	if err := os.Mkdir(filepath.Join(part, "partial"), 0o755); err != nil {
		t.Fatal(err)
	}
	apt := exec.Command("apt-get", append([]string{"-o", "Dir::Cache::archives=" + part}, fetch...)...)
	apt.Dir = part
	if out, err := apt.CombinedOutput(); err != nil {
		t.Skipf("the packages of %s cannot be fetched; apt-get update may help: %v\n%s", name, err, out)
	}
	files, _ := filepath.Glob(filepath.Join(part, "*.deb"))
	for _, file := range files {
		if out, err := exec.Command("dpkg-deb", "-x", file, filepath.Join(part, "root")).CombinedOutput(); err != nil {
			t.Fatalf("dpkg-deb: %v\n%s", err, out)
		}
	}
	if err := os.Rename(filepath.Join(part, "root"), root); err != nil {
		t.Fatal(err)
	}
	return root
}

// withDependencies has apt-get download a package and what it needs that is not installed.
func withDependencies(name string) []string {
	return []string{"install", "--download-only", "--yes", "--no-install-recommends", "-o", "Debug::NoLocking=1", name}
}
