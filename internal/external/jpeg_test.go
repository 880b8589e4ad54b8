//go:build external

package external

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/jpeg"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/internal/testkit/jpegtest"
)

// jpegCase is a picture in dir/NAME.jpg, and in dir/NAME.raw its pixels as Pillow decodes them.
type jpegCase struct {
	Name, What              string
	Height, Width, Channels int
	Refused                 bool // by Pillow
	Cut                     bool // Pillow takes some files that lack their end marker alone
}

// The pixels of JPEG files equal libjpeg-turbo's, to the byte: all kinds of sampling, sequential and progressive, of
// many qualities, sizes and intervals of restart. What Pillow refuses as truncated is refused here.
func TestExternalJPEG(t *testing.T) {
	dir := t.TempDir()
	arg := struct {
		Dir  string
		Made []madeJPEG
	}{dir, makeJPEG(t, dir)}
	var cases []jpegCase
	python(t, `
import io, os
import numpy as np
from PIL import Image, features
assert features.check_feature("libjpeg_turbo"), "this Pillow was built without libjpeg-turbo"
rng = np.random.default_rng(11)
answer = []

def case(data, what, cut=False):
    name = str(len(answer))
    open(os.path.join(arg["Dir"], name + ".jpg"), "wb").write(data)
    entry = {"Name": name, "What": what, "Cut": cut}
    try:
        im = Image.open(io.BytesIO(data))
        a = np.asarray(im)
        assert im.mode in ("L", "RGB"), im.mode
        entry.update(Height=a.shape[0], Width=a.shape[1], Channels=1 if a.ndim == 2 else 3)
        open(os.path.join(arg["Dir"], name + ".raw"), "wb").write(a.tobytes())
    except OSError as e:
        entry["Refused"] = True
    answer.append(entry)

def picture(h, w, c, kind):
    if kind == "noise":
        a = rng.integers(0, 256, (h, w, c), dtype=np.uint8)
    elif kind == "extreme":
        a = rng.integers(0, 2, (h, w, c), dtype=np.uint8) * 255
    else:
        y, x = np.mgrid[0:h, 0:w]
        a = np.stack([127 + 120 * np.sin(x / (3 + i) + y * .13 * (i + 1)) for i in range(c)], -1)
        a = np.clip(a + rng.normal(0, 6, a.shape), 0, 255).astype(np.uint8)
    return Image.fromarray(a[:, :, 0] if c == 1 else a)

for made in arg["Made"]:
    case(open(os.path.join(arg["Dir"], made["File"]), "rb").read(), made["What"])

def encode(im, **options):
    f = io.BytesIO()
    im.save(f, "JPEG", **options)
    return f.getvalue()

kinds = ["noise", "extreme", "smooth"]
n = 0
for sampling in ["4:4:4", "4:2:2", "4:2:0", "grey"]:
    for progressive in (False, True):
        for quality in (1, 5, 25, 50, 75, 90, 100):
            for h, w in [(1, 1), (1, 7), (2, 3), (3, 2), (4, 4), (5, 6), (8, 8), (9, 17), (16, 16), (17, 15), (31, 33), (32, 32), (47, 40), (64, 65)]:
                n += 1
                options = {"quality": quality, "progressive": progressive, "optimize": n % 3 == 0}
                if sampling != "grey":
                    options["subsampling"] = sampling
                if n % 4 == 1:
                    options["restart_marker_blocks"] = 1 + n % 5
                if n % 4 == 3:
                    options["restart_marker_rows"] = 1 + n % 2
                case(encode(picture(h, w, 1 if sampling == "grey" else 3, kinds[n % 3]), **options), str((sampling, h, w, options)))
for progressive in (False, True):
    for quality in (10, 60, 95):
        for h, w in [(8, 8), (13, 29), (32, 16), (50, 40), (101, 37)]:
            im = picture(h, w, 3, "smooth")
            case(encode(im, quality=quality, progressive=progressive, keep_rgb=True), "RGB")
full = encode(picture(70, 90, 3, "smooth"), quality=85)
slow = encode(picture(70, 90, 3, "smooth"), quality=85, progressive=True)
for data in (full, slow):
    for cut in (len(data) - 1, len(data) - 2, len(data) - 3, len(data) - 20, len(data) // 2, 700):
        case(data[:cut], "cut to %d of %d bytes" % (cut, len(data)), True)
    case(data + b"tail", "a tail")`, arg, &cases)
	compareJPEG(t, dir, cases)
	refused := 0
	for _, c := range cases {
		if c.Refused {
			refused++
		}
	}
	if len(cases) < 1500 || refused > len(cases)/20 {
		t.Errorf("%d cases, of which Pillow refuses %d", len(cases), refused)
	}
}

