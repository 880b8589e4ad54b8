package run

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/resample"
)

// change writes over a file what edit makes of its text.
func change(t *testing.T, path string, edit func(string) string) {
	t.Helper()
	text := testkit.Read(t, path)
	after := edit(string(text))
	if after == string(text) {
		t.Fatalf("%s stays as it was", path)
	}
	testkit.Write(t, []byte(after), path)
}

// onLine edits one line, counted from 1.
func onLine(n int, edit func(string) string) func(string) string {
	return func(text string) string {
		lines := strings.SplitAfter(text, "\n")
		lines[n-1] = edit(lines[n-1])
		return strings.Join(lines, "")
	}
}

// Whatever is changed in the results of a folder is an error of all that reads it, by file and line.
func TestSealedResults(t *testing.T) {
	o := tiny(t, tinyFile(t, ""))
	o.Rows = []string{"tiny/g", "tiny/hcr"}
	if err := Table(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	drop := func(string) string { return "" }
	replaced := func(pattern, by string) func(string) string {
		return func(l string) string { return regexp.MustCompile(pattern).ReplaceAllString(l, by) }
	}
	for name, c := range map[string]struct {
		file string
		edit func(string) string
		line int
	}{
		"radius":        {"tiny-g-s1.csv", onLine(4, replaced(`,[^,]*\n`, ",0.001\n")), 4},
		"row dropped":   {"tiny-g-s1.csv", onLine(5, drop), 5},
		"last row":      {"tiny-hcr-s1.csv", onLine(9, drop), 9},
		"row added":     {"tiny-g-s1.csv", func(s string) string { return s + "23,1,0.1,0.1,0.1\n" }, 10},
		"label":         {"tiny-g-s1.csv", onLine(3, replaced(`^(\d+),\d`, "$1,7")), 3},
		"share":         {"tiny-hcr-s1.shares.csv", onLine(2, replaced("\n", "1\n")), 2},
		"origin":        {"tiny-g-s1.json", replaced("sha256:", "sha256:0"), 2},
		"another model": {"tiny-hcr-s2.csv", nil, 1},
		"removed":       {"tiny-hcr-s1.csv", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "copy")
			if err := os.CopyFS(folder, os.DirFS(o.Folder)); err != nil {
				t.Fatal(err)
			}
			if _, err := results.Fill(t.Context(), folder, "tiny", resample.Options{Resamples: 10}); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(folder, "results", c.file)
			want := fmt.Sprintf("%s, line %d", path, c.line)
			switch {
			case c.edit != nil:
				change(t, path, c.edit)
			case c.line == 0:
				want = path
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			default:
				testkit.Write(t, []byte("image,label,clean\n0,0,0.1\n"), path)
			}
			_, errFill := results.Fill(t.Context(), folder, "tiny", resample.Options{Resamples: 10})
			_, _, errStatus := plan.Status(folder)
			_, errCertified := results.Certified(folder)
			_, errMerge := results.Merge(t.Context(), filepath.Join(t.TempDir(), "merged"), []string{folder})
			again := o
			again.Folder = folder
			errs := map[string]error{"fill": errFill, "status": errStatus, "certified": errCertified, "merge": errMerge}
			if c.line > 0 { // a run makes again what is not there
				errs["run"] = Table(t.Context(), again)
			} else if err := Table(t.Context(), again); err != nil {
				t.Errorf("run: %v", err)
			}
			for by, err := range errs {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v; want %s", by, err, want)
				}
			}
		})
	}
}

