package dataset

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/dataset/internal/fetch"
	"github.com/certspec/certspec/internal/testkit"
)

// serveSet makes a server the official source of a set, for the time of the test.
func serveSet(t *testing.T, s *set, files map[string][]byte) (requests *int) {
	requests = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*requests++
		data, ok := files[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Write(data)
	}))
	t.Cleanup(server.Close)
	sources := s.sources
	t.Cleanup(func() { s.sources = sources })
	s.sources = nil
	for name, data := range files {
		s.sources = append(s.sources, source{name, fetch.File{
			URLs:   []string{server.URL + "/" + name},
			Size:   int64(len(data)),
			SHA256: fmt.Sprintf("%x", sha256.Sum256(data)),
		}})
	}
	return requests
}

func TestFetchThenOpen(t *testing.T) {
	dir := useData(t)
	files := map[string][]byte{
		"train-images-idx3-ubyte.gz": gzipBytes(t, idxBytes(make([]byte, 60_000*784), 60_000, 28, 28)),
		"train-labels-idx1-ubyte.gz": gzipBytes(t, idxBytes(make([]byte, 60_000), 60_000)),
		"t10k-images-idx3-ubyte.gz":  gzipBytes(t, idxBytes(make([]byte, 10_000*784), 10_000, 28, 28)),
		"t10k-labels-idx1-ubyte.gz":  gzipBytes(t, idxBytes(make([]byte, 10_000), 10_000)),
	}
	requests := serveSet(t, mnist, files)
	var missing *MissingError
	if _, err := mustOpen(t, "mnist/test").Load(t.Context()); !errors.As(err, &missing) || !missing.Official {
		t.Fatalf("before the download: %v; expected a MissingError", err)
	}
	for range 2 {
		if err := Fetch(t.Context(), "mnist", nil); err != nil {
			t.Fatal(err)
		}
	}
	if *requests != 4 {
		t.Errorf("%d requests for 4 files, fetched twice", *requests)
	}
	if im := mustLoad(t, mustOpen(t, "mnist/test")); im.Len() != 10_000 {
		t.Errorf("%d images", im.Len())
	}
	// A file that is damaged in the cache is fetched again.
	cached, err := mnist.cacheFolder()
	if err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, []byte("damaged"), cached, "t10k-labels-idx1-ubyte.gz")
	if err := Fetch(t.Context(), "mnist", nil); err != nil || *requests != 5 {
		t.Errorf("after damage: %v, %d requests; expected one more", err, *requests-4)
	}
	// A set that $CERTSPEC_DATA has is not fetched.
	if err := os.RemoveAll(cached); err != nil {
		t.Fatal(err)
	}
	for name := range files {
		testkit.Write(t, files[name], dir, "mnist", name)
	}
	if err := Fetch(t.Context(), "mnist", nil); err != nil || *requests != 5 {
		t.Errorf("with the files in %s: %v, %d requests; expected none", dataVariable, err, *requests-5)
	}
}

func TestFetchErrors(t *testing.T) {
	useData(t)
	serveSet(t, cifar10, map[string][]byte{"cifar-10-binary.tar.gz": []byte("data")})
	cifar10.sources[0].file.SHA256 = strings.Repeat("0", 64)
	for name, want := range map[string]string{
		"cifar10":      "SHA-256",
		"cifar":        "did you mean cifar10",
		"cifar10-jpeg": "no official source",
	} {
		if err := Fetch(t.Context(), name, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v; expected %q", name, err, want)
		}
	}
	if err := Fetch(t.Context(), "synthetic", nil); err != nil {
		t.Errorf("the built-in set: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Fetch(ctx, "cifar10", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestOpenOrSynthetic(t *testing.T) {
	dir := useData(t)
	open := func(name string) (string, string) {
		t.Helper()
		d, err := OpenOrSynthetic(name)
		if err != nil {
			t.Fatal(err)
		}
		origin, err := d.Origin()
		if err != nil {
			t.Fatal(err)
		}
		return d.String(), origin
	}
	name, origin := open("fashionmnist/test[skip=20]")
	if name != "synthetic/test[skip=20]" || !strings.Contains(origin, "Not FashionMNIST") || !strings.Contains(origin, "synthetic") {
		t.Errorf("without the files: %s: %s", name, origin)
	}
	for _, file := range idxTest {
		testkit.Write(t, nil, dir, "fashion-mnist", file)
	}
	if name, _ := open("fashionmnist/test"); name != "synthetic/test" {
		t.Errorf("with the test files alone: %s; the two splits must come from one set", name)
	}
	for _, file := range idxTrain {
		testkit.Write(t, nil, dir, "fashion-mnist", file)
	}
	name, origin = open("fashionmnist/test")
	if name != "fashionmnist/test" || !strings.Contains(origin, filepath.Join(dir, "fashion-mnist", idxTest[0])) {
		t.Errorf("with all files: %s: %s", name, origin)
	}
	if name, _ := open("folder:pictures"); name != "folder:pictures[jpeg=libjpeg-turbo]" {
		t.Errorf("a folder opens %s", name)
	}
	if _, err := OpenOrSynthetic("fashion/test"); err == nil {
		t.Error("an unknown name opens")
	}
}

// MNIST's test files of $CERTSPEC_DATA are the official ones, which checks their sums.
func TestOfficialFiles(t *testing.T) {
	root := os.Getenv(dataVariable)
	if root == "" {
		t.Skipf("%s is not set: the test needs mnist/test", dataVariable)
	}
	for _, f := range mnist.sources[2:] {
		path := filepath.Join(t.TempDir(), f.name)
		data, err := os.ReadFile(filepath.Join(root, mnist.folder, f.name))
		if err != nil {
			t.Fatalf("%s is set: %v", dataVariable, err)
		}
		testkit.Write(t, data, path)
		f.file.URLs = nil // what is right is not downloaded
		if err := fetch.Get(t.Context(), f.file, path, nil); err != nil {
			t.Error(err)
		}
	}
}
