//go:build external

package external

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/dataset"
)

// Pictures in every mode and orientation, prepared by Pillow and by certspec, are the same bytes.
// They are PNG files; TestExternalJPEG has the others.
func TestExternalPictures(t *testing.T) {
	dir := t.TempDir()
	var cases []struct {
		File, Options string
		Pixels        string // base64
		Height, Width int
		Channels      int
	}
	python(t, `
import base64, os
import numpy as np
from PIL import Image, ImageOps
rng = np.random.default_rng(7)
names = {"nearest": Image.NEAREST, "box": Image.BOX, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC, "lanczos": Image.LANCZOS}
answer = []

def case(path, options, im):
    a = np.asarray(im)
    answer.append({"File": path, "Options": options, "Pixels": base64.b64encode(a.tobytes()).decode(),
        "Height": a.shape[0], "Width": a.shape[1], "Channels": a.shape[2] if a.ndim == 3 else 1})

def save(im, **kw):
    path = os.path.join(arg, str(len(answer)), "x.png")
    os.mkdir(os.path.dirname(path))
    im.save(path, **kw)
    return os.path.dirname(path)

def noise(h, w, c):
    return rng.integers(0, 256, (h, w, c) if c > 1 else (h, w), dtype=np.uint8)

for filter in names:
    for i in range(30):
        h, w, oh, ow = [int(v) for v in rng.integers(1, 90, 4)]
        im = Image.fromarray(noise(h, w, (1, 3)[i % 2]))
        case(save(im), "resize=%dx%d,filter=%s" % (oh, ow, filter), im.resize((ow, oh), names[filter]))
    for h, w, side, crop in [(61, 47, 20, 17), (47, 61, 83, 80), (50, 50, 33, 33), (200, 301, 64, 56)]:
        im = Image.fromarray(noise(h, w, 3))
        oh, ow = (side, int(side * w / h)) if h <= w else (int(side * h / w), side)
        r = im.resize((ow, oh), names[filter])
        top, left = int(round((oh - crop) / 2.0)), int(round((ow - crop) / 2.0))
        case(save(im), "resize=%d,filter=%s,crop=%d" % (side, filter, crop), r.crop((left, top, left + crop, top + crop)))

for orientation in range(1, 9):
    im = Image.fromarray(noise(5, 7, 3))
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = save(im, exif=exif)
    case(path, "crop=3", ImageOps.exif_transpose(Image.open(os.path.join(path, "x.png"))).crop(
        (2, 1, 5, 4) if orientation < 5 else (1, 2, 4, 5)))

for mode, channels in [("RGBA", 4), ("LA", 2)]:
    im = Image.fromarray(noise(40, 50, channels), mode)
    for text, colour in [("white", (255, 255, 255)), ("#0a64c8", (10, 100, 200))]:
        back = Image.new("RGB", im.size, colour)
        back.paste(im.convert("RGBA").convert("RGB"), mask=im.getchannel("A"))
        if mode == "LA" and text == "white":
            back = back.getchannel(0)
        case(save(im), "background=" + text, back)

palette = Image.fromarray(noise(30, 20, 3)).quantize(13)
case(save(palette), "channels=rgb", palette.convert("RGB"))
grey = Image.fromarray(noise(9, 8, 1))
case(save(grey), "channels=rgb", grey.convert("RGB"))
bits = grey.convert("1")
case(save(bits), "crop=9x8", bits.convert("L"))`, dir, &cases)
	for _, c := range cases {
		want, err := base64.StdEncoding.DecodeString(c.Pixels)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("folder:%s[%s]", c.File, c.Options)
		d, err := dataset.Open(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		images, err := d.Load(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s := images.Shape
		if s.Height != c.Height || s.Width != c.Width || s.Channels != c.Channels || !bytes.Equal(images.Pixels, want) {
			t.Errorf("[%s] of %s: %v with other pixels than Pillow's %d×%d×%d", c.Options, filepath.Base(c.File), s, c.Height, c.Width, c.Channels)
		}
	}
	if len(cases) < 180 {
		t.Errorf("%d cases", len(cases))
	}
}