// Results of before there were digests open, but not with a radius that cannot be, nor with other images than those
// of the selection.
func TestUnsealedResults(t *testing.T) {
	o := tiny(t, tinyFile(t, ""))
	o.Rows = []string{"tiny/g", "tiny/hcr"}
	if err := Table(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	resultFile := func(folder string, name ...string) string {
		return filepath.Join(append([]string{folder, "results"}, name...)...)
	}
	unsealed := func(t *testing.T) string {
		folder := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(folder, os.DirFS(o.Folder)); err != nil {
			t.Fatal(err)
		}
		change(t, filepath.Join(folder, "manifest.json"), func(s string) string {
			return strings.Replace(s, `"format": 2`, `"format": 1`, 1)
		})
		err := errors.Join(os.Remove(resultFile(folder, "seals.json")), os.RemoveAll(filepath.Join(folder, "ledgers")))
		if err != nil {
			t.Fatal(err)
		}
		return folder
	}
	before := testkit.Read(t, resultFile(o.Folder, "seals.json"))
	folder := unsealed(t)
	if _, err := results.Fill(t.Context(), folder, "tiny", resample.Options{Resamples: 10}); err != nil {
		t.Fatal(err)
	}
	// Merging with itself seals it as the run did.
	if added, err := results.Merge(t.Context(), folder, []string{folder}); err != nil || added != 0 {
		t.Fatalf("%d, %v", added, err)
	}
	if after, err := os.ReadFile(resultFile(folder, "seals.json")); err != nil || !bytes.Equal(after, before) {
		t.Errorf("%v: seals\n%s\nwant\n%s", err, after, before)
	}

	for name, c := range map[string]struct {
		line int
		edit func(string) string
		want string
	}{
		"cap":   {4, func(l string) string { return regexp.MustCompile(`,[^,]*\n`).ReplaceAllString(l, ",50\n") }, "at most 0.4"},
		"drop":  {5, func(string) string { return "" }, "is missing"},
		"label": {3, func(l string) string { return regexp.MustCompile(`^(\d+),\d`).ReplaceAllString(l, "$1,7") }, "the label 7"},
	} {
		folder := unsealed(t)
		change(t, resultFile(folder, "tiny-hcr-s1.csv"), onLine(c.line, c.edit))
		_, errFill := results.Fill(t.Context(), folder, "tiny", resample.Options{Resamples: 10})
		_, errMerge := results.Merge(t.Context(), filepath.Join(t.TempDir(), "merged"), []string{folder})
		for _, err := range []error{errFill, errMerge} {
			want := fmt.Sprintf("tiny-hcr-s1.csv, line %d", c.line)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v; want %s, %s", name, err, want, c.want)
			}
		}
	}

	// With one model alone the data say what the selection is.
	folder = unsealed(t)
	for _, f := range []string{"tiny-hcr-s1.csv", "tiny-hcr-s1.shares.csv"} {
		if err := os.Remove(resultFile(folder, f)); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"tiny-g-s1.csv", "tiny-g-s1.shares.csv"} {
		change(t, resultFile(folder, f), onLine(5, func(string) string { return "" }))
	}
	if _, err := results.Merge(t.Context(), folder, []string{folder}); err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("a dropped row is sealed: %v", err)
	}
	// A folder that had digests needs them.
	folder = filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(folder, os.DirFS(o.Folder)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(resultFile(folder, "seals.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := store.ReadManifest(folder); err == nil || !strings.Contains(err.Error(), "seals.json") {
		t.Errorf("%v", err)
	}
}

// Merging copies no symlink, whatever it leads to.
func TestMergeRefusesSymlinks(t *testing.T) {
	o := tiny(t, tinyFile(t, ""))
	o.Rows = []string{"tiny/g"}
	if err := Table(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	secret := testkit.Write(t, []byte("secret"), t.TempDir(), "secret")
	for _, name := range []string{"models/x.safetensors", "ledgers/x/clean.ledger", "predictions", "results/.x.csv"} {
		link := filepath.Join(o.Folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o777), os.Symlink(secret, link)); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "out")
		_, err := results.Merge(t.Context(), out, []string{o.Folder})
		if left := strings.HasSuffix(name, "/.x.csv"); left != (err == nil) || !left && !strings.Contains(err.Error(), link) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(filepath.Join(out, filepath.FromSlash(name))); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was copied", name)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
		// Nor does it write through one.
		out = filepath.Join(t.TempDir(), "out")
		if _, err := results.Merge(t.Context(), out, []string{o.Folder}); err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(out, "results", "tiny-g-s1.csv")
		if err := errors.Join(os.Remove(at), os.Symlink(secret, at)); err != nil {
			t.Fatal(err)
		}
		if _, err := results.Merge(t.Context(), out, []string{o.Folder}); err == nil {
			t.Error("wrote through a symlink")
		}
		if text, err := os.ReadFile(secret); err != nil || string(text) != "secret" {
			t.Errorf("%s, %v", text, err)
		}
	}
}
