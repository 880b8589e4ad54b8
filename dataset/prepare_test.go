package dataset

import (
	"bytes"
	"image"
	"image/color"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
)

func TestPrepareFolder(t *testing.T) {
	dir := t.TempDir()
	// Two grey columns of 10 and 200, wide and tall; box to half the size averages them.
	draw := func(height, width int) *image.Gray {
		m := image.NewGray(image.Rect(0, 0, width, height))
		for i := range m.Pix {
			m.Pix[i] = []uint8{10, 200}[i%width%2]
		}
		return m
	}
	testkit.Write(t, pngBytes(t, draw(4, 8)), dir, "x", "wide.png")
	testkit.Write(t, pngBytes(t, draw(12, 4)), dir, "x", "tall.png")
	name := "folder:" + dir
	wantError(t, name, "x/wide.png: 4×8 pixels; expected 12×4 as in x/tall.png", "a resize and a crop")
	wantError(t, name+"[resize=2]", "x/wide.png: 2×4 pixels; expected 6×2 as in x/tall.png", "a crop brings")
	wantError(t, name+"[crop=5]", "x/tall.png: 12×4 pixels are fewer than the 5×5 to crop to")
	wantError(t, name+"[resize=16384]", "x/tall.png: 12×4 pixels become 49152×16384", "16384")

	plain := mustOpen(t, name)
	d, err := plain.Prepare(Preparation{Resize: Size{Width: 2}, Filter: "box", Crop: Size{Width: 2}})
	if err != nil {
		t.Fatal(err)
	}
	im := mustLoad(t, d)
	if list := "resize=2,filter=box,crop=2]"; im.Name != name+"["+list || d.String() != name+"[jpeg=libjpeg-turbo,"+list {
		t.Errorf("the name is %s, and %v", im.Name, d)
	}
	if im.Shape.String() != "2×2×1" || !bytes.Equal(im.Pixels, bytes.Repeat([]byte{105}, 8)) {
		t.Errorf("%v of %v; expected 105 everywhere", im.Pixels, im.Shape)
	}
	again := mustLoad(t, mustOpen(t, d.Subset(Count(1)).String()))
	if again.Name != name+"[resize=2,filter=box,crop=2,count=1]" || again.Len() != 1 {
		t.Errorf("%d images of %s", again.Len(), again.Name)
	}
	other := mustLoad(t, mustOpen(t, name+"[resize=3x4,filter=nearest,channels=rgb]"))
	if other.Shape.String() != "3×4×3" || !bytes.Equal(other.Image(0)[:12], []byte{10, 10, 10, 200, 200, 200, 10, 10, 10, 200, 200, 200}) {
		t.Errorf("%v, %v", other.Shape, other.Image(0))
	}
	if other.Digest == im.Digest {
		t.Error("two preparations have one digest")
	}
	if d, err := d.Prepare(Preparation{}); err != nil || d.String() != name+"[jpeg=libjpeg-turbo]" {
		t.Errorf("without preparation the set is %v, %v", d, err)
	}
	if p := mustOpen(t, name+"[resize=2]").Preparation(); p.Filter != "bilinear" || p.Resize != (Size{Width: 2}) {
		t.Errorf("preparation %+v; expected the default filter", p)
	}
}

// Grey is the luma of ITU-R 601: of white 255, of pure red, green and blue 76, 150 and 29 (0.299, 0.587 and 0.114 of 255, rounded), in sets
// of one size as in folders; grey images stay.
func TestGrey(t *testing.T) {
	dir := t.TempDir()
	m := image.NewNRGBA(image.Rect(0, 0, 4, 1))
	for i, c := range []color.NRGBA{{255, 255, 255, 255}, {255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}} {
		m.Set(i, 0, c)
	}
	testkit.Write(t, pngBytes(t, m), dir, "x", "colour.png")
	im := mustLoad(t, mustOpen(t, "folder:"+dir+"[channels=grey]"))
	if im.Shape.String() != "1×4×1" || !bytes.Equal(im.Pixels, []byte{255, 76, 150, 29}) {
		t.Errorf("%v of %v", im.Pixels, im.Shape)
	}
	r := &records{labels: []int{0}, block: block{shape: pixel.Shape{Height: 1, Width: 4, Channels: 3}, pixels: []byte{255, 255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 255}}}
	got, err := (Preparation{Grey: true}).records(t.Context(), r)
	if err != nil || got.shape.Channels != 1 || !bytes.Equal(got.pixels, im.Pixels) {
		t.Errorf("%v of %v, %v", got.pixels, got.shape, err)
	}
	again, err := (Preparation{Grey: true}).records(t.Context(), got)
	if err != nil || !bytes.Equal(again.pixels, im.Pixels) {
		t.Errorf("grey of grey: %v, %v", again, err)
	}
	wantError(t, "folder:"+dir+"[channels=gray]", "expected channels=rgb or channels=grey")
}

