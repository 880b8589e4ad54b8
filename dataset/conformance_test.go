package dataset

import (
	"bytes"
	"context"
	"errors"
	"image"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
)

// sample is one data set of every kind, written to disk, with what must come out.
type sample struct {
	name    string
	files   []string // what it is read from
	shape   pixel.Shape
	count   int
	labels  func(i int) int
	pixel   func(i, y, x, c int) uint8
	classes []string
}

// allSamples writes one data set for every reader. Known sets have a fixed number
// of images, so theirs are of full size.
func allSamples(t *testing.T) []sample {
	dir := useData(t)
	var list []sample

	grey := func(i, y, x, _ int) uint8 { return pattern(i, y, x, 0) }
	const tests = 10_000
	var images, labels []byte
	for i := range tests {
		labels = append(labels, byte(i*7%10))
		for y := range 28 {
			for x := range 28 {
				images = append(images, grey(i, y, x, 0))
			}
		}
	}
	// Compressed images of MNIST beside plain labels; everything plain for FashionMNIST.
	list = append(list, sample{
		name: "mnist/test",
		files: []string{
			testkit.Write(t, gzipBytes(t, idxBytes(images, tests, 28, 28)), dir, "mnist", "t10k-images-idx3-ubyte.gz"),
			testkit.Write(t, idxBytes(labels, tests), dir, "mnist", "t10k-labels-idx1-ubyte"),
		},
		shape: pixel.Shape{Height: 28, Width: 28, Channels: 1}, count: tests,
		labels: func(i int) int { return i * 7 % 10 }, pixel: grey, classes: digits,
	}, sample{
		name: "fashionmnist/test",
		files: []string{
			testkit.Write(t, idxBytes(images, tests, 28, 28), dir, "fashion-mnist", "t10k-images-idx3-ubyte"),
			testkit.Write(t, gzipBytes(t, idxBytes(labels, tests)), dir, "fashion-mnist", "t10k-labels-idx1-ubyte.gz"),
		},
		shape: pixel.Shape{Height: 28, Width: 28, Channels: 1}, count: tests,
		labels: func(i int) int { return i * 7 % 10 }, pixel: grey, classes: fashionClasses,
	})

	var ten, hundred []byte
	for i := range tests {
		ten = append(ten, byte(i%10))
		hundred = append(hundred, byte(i%20), byte(i*3%100))
		var record []byte
		for c := range 3 {
			for y := range 32 {
				for x := range 32 {
					record = append(record, pattern(i, y, x, c))
				}
			}
		}
		ten = append(ten, record...)
		hundred = append(hundred, record...)
	}
	list = append(list, sample{
		name:  "cifar10/test",
		files: []string{testkit.Write(t, ten, dir, "cifar10", "cifar-10-batches-bin", "test_batch.bin")},
		shape: cifarShape, count: tests,
		labels: func(i int) int { return i % 10 }, pixel: pattern, classes: cifar10Classes,
	}, sample{
		name: "cifar100/test",
		files: []string{testkit.Write(t, gzipBytes(t, tarBytes(t,
			entry{"cifar-100-binary/", nil},
			entry{"cifar-100-binary/fine_label_names.txt", []byte("apple\n")},
			entry{"cifar-100-binary/test.bin", hundred})), dir, "cifar100", "cifar-100-binary.tar.gz")},
		shape: cifarShape, count: tests,
		labels: func(i int) int { return i * 3 % 100 }, pixel: pattern, classes: cifar100Classes,
	})

	// Five blocks of 6 images; severity 4 begins at image 18.
	var blocks, blockLabels []byte
	for i := range 30 {
		blockLabels = append(blockLabels, byte(i%6%3), 0, 0, 0, 0, 0, 0, 0)
		for y := range 5 {
			for x := range 4 {
				for c := range 3 {
					blocks = append(blocks, pattern(i, y, x, c))
				}
			}
		}
	}
	array := testkit.Write(t, npyBytes("|u1", "False", "(30, 5, 4, 3)", blocks), dir, "fog.npy")
	arrayLabels := testkit.Write(t, npyBytes("<i8", "False", "(30,)", blockLabels), dir, "labels.npy")
	list = append(list, sample{
		name:  "npy:" + array + "," + arrayLabels,
		files: []string{array, arrayLabels},
		shape: pixel.Shape{Height: 5, Width: 4, Channels: 3}, count: 30,
		labels: func(i int) int { return i % 6 % 3 }, pixel: pattern, classes: []string{"0", "1", "2"},
	}, sample{
		name:  "npy:" + array + "," + arrayLabels + ",severity=4,classes=cifar10",
		files: []string{array, arrayLabels},
		shape: pixel.Shape{Height: 5, Width: 4, Channels: 3}, count: 6,
		labels: func(i int) int { return i % 3 }, classes: cifar10Classes,
		pixel: func(i, y, x, c int) uint8 { return pattern(i+18, y, x, c) },
	}, sample{
		name:  "npy:" + array + ",severity=4",
		files: []string{array},
		shape: pixel.Shape{Height: 5, Width: 4, Channels: 3}, count: 6,
		labels: func(i int) int { return -1 },
		pixel:  func(i, y, x, c int) uint8 { return pattern(i+18, y, x, c) },
	})

	// In the bytewise order of paths "a b/1" comes before "a/2", which comes before "a0/3".
	names := []string{"a b/1.png", "a/2.PNG", "a0/3.png"}
	var entries []entry
	for i, name := range names {
		data := pngBytes(t, patternImage(i, 6, 5))
		entries = append([]entry{{"all/train/" + name, data}}, entries...)
		testkit.Write(t, data, dir, "pictures", filepath.FromSlash(name))
		testkit.Write(t, data, dir, "flat", strings.ReplaceAll(name, "/", "-"))
	}
	entries = append(entries, entry{"all/test/b/9.png", pngBytes(t, patternImage(9, 2, 2))}, entry{"all/train/", nil})
	testkit.Write(t, []byte("hidden"), dir, "pictures", ".cache", "x.png")
	archive := testkit.Write(t, gzipBytes(t, tarBytes(t, entries...)), dir, "all.tar.gz")
	folder := sample{
		name: "folder:" + filepath.Join(dir, "pictures"), shape: pixel.Shape{Height: 6, Width: 5, Channels: 3}, count: 3,
		labels: func(i int) int { return []int{1, 0, 2}[i] }, pixel: pattern, classes: []string{"a", "a b", "a0"},
	}
	for _, name := range names {
		folder.files = append(folder.files, filepath.Join(dir, "pictures", filepath.FromSlash(name)))
	}
	flat := folder
	flat.name, flat.files = "folder:"+filepath.Join(dir, "flat"), nil
	flat.labels, flat.classes = func(int) int { return -1 }, nil
	packed := folder
	packed.name, packed.files = "folder:"+filepath.Join(archive, "all", "train"), []string{archive}
	// Mixed sizes, cut to one from the centre, with labels from a file.
	mixed := folder
	mixed.files = nil
	for i, name := range names {
		margin := 2 * i
		m := image.NewNRGBA(image.Rect(0, 0, 5+2*margin, 6+2*margin))
		for y := range m.Rect.Max.Y {
			for x := range m.Rect.Max.X {
				m.SetNRGBA(x, y, patternImage(i, 6, 5).NRGBAAt(min(max(x-margin, 0), 4), min(max(y-margin, 0), 5)))
			}
		}
		mixed.files = append(mixed.files, testkit.Write(t, pngBytes(t, m), dir, "mixed", filepath.FromSlash(name)))
	}
	classFile := testkit.Write(t, []byte("a\t2\tfirst\na0\t0\tsecond\na b\t1\tthird\n"), dir, "labels")
	mixed.name = "folder:" + filepath.Join(dir, "mixed") + "[crop=6x5,classes=" + classFile + "]"
	mixed.labels, mixed.classes = func(i int) int { return []int{1, 2, 0}[i] }, []string{"second", "third", "first"}
	return append(list, folder, flat, packed, mixed)
}

