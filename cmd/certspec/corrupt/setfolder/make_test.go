package setfolder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/progress"
)

func open(t *testing.T, name string) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func filesOf(t *testing.T, names ...string) []corrupt.File {
	t.Helper()
	var files []corrupt.File
	for _, name := range names {
		of, err := corrupt.Files(corrupt.Setting{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, of...)
	}
	return files
}

// The same bytes whatever the number of workers, in one go or after an interruption, in files or on the fly.
func TestMake(t *testing.T) {
	d := open(t, "synthetic/test[skip=250]") // 40 images
	dir := t.TempDir()
	files := filesOf(t, "fog", "gaussian_noise", "frost")
	one := filepath.Join(dir, "one")
	m, err := Make(context.Background(), d, one, files, MakeOptions{Seed: 7, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Files) != 3 || !slices.Equal(m.Files[0].Shape, []int{200, 32, 32, 3}) || m.Key != (corrupt.Key{Data: "synthetic", Seed: 7}) || m.Frost != "substitute" {
		t.Errorf("%+v", m)
	}

	// Stopped inside of the second file, then gone on with other workers.
	other := filepath.Join(dir, "other")
	ctx, cancel := context.WithCancel(context.Background())
	finished := 0
	_, err = Make(ctx, d, other, files, MakeOptions{Seed: 7, Workers: 3, Progress: func(s progress.State) {
		if s.Final {
			if finished++; finished == 7 {
				cancel()
			}
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped: %v", err)
	}
	entries, err := os.ReadDir(other)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, []string{"fog.npy", "labels.npy", manifestName}) {
		t.Errorf("after a stop the folder holds %v", names)
	}
	if _, err := Make(context.Background(), d, other, files, MakeOptions{Seed: 7, Workers: 2}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fog.npy", "gaussian_noise.npy", "frost.npy", "labels.npy", manifestName} {
		if !bytes.Equal(testkit.Read(t, one, name), testkit.Read(t, other, name)) {
			t.Errorf("%s differs", name)
		}
	}

	// On the fly, of another subset: the same images.
	lazy, err := corrupt.Dataset(open(t, "synthetic/test[skip=500]"), corrupt.Setting{Name: "fog", Severity: 3}, 7)
	if err != nil {
		t.Fatal(err)
	}
	some, err := lazy.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if want := "synthetic/test[skip=500,corrupt=fog:3,seed=7]"; some.Name != want {
		t.Errorf("name %s; expected %s", some.Name, want)
	}
	file, err := open(t, "npy:"+filepath.Join(one, "fog.npy")+","+filepath.Join(one, "labels.npy")+",severity=3").Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i := range some.IDs { // every second one of the file
		if !bytes.Equal(some.Image(i), file.Image(2*i)) || some.Labels[i] != file.Labels[2*i] {
			t.Fatalf("image %d differs between file and data set", i)
		}
	}

	// Refused: another seed, another set, a changed file, a file that nobody knows; and all is left as it was.
	before := testkit.Read(t, one, manifestName)
	refused := func(what, want string, d *dataset.Dataset, files []corrupt.File, seed uint64) {
		t.Helper()
		_, err := Make(context.Background(), d, one, files, MakeOptions{Seed: seed})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; expected %q", what, err, want)
		}
	}
	refused("another seed", "key.seed 7; expected 8", d, files, 8)
	refused("another set", "base.digest", open(t, "synthetic/test[skip=200]"), files, 7)
	refused("files of other lengths", "cannot share labels.npy", d, append(filesOf(t, "fog"), corrupt.FourierFile(1, 1, false)), 7)
	refused("a longer labels.npy", "labels.npy of 200; expected 120", d, []corrupt.File{corrupt.FourierFile(1, 1, false)}, 7)
	refused("no files", "no files", d, nil, 7)
	refused("a severity", "severity 9", d, []corrupt.File{{Name: "x.npy", Settings: []corrupt.Setting{{Name: "fog", Severity: 9}}}}, 7)
	testkit.Write(t, []byte("mine"), one, "snow.npy")
	refused("a file of somebody else", "no manifest knows it", d, filesOf(t, "snow"), 7)
	damaged := testkit.Read(t, one, "fog.npy")
	damaged[5000]++
	testkit.Write(t, damaged, one, "fog.npy")
	refused("a changed file", "has the SHA-256", d, files, 7)
	if !bytes.Equal(testkit.Read(t, one, manifestName), before) || string(testkit.Read(t, one, "snow.npy")) != "mine" {
		t.Error("a refused run has changed the folder")
	}
	if err := os.Remove(filepath.Join(one, "fog.npy")); err != nil {
		t.Fatal(err)
	}
	if _, err := Make(context.Background(), d, one, files, MakeOptions{Seed: 7}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(testkit.Read(t, one, "fog.npy"), testkit.Read(t, other, "fog.npy")) {
		t.Error("a file that was removed comes back with other bytes")
	}
	testkit.Write(t, []byte("{"), one, manifestName)
	refused("a damaged manifest", "no manifest", d, files, 7)
}

// CIFAR-F in files and on the fly.
func TestMakeFourier(t *testing.T) {
	d := open(t, "synthetic/test[skip=1000]")
	dir := t.TempDir()
	m, err := Make(context.Background(), d, dir, []corrupt.File{corrupt.FourierFile(3, .5, false)}, MakeOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var written struct{ Fourier FourierLaw }
	if err := json.Unmarshal(testkit.Read(t, dir, manifestName), &written); err != nil || written.Fourier != (FourierLaw{"paper", 20, 200, .2}) {
		t.Errorf("%+v, %v", written, err)
	}
	if m.Files[0].Name != "fourier_fc3_a0.5.npy" || !slices.Equal(m.Files[0].Shape, []int{30, 32, 32, 3}) {
		t.Errorf("%+v", m.Files)
	}
	data := testkit.Read(t, dir, "fourier_fc3_a0.5.npy")
	lazy, err := corrupt.Dataset(d, corrupt.Setting{Name: "fourier", Centre: 3, Decay: .5, Norm: 12}, 1)
	if err != nil {
		t.Fatal(err)
	}
	images, err := lazy.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data[len(data)-len(images.Pixels):], images.Pixels) {
		t.Error("the last block is not what is made on the fly")
	}
	var other *ManifestError
	if _, err := Make(context.Background(), d, dir, []corrupt.File{corrupt.FourierFile(5, .5, true)}, MakeOptions{Seed: 1}); !errors.As(err, &other) || other.What != "fourier.variant" {
		t.Errorf("the variant of the archive in the same folder: %v", err)
	}
}

// The digest of photographs of frost stands in the manifest, wherever they lie.
func TestPhotographs(t *testing.T) {
	folder := t.TempDir()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 300, 200))); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, b.Bytes(), folder, "a.png")
	m, err := Make(context.Background(), open(t, "synthetic/test[skip=5000]"), t.TempDir(), []corrupt.File{{Name: "frost.npy", Settings: []corrupt.Setting{{Name: "frost", Severity: 1, Photographs: folder}}}}, MakeOptions{})
	if err != nil || !strings.HasPrefix(m.Frost, "photographs sha256:") || m.Files[0].Settings[0].Photographs != "" {
		t.Errorf("%+v, %v", m, err)
	}
}