// A set of one size is prepared as a folder of the same pictures is.
func TestPrepareKnownSet(t *testing.T) {
	useData(t)
	plain := mustOpen(t, "synthetic/test[skip=4000]")
	whole := mustLoad(t, plain)
	p := Preparation{Resize: Size{9, 12}, Filter: "bicubic", Crop: Size{8, 10}, RGB: true}
	d, err := plain.Prepare(p)
	if err != nil {
		t.Fatal(err)
	}
	im := mustLoad(t, d)
	if im.Name != "synthetic/test[resize=9x12,filter=bicubic,crop=8x10,channels=rgb,skip=4000]" || im.Len() != 3 {
		t.Fatalf("%d images of %s", im.Len(), im.Name)
	}
	dir := t.TempDir()
	for i := range im.Len() {
		m := image.NewNRGBA(image.Rect(0, 0, whole.Shape.Width, whole.Shape.Height))
		for j := range m.Pix {
			m.Pix[j] = 255
			if j%4 < 3 {
				m.Pix[j] = whole.Image(i)[j/4*3+j%4]
			}
		}
		testkit.Write(t, pngBytes(t, m), dir, string(rune('a'+i))+".png")
	}
	folder := mustLoad(t, mustOpen(t, "folder:"+dir+"[resize=9x12,filter=bicubic,crop=8x10]"))
	for i := range im.Len() {
		if im.Shape.String() != "8×10×3" || !bytes.Equal(im.Image(i), folder.Image(i)) {
			t.Fatalf("image %d of %v differs from the one in a folder", i, im.Shape)
		}
	}
	wantError(t, "synthetic/test[crop=33]", "synthetic/test", "32×32 pixels are fewer than the 33×33")
	wantError(t, "synthetic/test[background=white]", "are for folders of pictures")
	wantError(t, "synthetic/test[classes=x]", "are for folders of pictures")
}

func TestPreparationErrors(t *testing.T) {
	for list, want := range map[string]string{
		"resize=0":                   `size "0"`,
		"resize=4x":                  `size "4x"`,
		"resize=20000":               "1 to 16384",
		"crop=-1":                    `size "-1"`,
		"resize=4,filter=area":       `filter "area"; expected one of nearest, box, bilinear, bicubic, lanczos`,
		"filter=box":                 "without a size",
		"background=red":             `background "red"`,
		"background=#12345":          `background "#12345"`,
		"background=#+12345":         `background "#+12345"`,
		"channels=cmyk":              "expected channels=rgb or channels=grey",
		"depth=16":                   "expected depth=8",
		"classes=":                   "no value",
		"filter=":                    "no value",
		"resize=4,crop=2,resize=5":   "twice",
		"resize=4,filter=box,skip=x": `"x" is no whole number`,
	} {
		wantError(t, "folder:x["+list+"]", want)
	}
	_, err := mustOpen(t, "folder:x").Prepare(Preparation{Classes: "a,b"})
	if err == nil || !strings.Contains(err.Error(), "comma") {
		t.Errorf("a file of classes with a comma: %v", err)
	}
	if _, err := mustOpen(t, "folder:x").Prepare(Preparation{Crop: Size{Height: -3, Width: 4}}); err == nil {
		t.Error("a negative height is no error")
	}
}

