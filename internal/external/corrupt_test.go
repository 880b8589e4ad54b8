//go:build external

package external

import (
	"context"
	"encoding/base64"
	"math"
	"testing"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/pyenv"
)

// corruptStart makes the reference of bench/python and the images of arg ready.
const corruptStart = `
import base64
import numpy as np
from PIL import Image
sys.path.insert(0, "../../bench/python")
sys.dont_write_bytecode = True
import corrupt_reference as reference
pixels = np.frombuffer(base64.b64decode(arg["Pixels"]), np.uint8).reshape(-1, 32, 32, 3)
images = [Image.fromarray(p) for p in pixels]
`

type corruptQuestion struct {
	Pixels     string
	Names      []string
	Severities []int
}

func corruptImages(t *testing.T, count string) *dataset.Images {
	t.Helper()
	d, err := dataset.Open("synthetic/test[count=" + count + "]")
	if err != nil {
		t.Fatal(err)
	}
	images, err := d.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return images
}

func corruptPython(t *testing.T) string {
	t.Helper()
	return environment(t, pyenv.Corruptions)
}

func ours(t *testing.T, im *dataset.Images, s corrupt.Setting) []uint8 {
	t.Helper()
	c, err := corrupt.New(s, im.Shape, corrupt.Key{Data: "external", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]uint8, len(im.Pixels))
	if err := c.Images(context.Background(), out, im.Pixels, im.IDs, 0, nil); err != nil {
		t.Fatal(err)
	}
	return out
}

// Corruptions without random numbers, byte for byte: most are equal. OpenCV filters with a kernel in single precision, and
// the zoomed images are added in it; cutting off bytes turns its last bit into a step, most often where a flat area is blurred.
func TestExternalCorruptions(t *testing.T) {
	im := corruptImages(t, "40")
	most := map[string]float64{ // share of bytes that may differ, by one
		"jpeg_compression": 0, "pixelate": 0, "contrast": 0, "brightness": 0, "saturate": 0, "gaussian_blur": .0001, "defocus_blur": .08, "zoom_blur": .002,
	}
	q := corruptQuestion{Pixels: base64.StdEncoding.EncodeToString(im.Pixels), Severities: []int{1, 2, 3, 4, 5}}
	for name := range most {
		q.Names = append(q.Names, name)
	}
	var want []struct {
		Name     string
		Severity int
		Pixels   string
	}
	pythonOf(t, corruptPython(t), corruptStart+`
answer = [{"Name": n, "Severity": s, "Pixels": base64.b64encode(np.stack([reference.function(n)(i, s) for i in images]).tobytes()).decode()}
          for n in arg["Names"] for s in arg["Severities"]]`, q, &want)
	for _, w := range want {
		theirs, err := base64.StdEncoding.DecodeString(w.Pixels)
		if err != nil {
			t.Fatal(err)
		}
		got := ours(t, im, corrupt.Setting{Name: w.Name, Severity: w.Severity})
		different, largest := 0, 0
		for i := range got {
			if d := int(got[i]) - int(theirs[i]); d != 0 {
				different++
				largest = max(largest, d, -d)
			}
		}
		share := float64(different) / float64(len(got))
		t.Logf("%s, severity %d: %.4f%% of the bytes differ, by at most %d", w.Name, w.Severity, 100*share, largest)
		if share > most[w.Name] || largest > 1 {
			t.Errorf("%s, severity %d: %.4f%% of the bytes differ, by at most %d; expected %.4f%%, by 1", w.Name, w.Severity, 100*share, largest, 100*most[w.Name])
		}
	}
}

// Corruptions with random numbers, in distribution: per image the mean of the change and of its square, averaged over draws, and compared over the
// images at 5 standard errors of the paired differences. With 66 comparisons, a right program fails for less than one choice of seeds in 10,000; the
// seeds are fixed. Frost is of the photographs in the package.
func TestExternalRandomCorruptions(t *testing.T) {
	const draws = 4
	im := corruptImages(t, "80")
	q := corruptQuestion{
		Pixels: base64.StdEncoding.EncodeToString(im.Pixels), Severities: []int{1, 3, 5},
		Names: []string{"gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise", "glass_blur", "motion_blur", "snow", "fog", "spatter", "elastic_transform", "frost"},
	}
	var want struct {
		Frost string
		Rows  []struct {
			Name         string
			Severity     int
			Mean, Square []float64
		}
	}
	pythonOf(t, corruptPython(t), corruptStart+`
np.random.seed(1)
def row(n, s):
    change = np.stack([[reference.function(n)(i, s) - p.astype(float) for _ in range(4)] for i, p in zip(images, pixels)])
    return {"Name": n, "Severity": s, "Mean": change.mean((1, 2, 3, 4)).tolist(), "Square": (change**2).mean((1, 2, 3, 4)).tolist()}
answer = {"Frost": reference.FROST, "Rows": [row(n, s) for n in arg["Names"] for s in arg["Severities"]]}`, q, &want)
	for _, w := range want.Rows {
		s := corrupt.Setting{Name: w.Name, Severity: w.Severity}
		if w.Name == "frost" {
			s.Photographs = want.Frost
		}
		mean, square := make([]float64, im.Len()), make([]float64, im.Len())
		c, err := corrupt.New(s, im.Shape, corrupt.Key{Data: "external", Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		dst := make([]uint8, im.Shape.Len())
		n := float64(draws * len(dst))
		for i := range im.IDs {
			for draw := range draws {
				c.Apply(dst, im.Image(i), draws*i+draw)
				for k, b := range dst {
					d := float64(b) - float64(im.Image(i)[k])
					mean[i] += d / n
					square[i] += d * d / n
				}
			}
		}
		// The package does not round what it has blurred along a line, and its bytes are cut off once more.
		slack := map[string]float64{"motion_blur": .6, "snow": .1}[w.Name]
		compare := func(what string, ours, theirs []float64, slack float64) {
			sum, squares := 0.0, 0.0
			for i := range ours {
				d := ours[i] - theirs[i]
				sum += d
				squares += d * d
			}
			n := float64(len(ours))
			difference := sum / n
			deviation := math.Sqrt((squares/n - difference*difference) / (n - 1))
			level := 0.0
			for _, v := range theirs {
				level += v / n
			}
			t.Logf("%s, severity %d, %s: %.3f, and %+.3f ± %.3f here", w.Name, w.Severity, what, level, difference, deviation)
			if math.Abs(difference) > 5*deviation+slack {
				t.Errorf("%s, severity %d: the %s differs by %.3f ± %.3f of %.3f", w.Name, w.Severity, what, difference, deviation, level)
			}
		}
		compare("mean change", mean, w.Mean, slack)
		compare("mean squared change", square, w.Square, slack*2)
	}
}
