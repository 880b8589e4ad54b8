package dataset

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
)

// large has every set be read by pieces, with a cache of its own.
func large(t *testing.T) {
	t.Setenv(cache.Variable, t.TempDir())
	before, archive := [...]int{small, chunk, kept}, maxKept
	t.Cleanup(func() { small, chunk, kept, maxKept = before[0], before[1], before[2], archive })
	small, chunk, kept, maxKept = 0, 200, 150, 1
}

func mustIndex(t *testing.T, d *Dataset) *imageset.Index {
	t.Helper()
	x, err := d.Index(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// changed brightens images, and adds offsets and residues that depend on the id.
func changed(d *Dataset) *Dataset {
	values := func(shape pixel.Shape, ids []int, of func(id, k int)) {
		for i, id := range ids {
			for k := range shape.Len() {
				of(id, i*shape.Len()+k)
			}
		}
	}
	return d.Changed(Change{Name: "bright", Apply: func(_ context.Context, _ pixel.Shape, _ []int, pixels []uint8) ([]uint8, error) {
		out := slices.Clone(pixels)
		for k := range out {
			out[k] ^= 9
		}
		return out, nil
	}}).Changed(Change{Name: "off", Offset: func(shape pixel.Shape, ids []int) ([]int16, error) {
		out := make([]int16, len(ids)*shape.Len())
		values(shape, ids, func(id, k int) { out[k] = int16(300 * id) })
		return out, nil
	}, Residue: func(shape pixel.Shape, ids []int) ([]float32, error) {
		out := make([]float32, len(ids)*shape.Len())
		values(shape, ids, func(id, k int) { out[k] = float32(id) / 7 })
		return out, nil
	}})
}

// pictures are 12 of three classes, in a folder, an archive and an array.
func pictures(t *testing.T) map[string]string {
	dir := t.TempDir()
	var entries []entry
	values := make([]byte, 0, 12*4*5*3)
	for i := range 12 {
		im := patternImage(i, 4, 5)
		e := entry{fmt.Sprintf("%c/%02d.png", 'a'+i%3, i), pngBytes(t, im)}
		entries = append(entries, e)
		testkit.Write(t, e.data, dir, "folder", e.name)
		for k := range 4 * 5 {
			values = append(values, im.Pix[4*k:4*k+3]...)
		}
	}
	entries = append(entries, entry{"readme.txt", []byte("no picture")})
	slices.Reverse(entries)
	tar := testkit.Write(t, tarBytes(t, entries...), dir, "set.tar")
	zipped := testkit.Write(t, gzipBytes(t, tarBytes(t, entries...)), dir, "set.tar.gz")
	npy := testkit.Write(t, npyBytes("|u1", "False", "(12, 4, 5, 3)", values), dir, "set.npy")
	old := time.Now().Add(-time.Hour)
	for _, path := range []string{tar, zipped, npy} {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "folder", "*", "*"))
	for _, path := range files {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]string{"folder": "folder:" + filepath.Join(dir, "folder"), "tar": "folder:" + tar, "tar.gz": "folder:" + zipped, "npy": "npy:" + npy}
}

// An index has the digest and the images of Load, whatever is changed in them, and says progress.
func TestIndexIsLoad(t *testing.T) {
	for kind, name := range pictures(t) {
		for _, part := range []string{"", "[skip=2]", "[resize=8]"} {
			for _, change := range []bool{false, true} {
				large(t)
				d, again := mustOpen(t, name+part), mustOpen(t, name+part)
				if change {
					d, again = changed(d), changed(again)
				}
				small = 1 << 30
				want := mustLoad(t, mustOpen(t, name+part))
				if change {
					want = mustLoad(t, changed(mustOpen(t, name+part)))
				}
				small = 0
				var done []float64
				x, err := d.Index(t.Context(), func(s progress.State) { done = append(done, s.Done) })
				if err != nil {
					t.Fatal(err)
				}
				if len(done) < 3 && part == "" {
					t.Errorf("%s%s: progress %v", kind, part, done)
				}
				if x.Whole() != nil || x.Digest != want.Digest || x.Name != want.Name || x.Shape != want.Shape || !slices.Equal(x.Labels, want.Labels) {
					t.Errorf("%s%s, changed %v: %+v, want %+v", kind, part, change, x.Images, want)
				}
				done = nil
				other, err := again.Index(t.Context(), func(s progress.State) { done = append(done, s.Done) })
				if err != nil || len(done) > 0 {
					t.Errorf("%s%s, changed %v: %v after %v images; want the digest that is remembered", kind, part, change, err, done)
				}
				if other.Digest != want.Digest || x.OffGrid != change {
					t.Errorf("%s%s: from the cache: %s, want %s; off the grid: %v", kind, part, other.Digest, want.Digest, x.OffGrid)
				}
				places := []int{3, 0, 3, x.Len() - 1}
				some, err := x.Take(places).Load(t.Context(), []int{0, 1, 2, 3})
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(some.Pixels, want.Take(places).Pixels) || !reflect.DeepEqual(some.Offsets, want.Take(places).Offsets) ||
					!reflect.DeepEqual(some.Residues, want.Take(places).Residues) || !slices.Equal(some.IDs, want.Take(places).IDs) {
					t.Errorf("%s%s, changed %v: other images", kind, part, change)
				}
			}
		}
	}
}

// Where the digest is known, what is not asked for is not read; a picture that changed is named, and never taken.
func TestIndexReadsWhatIsAsked(t *testing.T) {
	large(t)
	name := pictures(t)["folder"]
	folder := strings.TrimPrefix(name, "folder:")
	want := mustIndex(t, mustOpen(t, name)).Digest
	replaced := func(file, with string) {
		path := filepath.Join(folder, file)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		data := testkit.Read(t, folder, with)
		data = append(data, make([]byte, max(0, int(info.Size())-len(data)))...)[:info.Size()]
		testkit.Write(t, data, path)
		if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	replaced("c/05.png", "c/02.png") // with its old size and time
	x := mustIndex(t, mustOpen(t, name))
	if x.Digest != want {
		t.Errorf("digest %s, want %s", x.Digest, want)
	}
	for i := range x.Len() {
		_, err := x.Read(t.Context(), i)
		if bad := i == 9; bad != (err != nil) || bad && (!strings.Contains(err.Error(), "05.png") || !strings.Contains(err.Error(), "changed")) {
			t.Errorf("image %d: %v", i, err)
		}
	}
	now := time.Now().Add(-time.Minute)
	if err := os.Chtimes(filepath.Join(folder, "c/05.png"), now, now); err != nil {
		t.Fatal(err)
	}
	if x := mustIndex(t, mustOpen(t, name)); x.Digest == want {
		t.Error("a file with another time was not read again")
	}
	if err := os.Remove(filepath.Join(folder, "a/00.png")); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Read(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "00.png") {
		t.Errorf("a picture that is gone: %v", err)
	}
}

// Another size among the pictures is found, wherever it stands.
func TestIndexOfUnequalPictures(t *testing.T) {
	large(t)
	name := pictures(t)["folder"]
	testkit.Write(t, pngBytes(t, patternImage(1, 9, 9)), strings.TrimPrefix(name, "folder:"), "c", "11.png")
	if _, err := mustOpen(t, name).Index(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "9×9") {
		t.Errorf("%v", err)
	}
}

// A picture that another subset met in a later version voids what was known of the first one.
func TestIndexOfALaterVersion(t *testing.T) {
	large(t)
	name := pictures(t)["folder"]
	before := mustIndex(t, mustOpen(t, name)).Digest
	path := testkit.Write(t, pngBytes(t, patternImage(77, 4, 5)), strings.TrimPrefix(name, "folder:"), "c", "05.png")
	old := time.Now().Add(-time.Hour / 2)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	mustIndex(t, mustOpen(t, name+"[range=8:12]"))
	if got, want := mustIndex(t, mustOpen(t, name)).Digest, mustLoad(t, mustOpen(t, name)).Digest; got != want || got == before {
		t.Errorf("digest %s, want %s; before the change it was %s", got, want, before)
	}
}

// A program that changes images otherwise than the one that computed a digest computes it again, or names the image.
func TestIndexOfOtherChanges(t *testing.T) {
	large(t)
	name := pictures(t)["folder"]
	add := func(n uint8, from int) *Dataset {
		return mustOpen(t, name).Changed(Change{Name: "add", Apply: func(_ context.Context, shape pixel.Shape, ids []int, pixels []uint8) ([]uint8, error) {
			out := slices.Clone(pixels)
			for i, id := range ids {
				if id >= from {
					out[i*shape.Len()] += n
				}
			}
			return out, nil
		}})
	}
	first := mustIndex(t, add(1, 0))
	if got := mustIndex(t, add(1, 0)).Digest; got != first.Digest {
		t.Errorf("digest %s, want %s", got, first.Digest)
	}
	if got, want := mustIndex(t, add(2, 0)).Digest, mustLoad(t, add(2, 0)).Digest; got != want || got == first.Digest {
		t.Errorf("of the first image changed otherwise: digest %s, want %s", got, want)
	}
	late := add(3, 5)
	mustIndex(t, add(0, 0)) // the first image as it is
	if _, err := mustIndex(t, late).Read(t.Context(), 3); err != nil {
		t.Error(err)
	}
	if _, err := mustIndex(t, late).Read(t.Context(), 7); err == nil || !strings.Contains(err.Error(), "otherwise") || !strings.Contains(err.Error(), ".png") {
		t.Errorf("%v", err)
	}
	if got, want := mustIndex(t, add(3, 5)).Digest, mustLoad(t, add(3, 5)).Digest; got != want {
		t.Errorf("after that: digest %s, want %s", got, want)
	}
}

// A compressed archive is unpacked once for each of its versions.
func TestUnpacked(t *testing.T) {
	large(t)
	name := pictures(t)["tar.gz"]
	path := strings.TrimPrefix(name, "folder:")
	unpacked := func() []string {
		dir, err := cache.Dir("unpacked")
		if err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		return files
	}
	want := mustIndex(t, mustOpen(t, name)).Digest
	before := unpacked()
	if got := mustIndex(t, mustOpen(t, name)).Digest; got != want || len(before) != 1 || !slices.Equal(unpacked(), before) {
		t.Errorf("%s, want %s; %v, then %v", got, want, before, unpacked())
	}
	now := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, now, now); err != nil {
		t.Fatal(err)
	}
	if got := mustIndex(t, mustOpen(t, name)).Digest; got != want || len(unpacked()) != 1 || slices.Equal(unpacked(), before) {
		t.Errorf("%s, want %s; %v, then %v", got, want, before, unpacked())
	}
}

// A new version of an archive or array voids what was known of all its images, also of those that no one has asked for
// again.
func TestIndexOfALaterFile(t *testing.T) {
	for kind, name := range pictures(t) {
		if kind == "folder" {
			continue
		}
		large(t)
		before := mustIndex(t, mustOpen(t, name+"[range=0:6]")).Digest
		path := name[strings.Index(name, ":")+1:]
		for i := 0; i < 2; i++ { // of the same size, last the same images
			text := testkit.Read(t, path)
			if kind == "npy" && i == 0 {
				text = slices.Clone(text)
				text[len(text)-12*60] ^= 1 // of image 0
			}
			testkit.Write(t, text, path)
			later := time.Now().Add(-time.Minute * time.Duration(30-i))
			if err := os.Chtimes(path, later, later); err != nil {
				t.Fatal(err)
			}
			mustIndex(t, mustOpen(t, name+"[range=6:12]"))
			got, want := mustIndex(t, mustOpen(t, name+"[range=0:6]")).Digest, mustLoad(t, mustOpen(t, name+"[range=0:6]")).Digest
			if got != want || kind == "npy" && got == before {
				t.Errorf("%s: digest %s, want %s; before the change it was %s", kind, got, want, before)
			}
		}
	}
}