func TestBackgroundAndDepth(t *testing.T) {
	dir := t.TempDir()
	glass := image.NewNRGBA(image.Rect(0, 0, 1, 1))
	glass.SetNRGBA(0, 0, color.NRGBA{10, 20, 250, 51})
	deep := image.NewNRGBA64(image.Rect(0, 0, 1, 1))
	deep.SetNRGBA64(0, 0, color.NRGBA64{257, 514, 65535, 65535})
	testkit.Write(t, pngBytes(t, glass), dir, "1.png")
	testkit.Write(t, pngBytes(t, deep), dir, "2.png")
	im := mustLoad(t, mustOpen(t, "folder:"+dir+"[background=#c86400,depth=8]"))
	if want := []uint8{162, 84, 50, 1, 2, 255}; !bytes.Equal(im.Pixels, want) { // 0.2 of one and 0.8 of the other
		t.Errorf("%v; expected %v", im.Pixels, want)
	}
	if im.ClassCounts() == nil || im.Labels[0] != -1 || im.Folders != nil || len(im.Warnings) > 0 {
		t.Errorf("%+v; expected no labels and no warning", im)
	}
}

func TestDamagedOrientationWarns(t *testing.T) {
	dir := t.TempDir()
	testkit.Write(t, append([]byte("\xff\xd8\xff\xe1\x00\x0aExif\x00\x00XX"), jpegBytes(t, patternImage(1, 8, 8))[2:]...), dir, "1.jpg")
	im := mustLoad(t, mustOpen(t, "folder:"+dir))
	if len(im.Warnings) != 1 || !strings.Contains(im.Warnings[0], "1 pictures have an orientation that cannot be read") || !strings.Contains(im.Warnings[0], "1.jpg") {
		t.Errorf("warnings %q", im.Warnings)
	}
}

func TestClassFiles(t *testing.T) {
	dir := t.TempDir()
	for i, folder := range []string{"n01", "n02", "n03"} {
		testkit.Write(t, pngBytes(t, patternImage(i, 2, 2)), dir, "set", folder, "1.png")
	}
	file := filepath.Join(dir, "classes.txt")
	name := "folder:" + filepath.Join(dir, "set") + "[classes=" + file + "]"
	for text, want := range map[string]struct {
		labels  []int
		classes []string
		folders map[string]int
	}{
		"n03\nn01\n\nn02\n": {[]int{1, 2, 0}, []string{"n03", "n01", "n02"}, map[string]int{"n03": 0, "n01": 1, "n02": 2}},
		"n01 2 tench, Tinca tinca\r\nn02 0 a dog\r\nn03 2 tench, Tinca tinca\r\nn9 3 other": {
			[]int{2, 0, 2}, []string{"a dog", "1", "tench, Tinca tinca", "other"}, map[string]int{"n01": 2, "n02": 0, "n03": 2, "n9": 3}},
		"\ufeffn01\t0\ta b\nn02\t1\tc\nn03\t2\td\nwith space\t3\te": {
			[]int{0, 1, 2}, []string{"a b", "c", "d", "e"}, map[string]int{"n01": 0, "n02": 1, "n03": 2, "with space": 3}},
	} {
		testkit.Write(t, []byte(text), file)
		im := mustLoad(t, mustOpen(t, name))
		if !slices.Equal(im.Labels, want.labels) || !slices.Equal(im.Classes, want.classes) || !maps.Equal(im.Folders, want.folders) {
			t.Errorf("%q: labels %v, classes %q, folders %v; expected %v", text, im.Labels, im.Classes, im.Folders, want)
		}
	}
	for text, want := range map[string]string{
		"":                          "no classes",
		"n01\nn02\n":                "n03/1.png: the folder n03 is not in the file of classes " + file,
		"n01\nn02\nn01":             `line 3: the folder "n01" stands there twice`,
		"n01 0 a\nn02 1":            "line 2",
		"n01 0 a\nn02 0 b":          `line 2: label 0 is "b", and "a" before`,
		"n01 -1 a":                  "label -1",
		"n01 99999999 a":            "label 99999999",
		"train/n01\nn02\nn03":       `folder "train/n01"`,
		"n01 0 a\nn02 1 b\nnothing": "line 3",
	} {
		testkit.Write(t, []byte(text), file)
		wantError(t, name, want, file)
	}
	wantError(t, "folder:"+filepath.Join(dir, "set")+"[classes="+file+".txt]", file+".txt")

	// Pictures without folders have names of classes, but no labels.
	testkit.Write(t, []byte("n01\nn02\n"), file)
	im := mustLoad(t, mustOpen(t, "folder:"+filepath.Join(dir, "set", "n01")+"[classes="+file+"]"))
	if im.Labels[0] != -1 || !slices.Equal(im.Classes, []string{"n01", "n02"}) || len(im.Warnings) > 0 {
		t.Errorf("labels %v, classes %q, warnings %q", im.Labels, im.Classes, im.Warnings)
	}
}

