package labelled_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/cmd/certspec/calib/labelled"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/testkit"
)

// Equal images are found among more than memory holds.
func TestEqualImagesOfMoreThanMemory(t *testing.T) {
	const n = 13_000 // 367 MB of pixels, all black but two images, of which the file holds little
	if testing.Short() {
		t.Skip("-short: reads 367 MB")
	}
	if testkit.Given() == "" {
		testkit.Limited(t, "ulimit -d 340000", "1", cache.Variable+"="+t.TempDir(), "GOMAXPROCS=2", "GOMEMLIMIT=120MiB")
		return
	}
	dir := t.TempDir()
	name := "npy:" + testkit.Sparse(t, filepath.Join(dir, "images.npy"), "|u1", n, 97, 97, 3) + "," +
		testkit.Sparse(t, filepath.Join(dir, "labels.npy"), "|u1", n)
	file, err := os.OpenFile(filepath.Join(dir, "images.npy"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	for _, image := range []int64{5, 9_000} {
		if err == nil {
			_, err = file.WriteAt([]byte{9}, info.Size()-(n-image)*97*97*3+70)
		}
	}
	set, open := dataset.Open(name)
	if err != nil || file.Close() != nil || open != nil {
		t.Fatal(err, open)
	}
	x, err := set.Index(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	all := &labelled.Images{Name: name, Digest: x.Digest, Images: x.IDs}
	first, err := all.FirstEqual(t.Context())
	if err != nil || len(first) != n {
		t.Fatal(len(first), err)
	}
	for i, got := range first {
		if want := map[int]int{5: 5, 9_000: 5}[i]; got != want {
			t.Fatalf("image %d is equal to image %d first; want %d", i, got, want)
		}
	}
	part := func(images ...int) *labelled.Images {
		return &labelled.Images{Name: name, Digest: x.Digest, Images: images}
	}
	if a, b, found, err := part(1, 5).Equal(t.Context(), part(9_000)); a != 5 || b != 9_000 || !found || err != nil {
		t.Error(a, b, found, err)
	}
	if _, _, found, err := part(5).Equal(t.Context(), part(1, 2)); found || err != nil {
		t.Error(found, err)
	}
	if _, err := (&labelled.Images{Name: name, Digest: "other", Images: x.IDs}).FirstEqual(t.Context()); err == nil {
		t.Error("another set under the name is read")
	}
}
