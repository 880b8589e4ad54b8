package dataset

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/npy"
	"github.com/certspec/certspec/internal/testkit"
)

// byteArray is a NumPy file of bytes.
func byteArray(values []byte, shape ...int) []byte {
	return append(npy.Header{Type: "|u1", Shape: shape}.Append(nil), values...)
}

// writeNPZ writes arrays as np.savez_compressed does.
func writeNPZ(t *testing.T, path string, arrays map[string][]byte) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for name, data := range arrays {
		w, err := z.Create(name + ".npy")
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// The arrays of an .npz file are found by the names of MedMNIST and of Keras, the test part first, or by those that are
// said; the images and labels equal those in .npy files of the same values.
func TestArraysOfAnNPZFile(t *testing.T) {
	t.Chdir(t.TempDir())
	test, train := []byte{1, 2, 3, 4, 5, 6, 7, 8}, []byte{9, 9, 9, 9}
	writeNPZ(t, "med.npz", map[string][]byte{
		"train_images": byteArray(train, 1, 2, 2), "train_labels": byteArray([]byte{1}, 1, 1),
		"test_images": byteArray(test, 2, 2, 2), "test_labels": byteArray([]byte{0, 1}, 2, 1),
	})
	writeNPZ(t, "keras.npz", map[string][]byte{"x_train": byteArray(train, 1, 2, 2), "y_train": byteArray([]byte{1}, 1),
		"x_test": byteArray(test, 2, 2, 2), "y_test": byteArray([]byte{0, 1}, 2)})
	writeNPZ(t, "many.npz", map[string][]byte{"test_images": byteArray(test, 2, 2, 2), "test_labels": byteArray(make([]byte, 6), 2, 3)})
	writeNPZ(t, "odd.npz", map[string][]byte{"a": byteArray(test, 2, 2, 2)})
	for name, values := range map[string][]byte{"test.npy": byteArray(test, 2, 2, 2), "test-labels.npy": byteArray([]byte{0, 1}, 2),
		"train.npy": byteArray(train, 1, 2, 2), "train-labels.npy": byteArray([]byte{1}, 1)} {
		testkit.Write(t, values, name)
	}
	for name, same := range map[string]string{
		"npz:med.npz":                      "npy:test.npy,test-labels.npy",
		"med.npz":                          "npy:test.npy,test-labels.npy",
		"npz:keras.npz":                    "npy:test.npy,test-labels.npy",
		"npz:med.npz[images=train_images]": "npy:train.npy,train-labels.npy",
		"npz:med.npz[images=train_images,labels=train_labels]": "npy:train.npy,train-labels.npy",
		"npz:keras.npz[images=x_train,labels=y_train]":         "npy:train.npy,train-labels.npy",
		"npz:med.npz[images=test_images,count=1]":              "npy:test.npy,test-labels.npy[count=1]",
		"npz:odd.npz[images=a]":                                "npy:test.npy",
	} {
		got, want := load(t, name), load(t, same)
		if got.Digest != want.Digest || got.Len() != want.Len() {
			t.Errorf("%s is not %s", name, same)
		}
		if again := load(t, got.Name); again.Digest != got.Digest || again.Name != got.Name {
			t.Errorf("%s has the name %s, which opens as %s", name, got.Name, again.Name)
		}
	}
	for name, says := range map[string]string{
		"npz:med.npz[images=val_images]": "no array val_images; it has ",
		"npz:odd.npz":                    "expected npz:FILE.npz[images=NAME,labels=NAME]",
		"npz:many.npz":                   "expected one label an image",
		"npy:med.npz":                    "npz:FILE.npz",
		"npz:test.npy":                   "no .npz archive",
		"npz:missing.npz":                "no such file",
	} {
		d, err := Open(name)
		if err == nil {
			_, err = d.Load(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q", name, err, says)
		}
	}
}

func load(t *testing.T, name string) *Images {
	t.Helper()
	d, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	im, err := d.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// Paths of every spelling open, and the name that they get opens again as the same images.
func TestPathsAreNames(t *testing.T) {
	t.Chdir(t.TempDir())
	picture := pngBytes(t, patternImage(1, 6, 6))
	for _, folder := range []string{"run[1]", "pics", "a,b", "two words", "run[2]/deep"} {
		for _, class := range []string{"cat", "dog"} {
			testkit.Write(t, picture, folder, class, "0.png")
		}
	}
	for name, values := range map[string][]byte{"a,b/x.npy": byteArray([]byte{1, 2, 3, 4}, 1, 2, 2), "a,b/y,z.npy": byteArray([]byte{1}, 1)} {
		testkit.Write(t, values, name)
	}
	absolute, err := filepath.Abs("pics")
	if err != nil {
		t.Fatal(err)
	}
	for name, images := range map[string]int{
		"folder:run[1]": 2, "folder:run[1]/": 2, "run[1]": 2, "run[1][count=1]": 1, "folder:run[1]/[count=1]": 1, "run[2]/deep": 2,
		"pics": 2, "./pics": 2, "pics/": 2, absolute: 2, "pics[count=1]": 1, "pics[resize=4]": 2, "two words": 2,
		"npy:a,b/x.npy,a,b/y,z.npy": 1, "npy:a,b/x.npy": 1, "a,b/x.npy": 1,
	} {
		im := load(t, name)
		if im.Len() != images {
			t.Errorf("%s: %d images, want %d", name, im.Len(), images)
		}
		if again := load(t, im.Name); again.Digest != im.Digest || again.Name != im.Name {
			t.Errorf("%s has the name %s, which opens as %s", name, im.Name, again.Name)
		}
	}
	for _, name := range []string{"./none", absolute + "2", "none/pics"} {
		if _, err := Open(name); err == nil {
			t.Errorf("%s opens", name)
		}
	}
}

// A set may be called otherwise than its files; how its images are prepared stays to be read.
func TestNamedSets(t *testing.T) {
	d, err := Open("synthetic/test[max_index=5]")
	if err != nil {
		t.Fatal(err)
	}
	named, err := d.Named("our pictures")
	if err != nil {
		t.Fatal(err)
	}
	before, err := d.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	im, err := named.Subset(Count(2)).Load(t.Context())
	if err != nil || im.Name != "our pictures[max_index=5,count=2]" || before.Name != "synthetic/test[max_index=5]" {
		t.Errorf("%s, %s, %v", im.Name, before.Name, err)
	}
	if all, err := named.Load(t.Context()); err != nil || all.Digest != before.Digest {
		t.Errorf("another digest under another name: %v", err)
	}
	for _, bad := range []string{"", "a[b]", "a\nb"} {
		if _, err := d.Named(bad); err == nil {
			t.Errorf("the name %q is taken", bad)
		}
	}
}