// The name of a set of pictures says how JPEG pictures are decoded, where there are some; PNG pictures are the same by any decoder.
func TestJPEGDecoders(t *testing.T) {
	dir := t.TempDir()
	soft := patternImage(3, 8, 10) // its chroma is coded at half the size
	testkit.Write(t, jpegBytes(t, soft), dir, "jpeg", "a", "1.jpg")
	testkit.Write(t, jpegBytes(t, soft), dir, "sham", "a", "1.png")
	testkit.Write(t, pngBytes(t, soft), dir, "png", "a", "1.png")
	ours := strings.Join(strings.Split(runtime.Version(), ".")[:2], ".")
	name := "folder:" + filepath.Join(dir, "jpeg")
	turbo, standard := mustLoad(t, mustOpen(t, name)), mustLoad(t, mustOpen(t, name+"[jpeg="+ours+"]"))
	if turbo.Name != name+"[jpeg=libjpeg-turbo]" || standard.Name != name+"[jpeg="+ours+"]" || turbo.Digest == standard.Digest {
		t.Errorf("%s has the digest %s, %s %s", turbo.Name, turbo.Digest, standard.Name, standard.Digest)
	}
	sham := "folder:" + filepath.Join(dir, "sham")
	if im := mustLoad(t, mustOpen(t, sham)); im.Name != sham+"[jpeg=libjpeg-turbo]" || im.Digest != turbo.Digest {
		t.Errorf("a JPEG picture named .png: %s, %s", im.Name, im.Digest)
	}
	png := "folder:" + filepath.Join(dir, "png")
	if im := mustLoad(t, mustOpen(t, png+"[jpeg=go1.3,crop=8]")); im.Name != png+"[crop=8]" {
		t.Errorf("PNG pictures: %s", im.Name)
	}
	wantError(t, name+"[jpeg=go1.3]", "a/1.jpg", "as Go 1.3 decodes them", "build it with Go 1.3, or take jpeg=libjpeg-turbo")
	wantError(t, name+"[jpeg=mozjpeg]", "expected libjpeg-turbo, or go1.26")
	wantError(t, "mnist/test[jpeg=go1.26]", "a set without pictures")
	for _, c := range [][3]string{ // name, recorded, opened
		{"folder:x", "folder:x", "folder:x[jpeg=go1.26]"},
		{"cifar10-jpeg/test[skip=20]", "cifar10-jpeg/test[skip=20,corrupt=fog:3,seed=0]", "cifar10-jpeg/test[jpeg=go1.26,skip=20]"},
		{"folder:x[skip=2]", "folder:y[jpeg=libjpeg-turbo,corrupt=fog:3,seed=0]", "folder:x[jpeg=libjpeg-turbo,skip=2]"},
		{"folder:x[jpeg=libjpeg-turbo]", "folder:x", "folder:x[jpeg=libjpeg-turbo]"},
		{"mnist/test", "mnist/test", "mnist/test"},
	} {
		if d, err := OpenLike(c[0], c[1]); err != nil || d.String() != c[2] {
			t.Errorf("%s as %s opens %v, %v; expected %s", c[0], c[1], d, err, c[2])
		}
	}
}
