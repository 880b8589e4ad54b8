package dataset

import (
	"fmt"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// Folders named by numbers, as those of ImageNet V2, are classes in the order of the numbers; others stay in the order of their bytes.
func TestNumberedFolders(t *testing.T) {
	dir := t.TempDir()
	for i := range 12 {
		for _, folder := range []string{fmt.Sprint("v2/", i), fmt.Sprint("wnid/n", i)} {
			testkit.Write(t, pngBytes(t, patternImage(i, 4, 4)), dir, folder, "a.png")
		}
	}
	v2 := mustLoad(t, mustOpen(t, "folder:"+filepath.Join(dir, "v2")))
	for i, class := range v2.Classes {
		if class != fmt.Sprint(i) {
			t.Fatalf("classes %v", v2.Classes)
		}
	}
	// Ids still follow the paths, 0, 1, 10, 11, 2, …
	if !slices.Equal(v2.Labels, []int{0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("labels %v", v2.Labels)
	}
	if wnid := mustLoad(t, mustOpen(t, "folder:"+filepath.Join(dir, "wnid"))); wnid.Classes[2] != "n10" {
		t.Errorf("classes %v", wnid.Classes)
	}
}

// Folders named by numbers have these as labels, whatever numbers are missing, and a warning says so; empty folders are
// classes; what systems and programs put beside pictures is none.
func TestFolderLabels(t *testing.T) {
	picture := pngBytes(t, patternImage(1, 4, 4))
	for name, c := range map[string]struct {
		files, empty []string
		classes      string
		labels       []int
		warnings     []string
		err          string
	}{
		"gap":            {files: strings.Fields("0/a 1/a 11/a 3/a 7/a"), classes: "0 1 2 3 4 5 6 7 8 9 10 11", labels: []int{0, 1, 11, 3, 7}, warnings: []string{"5 of 0 to 11", "7 of 12 classes have no image: 2, 4, 5"}},
		"from 1":         {files: strings.Fields("1/a 2/a"), classes: "0 1 2", labels: []int{1, 2}, warnings: []string{"2 of 0 to 2"}},
		"empty number":   {files: strings.Fields("0/a 2/a"), empty: []string{"1"}, classes: "0 1 2", labels: []int{0, 2}, warnings: []string{"1 of 3 classes have no image: 1"}},
		"leading zeros":  {files: strings.Fields("00/a 01/a"), classes: "00 01", labels: []int{0, 1}},
		"empty":          {files: strings.Fields("ant/a cat/a"), empty: []string{"bee"}, classes: "ant bee cat", labels: []int{0, 2}, warnings: []string{"1 of 3 classes have no image: bee"}},
		"flat":           {files: strings.Fields("a b"), empty: []string{"notes"}, labels: []int{-1, -1}},
		"junk":           {files: strings.Fields("cat/a dog/a __MACOSX/a cat/.ipynb_checkpoints/a .git/a @eaDir/a dog/__MACOSX/._a"), empty: []string{"__pycache__", "$RECYCLE.BIN"}, classes: "cat dog", labels: []int{0, 1}},
		"numbers, junk":  {files: strings.Fields("0/a 1/a __MACOSX/a"), classes: "0 1", labels: []int{0, 1}},
		"a word between": {files: strings.Fields("0/a 2/a x/a"), classes: "0 2 x", labels: []int{0, 1, 2}},
		"one number":     {files: strings.Fields("1/a 01/a"), err: "the folders 01 and 1 have one number; expected one folder for each label, or a file of classes (classes=FILE in the name)"},
		"large number":   {files: strings.Fields("1/a 20260101/a"), err: "the folder 20260101 is named by a number above 1048575"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var entries []entry
			for _, file := range c.files {
				testkit.Write(t, picture, dir, "set", filepath.FromSlash(file)+".png")
				entries = append(entries, entry{file + ".png", picture})
			}
			for _, folder := range c.empty {
				if err := os.MkdirAll(filepath.Join(dir, "set", folder), 0o755); err != nil {
					t.Fatal(err)
				}
				entries = append(entries, entry{folder + "/", nil})
			}
			testkit.Write(t, tarBytes(t, entries...), dir, "set.tar")
			for _, at := range []string{"set", "set.tar"} {
				d := mustOpen(t, "folder:"+filepath.Join(dir, at))
				if c.err != "" {
					wantError(t, d.String(), c.err)
					continue
				}
				im := mustLoad(t, d)
				if !slices.Equal(im.Labels, c.labels) || strings.Join(im.Classes, " ") != c.classes || len(im.Warnings) < len(c.warnings) || len(c.warnings) == 0 && len(im.Warnings) > 0 {
					t.Errorf("%s: classes %q, labels %v, warnings %q", at, im.Classes, im.Labels, im.Warnings)
				}
				for _, want := range c.warnings {
					if !strings.Contains(strings.Join(im.Warnings, "\n"), want) {
						t.Errorf("%s: warnings %q; expected %q", at, im.Warnings, want)
					}
				}
			}
		})
	}
}

// Two pixels off each side of a picture with a red border, as ObjectNet has, before it is resized.
func TestBorder(t *testing.T) {
	dir := t.TempDir()
	im := image.NewNRGBA(image.Rect(0, 0, 12, 10))
	for y := range 10 {
		for x := range 12 {
			c := color.NRGBA{40, 80, 120, 255}
			if x < 2 || y < 2 || x > 9 || y > 7 {
				c = color.NRGBA{255, 0, 0, 255}
			}
			im.Set(x, y, c)
		}
	}
	testkit.Write(t, pngBytes(t, im), dir, "a", "1.png")
	name := "folder:" + dir + "[border=2,resize=8,filter=bicubic,crop=8]"
	d := mustOpen(t, name)
	images := mustLoad(t, d)
	if images.Shape.Height != 8 || images.Shape.Width != 8 || images.Name != name {
		t.Errorf("%v of %v", images.Shape, d)
	}
	for i, v := range images.Pixels {
		if v != []uint8{40, 80, 120}[i%3] {
			t.Fatalf("value %d is %d: the border is still there", i, v)
		}
	}
	if images = mustLoad(t, mustOpen(t, "folder:"+dir+"[border=2]")); images.Shape.Height != 6 || images.Shape.Width != 8 {
		t.Errorf("%v", images.Shape)
	}
	for part, want := range map[string]string{"border=5": "nothing within a border of 5", "border=0": "a number of pixels from 1", "border=x": "a number of pixels from 1"} {
		d, err := Open("folder:" + dir + "[" + part + "]")
		if err == nil {
			_, err = d.Load(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; expected %q", part, err, want)
		}
	}
}

// Pictures of ImageNet-C have been cropped: enlarging and cropping them again is refused, and without it they come as they are.
func TestCroppedBefore(t *testing.T) {
	dir := t.TempDir()
	testkit.Write(t, pngBytes(t, patternImage(3, 14, 14)), dir, "fog", "3", "n01", "a.png")
	folder := "folder:" + filepath.Join(dir, "fog", "3")
	if images := mustLoad(t, mustOpen(t, folder)); images.Shape.Width != 14 || images.Classes[0] != "n01" {
		t.Errorf("%+v", images.Shape)
	}
	_, err := mustOpen(t, folder+"[resize=16,crop=14]").Load(t.Context())
	if err == nil || !strings.Contains(err.Error(), "n01/a.png") || !strings.Contains(err.Error(), "without resize and crop") {
		t.Errorf("%v", err)
	}
	if images := mustLoad(t, mustOpen(t, folder+"[resize=12,crop=12]")); images.Shape.Width != 12 {
		t.Errorf("%+v", images.Shape)
	}
}
