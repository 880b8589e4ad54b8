//go:build external

package external

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/certspec/certspec/dataset"
)

func TestExternalNumPyFiles(t *testing.T) {
	dir := t.TempDir()
	var written struct{ Pixels, Labels []int }
	python(t, `
import numpy as np, os
rng = np.random.default_rng(1)
x = rng.integers(0, 256, (7, 4, 5, 3), dtype=np.uint8)
y = np.array([0, 1, 2, 0, 1, 2, 2])
for kind in ["int64", "int32", "uint8"]:
    np.save(os.path.join(arg, "y-"+kind+".npy"), y.astype(kind))
np.save(os.path.join(arg, "x.npy"), x)
with open(os.path.join(arg, "x-version2.npy"), "wb") as f:
    np.lib.format.write_array(f, x, version=(2, 0))
np.save(os.path.join(arg, "x-fortran.npy"), np.asfortranarray(x))
np.save(os.path.join(arg, "x-float.npy"), x.astype("float32"))
np.save(os.path.join(arg, "y-short.npy"), y[:-1])
answer = {"Pixels": x.ravel().tolist(), "Labels": y.tolist()}`, dir, &written)
	want := make([]uint8, len(written.Pixels))
	for i, v := range written.Pixels {
		want[i] = uint8(v)
	}
	load := func(x, y string) (*dataset.Images, error) {
		d, err := dataset.Open("npy:" + filepath.Join(dir, x) + "," + filepath.Join(dir, y))
		if err != nil {
			return nil, err
		}
		return d.Load(context.Background())
	}
	for _, files := range [][2]string{{"x.npy", "y-int64.npy"}, {"x.npy", "y-int32.npy"}, {"x.npy", "y-uint8.npy"}, {"x-version2.npy", "y-int64.npy"}} {
		images, err := load(files[0], files[1])
		if err != nil {
			t.Errorf("%v: %v", files, err)
			continue
		}
		if !bytes.Equal(images.Pixels, want) || !slices.Equal(images.Labels, written.Labels) {
			t.Errorf("%v: other pixels or labels than NumPy wrote", files)
		}
	}
	for _, files := range [][2]string{{"x-fortran.npy", "y-int64.npy"}, {"x-float.npy", "y-int64.npy"}, {"x.npy", "y-short.npy"}} {
		if _, err := load(files[0], files[1]); err == nil {
			t.Errorf("%v is read without an error", files)
		}
	}
}
