package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// wantError loads name and expects an error that holds all the words.
func wantError(t *testing.T, name string, words ...string) {
	t.Helper()
	d, err := Open(name)
	if err == nil {
		_, err = d.Load(t.Context())
	}
	if err == nil {
		t.Errorf("%s: no error; expected one with %q", name, words)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: error %q; expected it to say %q", name, err, word)
		}
	}
}

func TestIDXErrors(t *testing.T) {
	dir := useData(t)
	images := idxBytes(make([]byte, 10_000*784), 10_000, 28, 28)
	labels := idxBytes(make([]byte, 10_000), 10_000)
	eleven := bytes.Clone(labels)
	eleven[8+1234] = 10
	huge := idxBytes(nil, math.MaxUint32, 28, 28)
	overflow := idxBytes(nil, 1<<31, 1<<31, 1<<31)
	for name, c := range map[string]struct {
		images, labels []byte
		want           []string
	}{
		"swapped":         {labels, images, []string{"images-idx3", "0x00000801 (labels)", "expected 0x00000803 (images)"}},
		"images twice":    {images, images, []string{"labels-idx1", "0x00000803 (images)", "expected 0x00000801 (labels)"}},
		"label 10":        {images, eleven, []string{"image 1234 has label 10", "expected 0 to 9"}},
		"fewer labels":    {images, idxBytes(make([]byte, 9_999), 9_999), []string{"9999 labels", "10000 images"}},
		"other count":     {idxBytes(make([]byte, 5*784), 5, 28, 28), idxBytes(make([]byte, 5), 5), []string{"5 images", "expected 10000"}},
		"other size":      {idxBytes(make([]byte, 10_000*4), 10_000, 2, 2), labels, []string{"of 2×2×1", "28×28×1"}},
		"huge header":     {huge, labels, []string{"ask for more than"}},
		"overflow header": {overflow, labels, []string{"ask for more than"}},
		"no images":       {idxBytes(nil, 0, 28, 28), labels, []string{"expected at least 1"}},
		"floats":          {append([]byte{0, 0, 0x0d, 3}, images[4:]...), labels, []string{"neither images nor labels"}},
		"damaged gzip":    {gzipBytes(t, images)[:1000], labels, []string{"truncated: ", "expected 7840000"}},
		"gzip of half":    {gzipBytes(t, images[:4_000_000]), labels, []string{"truncated: 3999984 bytes of data; expected 7840000"}},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Write(t, c.images, dir, "mnist", "t10k-images-idx3-ubyte")
			testkit.Write(t, c.labels, dir, "mnist", "t10k-labels-idx1-ubyte")
			wantError(t, "mnist/test", append(c.want, filepath.Join(dir, "mnist"))...)
		})
	}
}

func TestCIFARErrors(t *testing.T) {
	dir := useData(t)
	file := make([]byte, 10_000*3073)
	label := bytes.Clone(file)
	label[77*3073] = 10
	for name, c := range map[string]struct {
		data []byte
		want []string
	}{
		"CIFAR-100 records": {make([]byte, 10_000*3074), []string{"ends", "records of 3073 bytes"}},
		"cut record":        {file[:5*3073+100], []string{"ends 100 bytes into record 5"}},
		"too few":           {file[:5*3073], []string{"5 images", "expected 10000"}},
		"label 10":          {label, []string{"record 77 has label 10", "expected 0 to 9"}},
		"empty":             {nil, []string{"empty"}},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Write(t, c.data, dir, "cifar10", "cifar-10-batches-bin", "test_batch.bin")
			wantError(t, "cifar10/test", append(c.want, "test_batch.bin")...)
		})
	}
	// The coarse label of CIFAR-100 may be anything, the fine one may not.
	fine := make([]byte, 2*3074)
	fine[0], fine[1], fine[3074], fine[3075] = 255, 99, 255, 100
	r := &records{}
	err := decodeCIFAR(bytes.NewReader(fine), r, 2, 100)
	if err == nil || !strings.Contains(err.Error(), "record 1 has label 100") || !slices.Equal(r.labels, []int{99}) {
		t.Errorf("labels %v, error %v", r.labels, err)
	}
	testkit.Write(t, tarBytes(t, entry{"cifar-100-binary/train.bin", file}), dir, "cifar100", "cifar-100-binary.tar")
	wantError(t, "cifar100/test", "no cifar-100-binary/test.bin in the archive")
}