// The test images of the JPEG copy of CIFAR-10 are those that Pillow decodes.
func TestExternalCIFARJPEG(t *testing.T) {
	archive := filepath.Join(os.Getenv("CERTSPEC_DATA"), "cifar10-jpeg", "cifar10-jpeg.tar.gz")
	if _, err := os.Stat(archive); err != nil {
		t.Skipf("the JPEG copy of CIFAR-10 is not in %s", "CERTSPEC_DATA")
	}
	pixels := filepath.Join(t.TempDir(), "pixels")
	var names []string
	python(t, `
import io, tarfile
import numpy as np
from PIL import Image
files = {}
with tarfile.open(arg["Archive"]) as tar:
    for entry in tar:
        name = entry.name.removeprefix("./")
        if entry.isfile() and name.startswith("test/") and name.endswith(".jpg"):
            files[name] = tar.extractfile(entry).read()
answer = sorted(files)
with open(arg["Pixels"], "wb") as out:
    for name in answer:
        out.write(np.asarray(Image.open(io.BytesIO(files[name]))).tobytes())`,
		struct{ Archive, Pixels string }{archive, pixels}, &names)
	d, err := dataset.Open("cifar10-jpeg/test")
	if err != nil {
		t.Fatal(err)
	}
	images, err := d.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := testkit.Read(t, pixels)
	if images.Len() != 10_000 || !bytes.Equal(images.Pixels, want) {
		t.Errorf("%d images of %d: %s", images.Len(), len(names), distance(images.Pixels, want))
	}
}

// madeJPEG is a file of a kind that Pillow does not write.
type madeJPEG struct{ File, What string }

func makeJPEG(t *testing.T, dir string) (made []madeJPEG) {
	t.Helper()
	one := [2]int{1, 1}
	sampling := [][][2]int{{{2, 2}}, {{1, 3}}, {one, {2, 2}, one}, {one, one, {2, 1}}, {{2, 2}, {2, 1}, {1, 2}}, {{3, 2}, {3, 1}, {1, 2}}}
	for _, luma := range [][2]int{one, {1, 2}, {2, 1}, {2, 2}, {4, 1}, {1, 4}, {4, 2}, {2, 4}, {3, 1}, {1, 3}, {3, 2}, {4, 4}} {
		sampling = append(sampling, [][2]int{luma, one, one})
	}
	sizes := [][2]int{{1, 1}, {3, 2}, {4, 5}, {8, 8}, {17, 33}, {47, 31}, {64, 64}, {100, 6}, {5, 90}}
	for _, s := range sampling {
		for k, size := range sizes {
			for mode := range 4 {
				p := jpegtest.Picture{Height: size[0], Width: size[1], Sampling: s, Progressive: mode&1 > 0, Separate: mode&2 > 0,
					Restart: []int{0, 1, 3, 10}[(k+mode)%4], Seed: uint64(len(made))}
				if k%2 == 0 {
					p.Head = []byte(jpegtest.JFIF)
				}
				made = append(made, save(t, dir, p, fmt.Sprintf("%+v", p)))
			}
		}
	}
	for _, head := range []string{"", jpegtest.JFIF, jpegtest.Adobe + "\x00", jpegtest.Adobe + "\x01", jpegtest.Adobe + "\x02", jpegtest.Adobe + "\x00" + jpegtest.JFIF} {
		for _, ids := range []string{"\x01\x02\x03", "RGB", "\x00\x01\x02", "rgb", "\x01\x22\x23"} {
			p := jpegtest.Picture{Height: 20, Width: 20, Sampling: [][2]int{{2, 1}, one, one}, Head: []byte(head), IDs: []byte(ids), Seed: uint64(len(made))}
			made = append(made, save(t, dir, p, fmt.Sprintf("%q %q", head, ids)))
		}
	}
	return made
}

func save(t *testing.T, dir string, p jpegtest.Picture, what string) madeJPEG {
	t.Helper()
	name := fmt.Sprintf("made-%d.jpg", p.Seed)
	testkit.Write(t, p.Encode(), dir, name)
	return madeJPEG{name, what}
}

func compareJPEG(t *testing.T, dir string, cases []jpegCase) {
	t.Helper()
	for _, c := range cases {
		file := testkit.Read(t, dir, c.Name+".jpg")
		pixels, f, err := jpeg.Decode(file)
		switch want, _ := os.ReadFile(filepath.Join(dir, c.Name+".raw")); {
		case c.Cut && err == nil:
			t.Errorf("%s is not refused", c.What)
		case !c.Cut && c.Refused != (err != nil):
			t.Errorf("%s: Pillow refuses it: %v; here: %v", c.What, c.Refused, err)
		case err == nil && (f != jpeg.Frame{Height: c.Height, Width: c.Width, Channels: c.Channels} || !bytes.Equal(pixels, want)):
			t.Errorf("%s: %+v, %s", c.What, f, distance(pixels, want))
		}
	}
}

func distance(a, b []uint8) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d bytes; Pillow has %d", len(a), len(b))
	}
	n, most := 0, 0
	for i := range a {
		if d := int(a[i]) - int(b[i]); d != 0 {
			n++
			most = max(most, d, -d)
		}
	}
	return fmt.Sprintf("%d of %d bytes differ from Pillow's, by up to %d", n, len(a), most)
}
