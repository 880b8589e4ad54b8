package wheel

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/progress"
)

// index makes a folder that pip takes for its index, with one wheel of our own in it, and
// gives that wheel; nothing reaches the network.
func index(t *testing.T) Wheel {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("pip is needed and there is no python3")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "certspec_wheel_test-1.0-py3-none-manylinux_2_28_x86_64.whl")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(out)
	for name, text := range map[string]string{
		"pkg/capi/libthing.so.1": "a library",
		"pkg/LICENSE":            "a licence",
		"pkg/other.py":           "print()",
		"certspec_wheel_test-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: certspec-wheel-test\nVersion: 1.0\n",
		"certspec_wheel_test-1.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-manylinux_2_28_x86_64\n",
		"certspec_wheel_test-1.0.dist-info/RECORD":   "",
	} {
		member, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := member.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	data := testkit.Read(t, file)
	sum := sha256.Sum256(data)
	t.Setenv("PIP_NO_INDEX", "1")
	t.Setenv("PIP_FIND_LINKS", (&url.URL{Scheme: "file", Path: dir}).String()) // pip splits at spaces
	t.Setenv(cache.Variable, filepath.Join(cacheDir, "cache"))
	return Wheel{"certspec-wheel-test", "1.0", "manylinux_2_28_x86_64", "3.11", hex.EncodeToString(sum[:])}
}

// cacheDir outlives a test, so that the environment with pip is made once.
var cacheDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "certspec-wheel-*")
	if err != nil {
		panic(err)
	}
	cacheDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func keep(name string) string {
	if strings.HasSuffix(name, "/LICENSE") || strings.Contains(name, "/capi/") {
		return path.Base(name)
	}
	return ""
}

func TestInstall(t *testing.T) {
	w := index(t)
	dir := filepath.Join(t.TempDir(), "with space", "thing")
	var downloads int
	var mu sync.Mutex
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			err := Install(t.Context(), w, dir, keep, func(progress.State) {
				mu.Lock()
				downloads++
				mu.Unlock()
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if downloads != 1 {
		t.Errorf("%d downloads for three installations at once; expected 1", downloads)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "LICENSE libthing.so.1" {
		t.Errorf("unpacked %q; expected the licence and the library", got)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "libthing.so.1")); string(text) != "a library" {
		t.Errorf("the library holds %q", text)
	}
	neighbours, _ := os.ReadDir(filepath.Dir(dir))
	if len(neighbours) != 2 { // the folder and its lock
		t.Errorf("left behind: %v", neighbours)
	}
}

func TestInstallFailures(t *testing.T) {
	good := index(t)
	foreign := good
	foreign.SHA256 = strings.Repeat("0", 64)
	missing := good
	missing.Version = "9.9"
	for name, c := range map[string]struct {
		wheel Wheel
		keep  func(string) string
		want  string
	}{
		"another digest":    {foreign, keep, "another SHA-256"},
		"a missing version": {missing, keep, "9.9"},
		"nothing that fits": {good, func(string) string { return "" }, "none of the files"},
	} {
		dir := filepath.Join(t.TempDir(), "thing")
		err := Install(t.Context(), c.wheel, dir, c.keep, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; expected an error with %q", name, err, c.want)
		}
		if exists(dir) {
			t.Errorf("%s: left a folder", name)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Install(ctx, good, filepath.Join(t.TempDir(), "thing"), keep, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v; expected context.Canceled", err)
	}
}

// What pip hands over is checked once more.
func TestUnpackChecksDigest(t *testing.T) {
	w := Wheel{Package: "p", Version: "1", SHA256: strings.Repeat("0", 64)}
	file := testkit.Write(t, []byte("abc"), t.TempDir(), "p.whl")
	// SHA-256 of "abc": FIPS 180-4, example B.1.
	const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	err := unpack(file, w, filepath.Join(t.TempDir(), "dir"), keep)
	if err == nil || !strings.Contains(err.Error(), "p.whl has SHA-256 "+abc+"; expected 0000") {
		t.Errorf("%v; expected both digests", err)
	}
}