func TestNPYErrors(t *testing.T) {
	dir := t.TempDir()
	values := make([]byte, 10*2*2*3)
	images := npyBytes("|u1", "False", "(10, 2, 2, 3)", values)
	labels := npyBytes("|u1", "False", "(10,)", make([]byte, 10))
	negative := npyBytes("<i4", "False", "(10,)", bytes.Repeat([]byte{0xff}, 40))
	far := npyBytes("<i8", "False", "(10,)", bytes.Repeat([]byte{0, 0, 0, 0, 1, 0, 0, 0}, 10))
	varied := npyBytes("|u1", "False", "(10,)", []byte{0, 1, 0, 1, 0, 1, 0, 1, 0, 0})
	version4 := bytes.Clone(images)
	version4[6] = 4
	long := append([]byte("\x93NUMPY\x02\x00"), 0xff, 0xff, 0xff, 0xff)
	for name, c := range map[string]struct {
		images, labels []byte
		options        string
		want           []string
	}{
		"float images":      {npyBytes("<f4", "False", "(10, 2, 2, 3)", make([]byte, 480)), labels, "", []string{"images.npy", `"<f4"`, `expected "|u1"`}},
		"integer images":    {npyBytes("<i4", "False", "(10, 2, 2, 3)", make([]byte, 480)), labels, "", []string{"images.npy", `"<i4"`, `expected "|u1"`}},
		"fortran":           {npyBytes("|u1", "True", "(10, 2, 2, 3)", values), labels, "", []string{"Fortran order", "expected C order"}},
		"version 4":         {version4, labels, "", []string{"version 4"}},
		"channels first":    {npyBytes("|u1", "False", "(10, 3, 2, 2)", values), labels, "", []string{"2 channels"}},
		"flat":              {npyBytes("|u1", "False", "(10, 12)", values), labels, "", []string{"shape [10 12]", "height × width"}},
		"scalar":            {npyBytes("|u1", "False", "()", []byte{1}), labels, "", []string{"shape []"}},
		"huge":              {npyBytes("|u1", "False", "(4611686018427387904, 2, 2, 3)", values), labels, "", []string{"at most"}},
		"negative shape":    {npyBytes("|u1", "False", "(-10, 2, 2, 3)", values), labels, "", []string{"positive dimensions"}},
		"more than there":   {npyBytes("|u1", "False", "(11, 2, 2, 3)", values), labels, "", []string{"120 bytes of data; expected 132"}},
		"long header":       {long, labels, "", []string{"header of"}},
		"damaged header":    {npyBytes("|u1", "Maybe", "(10, 2, 2, 3)", values), labels, "", []string{"damaged .npy header"}},
		"no newline":        {append([]byte("\x93NUMPY\x01\x00\x04\x00"), "abcd"...), labels, "", []string{"damaged .npy header"}},
		"fewer labels":      {images, npyBytes("|u1", "False", "(9,)", make([]byte, 9)), "", []string{"10 images", "9 labels"}},
		"table of labels":   {images, npyBytes("|u1", "False", "(5, 2)", make([]byte, 10)), "", []string{"labels.npy", "one label an image"}},
		"negative label":    {images, negative, "", []string{"labels.npy", "label 0 is -1"}},
		"enormous label":    {images, far, "", []string{"labels.npy", "label 0 is 4294967296"}},
		"label over":        {images, npyBytes("|u1", "False", "(10,)", bytes.Repeat([]byte{10}, 10)), ",classes=cifar10", []string{"label 10", "0 to 9"}},
		"labels differ":     {images, varied, ",severity=2", []string{"same labels for each severity"}},
		"uneven severities": {npyBytes("|u1", "False", "(9, 2, 2, 3)", values[:9*12]), labels, ",severity=2", []string{"9 images are not 5 blocks"}},
		"severity 0":        {images, labels, ",severity=0", []string{`severity is "0"`, "1 to 5"}},
		"severity 6":        {images, labels, ",severity=6", []string{`severity is "6"`, "1 to 5"}},
		"unknown classes":   {images, labels, ",classes=cifar", []string{`classes is "cifar"`}},
		"unknown option":    {images, labels, ",level=3", []string{`"level=3"`}},
	} {
		t.Run(name, func(t *testing.T) {
			i := testkit.Write(t, c.images, dir, "images.npy")
			l := testkit.Write(t, c.labels, dir, "labels.npy")
			wantError(t, "npy:"+i+","+l+c.options, c.want...)
			if name == "scalar" || name == "uneven severities" {
				wantError(t, "npy:"+i+c.options, c.want...)
			}
		})
	}
	for _, name := range []string{"npy:", "npy:,", "npy:a.npy,", "npy:a.npy,,severity=1"} {
		wantError(t, name, "expected npy:IMAGES.npy or npy:IMAGES.npy,LABELS.npy")
	}
}

