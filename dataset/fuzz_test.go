package dataset

import (
	"bytes"
	"context"
	"image"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/inflate"
	"github.com/certspec/certspec/internal/testkit"
)

// plain is a stream of bytes that are not gzipped, of a file of their size; others are no input.
func plain(t *testing.T, data []byte) *inflate.Stream {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		t.Skip("gzipped: the reader inflates it before it comes here")
	}
	s, err := inflate.NewStream(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Whatever the bytes, a reader gives an error or a whole set, and never panics.

func FuzzIDX(f *testing.F) {
	f.Add(idxBytes([]byte("abcdef"), 1, 2, 3))
	f.Add(idxBytes([]byte{3, 1, 4}, 3))
	f.Add(idxBytes(nil, 1<<31, 1<<31, 1<<31))
	f.Add([]byte{0, 0, 8, 3, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, magic := range []uint32{idxImages, idxLabels} {
			dims, values, err := decodeIDX(plain(t, data), magic)
			if err == nil && !bytes.Equal(idxBytes(values, dims...), data) {
				t.Errorf("dimensions %v and %d values are not the whole file", dims, len(values))
			}
		}
	})
}

func FuzzCIFAR(f *testing.F) {
	bases := [][]byte{make([]byte, 3073), make([]byte, 2*3074), bytes.Repeat([]byte{200}, 3073), nil}
	for which := range bases {
		f.Add(uint8(which), uint16(0), uint8(0), []byte{}, which == 1)
	}
	f.Fuzz(func(t *testing.T, which uint8, at uint16, cut uint8, put []byte, hundred bool) {
		data := testkit.Edit(bases[int(which)%len(bases)], at, cut, put)
		labelBytes, classes := 1, cifar10Classes
		if hundred {
			labelBytes, classes = 2, cifar100Classes
		}
		r := &records{block: block{shape: cifarShape}, classes: classes}
		if err := decodeCIFAR(bytes.NewReader(data), r, labelBytes, len(classes)); err != nil {
			return
		}
		if err := r.check(); err != nil {
			t.Error(err)
		}
		for i := range r.labels {
			record := data[i*(3072+labelBytes):][:3072+labelBytes]
			first := r.pixels[i*3072:][:3]
			if int(record[labelBytes-1]) != r.labels[i] || first[1] != record[labelBytes+1024] {
				t.Fatalf("record %d is not what was read", i)
			}
		}
	})
}

func FuzzNPY(f *testing.F) {
	values := []byte("abcdefghijkl")
	labels := npyBytes("|u1", "False", "(5,)", []byte{0, 1, 0, 1, 2})
	f.Add("|u1", "(1, 2, 2, 3)", values, uint16(0), uint8(0), []byte{}, 0)
	f.Add("|u1", "(5, 1, 1)", values[:5], uint16(0), uint8(0), []byte{}, 0)
	f.Add("|u1", "(5, 1, 1)", values[:5], uint16(0), uint8(0), []byte{}, 3)
	f.Add("<f4", "(3, 4)", values, uint16(0), uint8(0), []byte{}, 1)
	f.Fuzz(func(t *testing.T, dtype, shape string, values []byte, at uint16, cut uint8, put []byte, severity int) {
		if len(dtype)+len(shape) > 50 {
			return // beyond what npyBytes makes room for
		}
		images, labels := npyBytes(dtype, "False", shape, values), testkit.Edit(labels, at, cut, put)
		file, err := parseNPY(bytes.NewReader(labels), int64(len(labels)))
		if err != nil {
			return
		}
		known, err := decodeLabels(t.Context(), file)
		if err != nil {
			return
		}
		if file, err = parseNPY(bytes.NewReader(images), int64(len(images))); err != nil {
			return
		}
		a := &array{severity: min(max(severity, 0), severities)}
		r, err := a.readImages(t.Context(), file, known)
		if err != nil {
			return
		}
		r.classes = make([]string, slices.Max(r.labels)+1)
		if err := r.check(); err != nil {
			t.Error(err)
		}
		if !bytes.Contains(images, r.pixels) {
			t.Error("the pixels are not in the file")
		}
	})
}

func FuzzTar(f *testing.F) {
	bases := [][]byte{
		tarBytes(f, entry{"a/1.png", pngBytes(f, patternImage(1, 2, 3))}, entry{"b/2.png", pngBytes(f, patternImage(2, 2, 3))}),
		tarBytes(f, entry{"train/a/", nil}, entry{"train/a/1.jpg", jpegBytes(f, patternImage(1, 8, 8))}),
		tarBytes(f, entry{"../1.png", nil}, entry{"x", []byte("text")}),
	}
	for which, inner := range []string{"", "train", "."} {
		f.Add(uint8(which), uint16(0), uint8(0), []byte{}, inner)
	}
	f.Fuzz(func(t *testing.T, which uint8, at uint16, cut uint8, put []byte, inner string) {
		data := testkit.Edit(bases[int(which)%len(bases)], at, cut, put)
		folder := &folder{inner: inner, archive: func(context.Context) (*inflate.Stream, io.Closer, error) {
			return plain(t, data), io.NopCloser(nil), nil
		}}
		if folder.listArchive(t.Context()) != nil {
			return
		}
		seen := 0
		err := folder.each(t.Context(), folder.pictures, func(i int, picture []byte) error {
			if c, _, err := image.DecodeConfig(bytes.NewReader(picture)); err == nil && c.Width*c.Height > 1<<20 {
				t.Skip("a large picture takes the fuzzer's time")
			}
			seen++
			return nil
		})
		if err != nil || seen != len(folder.pictures) {
			t.Errorf("%d pictures are listed, %d visited: %v", len(folder.pictures), seen, err)
		}
		r := new(records)
		if r.label(folder, "") != nil {
			return
		}
		b, err := folder.decode(t.Context(), folder.pictures, Preparation{})
		if err != nil {
			return
		}
		r.block = *b
		if err := r.check(); err != nil {
			t.Error(err)
		}
	})
}

func FuzzClasses(f *testing.F) {
	f.Add("cat\ndog\n")
	f.Add("n01440764 0 tench, Tinca tinca\r\nn02102040 217 English springer\n")
	f.Add("a b\t3\tc\n\nd\t3\tc\n")
	f.Add("a 1048576 b")
	f.Fuzz(func(t *testing.T, text string) {
		folders, classes, err := parseClasses(text)
		if err != nil {
			return
		}
		largest := 0
		for folder, label := range folders {
			if label < 0 || label >= len(classes) || !strings.Contains(text, folder) || !strings.Contains(text, classes[label]) {
				t.Errorf("folder %q has label %d of %d classes", folder, label, len(classes))
			}
			largest = max(largest, label)
		}
		if len(classes) != largest+1 {
			t.Errorf("%d classes; the largest label is %d", len(classes), largest)
		}
	})
}

func FuzzOpen(f *testing.F) {
	for _, name := range []string{
		"fashionmnist/test", "cifar10/train[skip=20,count=500]", "mnist/test[split=0.9:7:2,range=0:5,max_index=3]",
		"folder:x[crop=4,resize=8x9,classes=a b.txt,depth=8,background=#00ff00,channels=rgb,skip=2]",
		"folder:a.tar.gz/train", "npy:a.npy,b.npy,severity=3,classes=cifar10", "[", "x[]]", "",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		d, err := Open(name)
		if err != nil {
			return
		}
		again, err := Open(d.String())
		if err != nil || again.String() != d.String() {
			t.Errorf("%q opens %q, which opens %v, %v", name, d, again, err)
		}
	})
}
