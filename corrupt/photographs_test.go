package corrupt

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// Frost from photographs: crops of the shrunk pictures.
func TestPhotographs(t *testing.T) {
	folder := t.TempDir()
	for i, name := range []string{"b.png", "a.png"} {
		im := image.NewGray(image.Rect(0, 0, 300, 200))
		for k := range im.Pix {
			im.Pix[k] = uint8(100 * (i + 1))
		}
		im.SetGray(2, 2, color.Gray{Y: 1}) // the first pixel that stays
		var b bytes.Buffer
		if err := png.Encode(&b, im); err != nil {
			t.Fatal(err)
		}
		testkit.Write(t, b.Bytes(), folder, name)
	}
	p, err := readPhotographs(folder, .2, colour32)
	if err != nil {
		t.Fatal(err)
	}
	if s := p.pictures[0].Shape; len(p.pictures) != 2 || s.Height != 40 || s.Width != 60 || p.pictures[0].Pixels[0] != 1 || p.pictures[0].Pixels[1] != 200 {
		t.Errorf("%d pictures of %v, first %v", len(p.pictures), s, p.pictures[0].Pixels[:2])
	}
	src := bytes.Repeat([]byte{50}, colour32.Len())
	seen := map[uint8]bool{}
	for i := range 20 {
		dst := corrupted(t, Setting{Name: "frost", Severity: 1, Photographs: folder}, colour32, testKey, src, i, 1)
		seen[dst[1500]] = true
	}
	if !seen[50+20] || !seen[50+40] { // 50 + 0.2·100 and 50 + 0.2·200
		t.Errorf("values %v; expected 70 and 90", seen)
	}
	if _, err := readPhotographs(folder, .1, colour32); err == nil || !strings.Contains(err.Error(), "a.png has 20×30 pixels") {
		t.Errorf("photographs that are too small: %v", err)
	}
	if _, err := New(Setting{Name: "frost", Severity: 1, Photographs: t.TempDir()}, colour32, testKey); err == nil {
		t.Error("a folder without photographs is taken")
	}
}

func TestSetName(t *testing.T) {
	for name, want := range map[string]string{
		"cifar10/test[skip=20]": "CIFAR-10", "cifar10-jpeg/test": "CIFAR-10", "cifar100/train": "CIFAR-100",
		"fashionmnist/test": "fashionmnist", "folder:/a/b": "images", "npy:a.npy,b.npy": "images",
	} {
		if got := SetName(name); got != want {
			t.Errorf("%s is %s; expected %s", name, got, want)
		}
	}
}