func TestReaders(t *testing.T) {
	for _, s := range allSamples(t) {
		t.Run(s.name[strings.LastIndex(s.name, "/")+1:], func(t *testing.T) {
			checkContents(t, s)
			checkLoading(t, s)
			checkDamage(t, s)
		})
	}
}

func checkContents(t *testing.T, s sample) {
	im := mustLoad(t, mustOpen(t, s.name))
	if im.Name != s.name || im.Shape != s.shape || im.Len() != s.count || !slices.Equal(im.Classes, s.classes) {
		t.Fatalf("%s: %d of %v, classes %q; expected %s: %d of %v, classes %q",
			im.Name, im.Len(), im.Shape, im.Classes, s.name, s.count, s.shape, s.classes)
	}
	if len(im.Pixels) != s.count*s.shape.Len() || len(im.Labels) != s.count {
		t.Fatalf("%d bytes of pixels, %d labels", len(im.Pixels), len(im.Labels))
	}
	for i := range s.count {
		if im.IDs[i] != i || im.Labels[i] != s.labels(i) {
			t.Fatalf("image %d has id %d and label %d; expected label %d", i, im.IDs[i], im.Labels[i], s.labels(i))
		}
		values := im.Image(i)
		for y := range s.shape.Height {
			for x := range s.shape.Width {
				for c := range s.shape.Channels {
					got, want := values[(y*s.shape.Width+x)*s.shape.Channels+c], s.pixel(i, y, x, c)
					if got != want {
						t.Fatalf("image %d, row %d, column %d, channel %d is %d; expected %d", i, y, x, c, got, want)
					}
				}
			}
		}
	}
}