func TestNPYLabelsOfOneBlock(t *testing.T) {
	dir := t.TempDir()
	var values []byte
	for i := range 10 {
		values = append(values, byte(i))
	}
	var four []byte
	for _, label := range []uint32{3, 1} {
		four = binary.LittleEndian.AppendUint32(four, label)
	}
	images := testkit.Write(t, npyBytes("|u1", "False", "(10, 1, 1)", values), dir, "images.npy")
	labels := testkit.Write(t, npyBytes("<i4", "False", "(2,)", four), dir, "labels.npy")
	im := mustLoad(t, mustOpen(t, "npy:"+images+","+labels+",severity=5"))
	if im.Shape.Channels != 1 || !slices.Equal(im.Labels, []int{3, 1}) || !bytes.Equal(im.Pixels, []byte{8, 9}) || len(im.Classes) != 4 {
		t.Errorf("%+v; expected the last two grey images with labels 3 and 1 of 4 classes", im)
	}
	if len(im.Warnings) != 1 || !strings.Contains(im.Warnings[0], "2 of 4 classes have no image: 0, 2") {
		t.Errorf("warnings %q", im.Warnings)
	}
}

func TestFolderErrors(t *testing.T) {
	good := pngBytes(t, patternImage(1, 4, 4))
	damaged := bytes.Clone(jpegBytes(t, patternImage(2, 4, 4)))
	damaged = damaged[:len(damaged)/2]
	deep := image.NewNRGBA64(image.Rect(0, 0, 4, 4))
	deep.Set(1, 1, color.NRGBA64{1, 2, 3, 4}) // the encoder drops what is not needed
	glass := patternImage(1, 4, 4)
	glass.SetNRGBA(2, 2, color.NRGBA{1, 2, 3, 254})
	wide := bytes.Clone(good)
	binary.BigEndian.PutUint32(wide[16:], 60_000) // width and height in the IHDR chunk
	binary.BigEndian.PutUint32(wide[20:], 60_000)
	binary.BigEndian.PutUint32(wide[29:], crc32.ChecksumIEEE(wide[12:29]))
	for name, c := range map[string]struct {
		entries []entry
		want    []string
	}{
		"no pictures":        {[]entry{{"a/readme.txt", []byte("text")}}, []string{"no .png, .jpg or .jpeg"}},
		"nothing":            {nil, []string{"no .png, .jpg or .jpeg"}},
		"other size":         {[]entry{{"a/1.png", good}, {"a/2.png", pngBytes(t, patternImage(1, 4, 5))}}, []string{"a/2.png", "4×5 pixels; expected 4×4 as in a/1.png"}},
		"grey beside colour": {[]entry{{"a/1.png", good}, {"a/2.png", pngBytes(t, image.NewGray(image.Rect(0, 0, 4, 4)))}}, []string{"a/2.png is grey", "a/1.png has colours", "channels=rgb"}},
		"damaged JPEG":       {[]entry{{"a/1.png", good}, {"b/2.jpg", damaged}}, []string{"b/2.jpg"}},
		"no picture":         {[]entry{{"a/1.png", []byte("text")}}, []string{"a/1.png", "expected PNG or JPEG"}},
		"sixteen bits":       {[]entry{{"a/1.png", pngBytes(t, deep)}}, []string{"a/1.png", "16 bits", "depth=8"}},
		"transparent":        {[]entry{{"a/1.png", pngBytes(t, glass)}}, []string{"a/1.png", "transparent", "background=white"}},
		"huge":               {[]entry{{"a/1.png", wide}}, []string{"a/1.png", "60000×60000 pixels", "16384"}},
		"two levels":         {[]entry{{"train/a/1.png", good}}, []string{"train/a/1.png", "split"}},
		"beside classes":     {[]entry{{"a/1.png", good}, {"2.png", good}}, []string{"2.png lies next to"}},
		"twice":              {[]entry{{"a/1.png", good}, {"./a/1.png", good}}, []string{"a/1.png", "twice"}},
		"parent":             {[]entry{{"a/1.png", good}, {"a/../../1.png", good}}, []string{"a/../../1.png", "leaves the archive"}},
		"absolute":           {[]entry{{"/etc/1.png", good}}, []string{"/etc/1.png", "leaves the archive"}},
		"backslash":          {[]entry{{`..\1.png`, good}}, []string{"leaves the archive"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := testkit.Write(t, tarBytes(t, c.entries...), t.TempDir(), "pictures.tar")
			wantError(t, "folder:"+path, append(c.want, path)...)
		})
	}
	wantError(t, "folder:", "expected folder:PATH")
	wantError(t, "folder:"+filepath.Join(t.TempDir(), "missing"), "no such folder")
	path := testkit.Write(t, tarBytes(t, entry{"a/1.png", good}), t.TempDir(), "pictures.tar")
	wantError(t, "folder:"+path+"/test", "no .png")
}

