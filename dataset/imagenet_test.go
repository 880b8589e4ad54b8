package dataset

import (
	"fmt"
	"image"
	"image/color"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Folders named by numbers, as those of ImageNet V2, are classes in the order of the numbers; others stay in the order of their bytes.
func TestNumberedFolders(t *testing.T) {
	dir := t.TempDir()
	for i := range 12 {
		for _, folder := range []string{fmt.Sprint("v2/", i), fmt.Sprint("wnid/n", i)} {
			writeFile(t, pngBytes(t, patternImage(i, 4, 4)), dir, folder, "a.png")
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
	writeFile(t, pngBytes(t, im), dir, "a", "1.png")
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
	writeFile(t, pngBytes(t, patternImage(3, 14, 14)), dir, "fog", "3", "n01", "a.png")
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
