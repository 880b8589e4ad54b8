//go:build external

package external

import (
	"bytes"
	"encoding/base64"
	"testing"

	"github.com/certspec/certspec/internal/pillow"
	"github.com/certspec/certspec/pixel"
)

// Every operation of augment/pillow gives Pillow's bytes, on noise, on images of few values and on even ones, of any size and of both modes.
func TestExternalAugmentOperations(t *testing.T) {
	var cases []struct {
		Operation               string
		Parameters              []float64
		Height, Width, Channels int
		Input, Output           string // base64
	}
	python(t, `
import base64, math
import numpy as np
from PIL import Image, ImageEnhance, ImageOps
rng = np.random.default_rng(11)
answer = []
sizes = [(32, 32)] * 6 + [(28, 28), (1, 1), (1, 9), (9, 1), (2, 2), (3, 2), (31, 17), (64, 48)]
code = lambda a: base64.b64encode(np.asarray(a).tobytes()).decode()

def pictures():
    for h, w in sizes:
        for c in (1, 3):
            shape = (h, w, c) if c > 1 else (h, w)
            yield rng.integers(0, 256, shape, dtype=np.uint8)
            yield rng.integers(40, 44, shape, dtype=np.uint8)
            yield np.full(shape, rng.integers(0, 256), dtype=np.uint8)
            ramp = np.add.outer(np.arange(h) * 5, np.arange(w) * 3) % 256
            yield (ramp if c == 1 else np.stack([ramp, ramp // 2, 255 - ramp], 2)).astype(np.uint8)

def case(name, a, out, *parameters):
    answer.append({"Operation": name, "Parameters": [float(p) for p in parameters], "Height": a.shape[0], "Width": a.shape[1],
        "Channels": a.shape[2] if a.ndim == 3 else 1, "Input": code(a), "Output": code(out)})

for a in pictures():
    im = Image.fromarray(a)
    h, w = a.shape[:2]
    case("AutoContrast", a, ImageOps.autocontrast(im))
    case("Equalize", a, ImageOps.equalize(im))
    case("Invert", a, ImageOps.invert(im))
    bits, threshold = int(rng.integers(0, 9)), 255 * (1 - rng.integers(0, 10) / 9)
    case("Posterize", a, ImageOps.posterize(im, bits), bits)
    case("Solarize", a, ImageOps.solarize(im, threshold), threshold)
    for name in ("Brightness", "Color", "Contrast", "Sharpness"):
        for factor in (rng.uniform(-1, 3), 1 + 0.9 * rng.integers(-9, 10) / 9, 0, 1):
            case(name, a, getattr(ImageEnhance, name)(im).enhance(factor), factor)
    for number, filter in enumerate((Image.NEAREST, Image.BILINEAR)):
        angles = [rng.uniform(-400, 400), int(rng.integers(-30, 31)), 30 * rng.integers(-9, 10) / 9, 90 * int(rng.integers(-4, 5))]
        for angle in angles:
            case("Rotate", a, im.rotate(angle, resample=filter), number, angle)
        f = rng.uniform(-0.3, 0.3)
        g = 0.3 * rng.integers(-9, 10) / 9
        for m in [(1, f, 0, 0, 1, 0), (1, g, 0, 0, 1, 0), (1, 0, 0, f, 1, 0), (1, 0, 0, g, 1, 0),
                  (1, 0, int(rng.integers(-w, w + 1)), 0, 1, 0), (1, 0, 0, 0, 1, int(rng.integers(-h, h + 1))),
                  (1, 0, rng.uniform(-3, 3), 0, 1, rng.uniform(-3, 3)), tuple(rng.uniform(-1.5, 1.5, 6) * (1, 1, w, 1, 1, h))]:
            case("Affine", a, im.transform(im.size, Image.AFFINE, m, resample=filter), number, *m)`, nil, &cases)
	seen := map[string]int{}
	for i, c := range cases {
		src, err := base64.StdEncoding.DecodeString(c.Input)
		if err != nil {
			t.Fatal(err)
		}
		want, err := base64.StdEncoding.DecodeString(c.Output)
		if err != nil {
			t.Fatal(err)
		}
		shape := pixel.Shape{Height: c.Height, Width: c.Width, Channels: c.Channels}
		got, p := make([]uint8, len(src)), c.Parameters
		switch c.Operation {
		case "AutoContrast":
			pillow.AutoContrast(got, src, shape)
		case "Equalize":
			pillow.Equalize(got, src, shape)
		case "Invert":
			pillow.Invert(got, src, shape)
		case "Posterize":
			pillow.Posterize(got, src, shape, int(p[0]))
		case "Solarize":
			pillow.Solarize(got, src, shape, p[0])
		case "Brightness":
			pillow.Brightness(got, src, shape, p[0])
		case "Color":
			pillow.Color(got, src, shape, p[0])
		case "Contrast":
			pillow.Contrast(got, src, shape, p[0])
		case "Sharpness":
			pillow.Sharpness(got, src, shape, p[0])
		case "Rotate":
			pillow.Rotate(got, src, shape, p[1], pillow.Filter(p[0]))
		case "Affine":
			pillow.Affine(got, src, shape, [6]float64(p[1:]), pillow.Filter(p[0]))
		}
		if !bytes.Equal(got, want) {
			different := 0
			for k := range got {
				if got[k] != want[k] {
					different++
				}
			}
			t.Errorf("case %d: %s%v of %v: %d of %d bytes are not Pillow's", i, c.Operation, p, shape, different, len(got))
		}
		seen[c.Operation]++
	}
	if len(seen) != 11 || len(cases) < 4000 {
		t.Errorf("%d cases of %d operations: %v", len(cases), len(seen), seen)
	}
}