func TestFolderPixelFormats(t *testing.T) {
	grey := image.NewGray(image.Rect(0, 0, 2, 1))
	grey.Pix = []uint8{10, 200}
	palette := image.NewPaletted(image.Rect(0, 0, 2, 1), color.Palette{color.RGBA{1, 2, 3, 255}, color.RGBA{250, 100, 0, 255}})
	palette.SetColorIndex(1, 0, 1)
	dir := t.TempDir()
	name := "folder:" + dir
	testkit.Write(t, pngBytes(t, grey), dir, "x", "1.png")
	im := mustLoad(t, mustOpen(t, name))
	if im.Shape.Channels != 1 || !bytes.Equal(im.Pixels, []byte{10, 200}) {
		t.Errorf("grey picture gives %v, %v", im.Shape, im.Pixels)
	}
	testkit.Write(t, pngBytes(t, palette), dir, "x", "2.png")
	testkit.Write(t, []byte("notes"), dir, "x", "notes.txt")
	im = mustLoad(t, mustOpen(t, name+"[channels=rgb]"))
	if want := []byte{10, 10, 10, 200, 200, 200, 1, 2, 3, 250, 100, 0}; im.Shape.Channels != 3 || !bytes.Equal(im.Pixels, want) {
		t.Errorf("grey beside colour gives %v, %v; expected %v", im.Shape, im.Pixels, want)
	}
	if len(im.Warnings) != 1 || !strings.Contains(im.Warnings[0], "x/notes.txt") {
		t.Errorf("warnings %q; expected the file that was left out", im.Warnings)
	}
}

func TestOpenErrors(t *testing.T) {
	useData(t)
	wantError(t, "cifr10/test", "did you mean cifar10/test")
	wantError(t, "Fashion-MNIST/test", "did you mean fashionmnist/test")
	wantError(t, "fashionmnist", "expected fashionmnist/train or fashionmnist/test")
	wantError(t, "mnist/validation", "no such split")
	wantError(t, "mnist/test[skip=2,every=3]", "every=3", "expected skip=S")
	wantError(t, "mnist/test[skip=two]", "skip=two")
	wantError(t, "mnist/test[split=0.5:1:3]", "expected 1 or 2")
	wantError(t, "mnist/train", "not on this machine", "certspec dataset fetch mnist", dataVariable)
	wantError(t, "cifar10-jpeg/train", "not on this machine", dataVariable)
}

func TestLoadTriesAgain(t *testing.T) {
	dir := useData(t)
	d := mustOpen(t, "folder:"+dir)
	if _, err := d.Load(t.Context()); err == nil {
		t.Fatal("an empty folder loads")
	}
	testkit.Write(t, pngBytes(t, patternImage(0, 3, 3)), dir, "class", "1.png")
	if im := mustLoad(t, d); im.Len() != 1 {
		t.Errorf("%d images after the folder is filled; expected 1", im.Len())
	}
}

func TestLoadStopsWithTheContext(t *testing.T) {
	useData(t)
	ctx, cancel := context.WithCancel(t.Context())
	d := mustOpen(t, "synthetic/test")
	go cancel()
	if _, err := d.Load(ctx); err != context.Canceled {
		t.Errorf("error %v; expected context.Canceled", err)
	}
	if im := mustLoad(t, d); im.Len() != 10_000 {
		t.Errorf("%d images", im.Len())
	}
}