// checkLoading checks what every handle promises.
func checkLoading(t *testing.T, s sample) {
	d := mustOpen(t, s.name)
	if origin, err := d.Origin(); err != nil || origin == "" {
		t.Errorf("origin %q, %v", origin, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Load(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("loading under a cancelled context gives %v", err)
	}
	results := make([]*Images, 8)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() { results[i], _ = d.Load(t.Context()) })
	}
	all.Wait()
	for _, im := range results {
		if im == nil || im != results[0] {
			t.Fatalf("concurrent loads give %p and %p; expected one loaded set", im, results[0])
		}
	}
	whole := results[0]
	if whole.Name != s.name {
		t.Errorf("the name is %q; expected %q", whole.Name, s.name)
	}

	half := d.Subset(Skip(2), Count(max(1, (s.count+1)/4)))
	im := mustLoad(t, half)
	for i, id := range im.IDs {
		if id%2 != 0 || im.Labels[i] != whole.Labels[id] || !bytes.Equal(im.Image(i), whole.Image(id)) {
			t.Fatalf("image %d of the subset is not image %d of the set", i, id)
		}
	}
	if im.Digest == whole.Digest {
		t.Error("a subset has the digest of the whole set")
	}
	again := mustLoad(t, mustOpen(t, half.String()))
	if again.Digest != im.Digest || again.Name != im.Name {
		t.Errorf("opened by its name %s, the subset has another digest", im.Name)
	}
}

// checkDamage cuts and lengthens each file and removes it: always an error that names the file.
func checkDamage(t *testing.T, s sample) {
	for i, file := range s.files {
		if i > 0 && testing.Short() {
			break
		}
		intact := testkit.Read(t, file)
		damaged := map[string][]byte{
			"empty":          {},
			"header only":    intact[:min(len(intact)-1, 9)],
			"half":           intact[:len(intact)/2],
			"last byte cut":  intact[:len(intact)-1],
			"text":           []byte("<!DOCTYPE html><html>not found</html>"),
			"with more data": append(slices.Clone(intact), 1, 2, 3),
		}
		switch filepath.Ext(file) {
		case ".gz", ".png", ".PNG": // what follows the end marker is not part of the data
			delete(damaged, "with more data")
		}
		for what, data := range damaged {
			testkit.Write(t, data, file)
			_, err := mustOpen(t, s.name).Load(t.Context())
			if err == nil {
				t.Errorf("%s, %s: no error", file, what)
			} else if !strings.Contains(err.Error(), filepath.Base(file)) {
				t.Errorf("%s, %s: the error does not name the file: %v", file, what, err)
			}
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if _, err := mustOpen(t, s.name).Load(t.Context()); err == nil && filepath.Ext(file) != ".png" && filepath.Ext(file) != ".PNG" {
			t.Errorf("%s removed: no error", file)
		}
		testkit.Write(t, intact, file)
	}
}
