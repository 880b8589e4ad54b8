package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/augment"
	augmentcmd "github.com/certspec/certspec/cmd/certspec/augment"
	"github.com/certspec/certspec/dataset"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/npy"
	"github.com/certspec/certspec/internal/testkit"
)

// imageArray writes n images of 6×5×3, or other sides, and gives the path and the pixels.
func imageArray(t *testing.T, n int, sides ...int) (path string, pixels []byte) {
	t.Helper()
	if sides == nil {
		sides = []int{6, 5, 3}
	}
	size := n
	for _, side := range sides {
		size *= side
	}
	for i := range size {
		pixels = append(pixels, byte(i*i*7+i))
	}
	var file bytes.Buffer
	if err := npy.WriteHeader(&file, "|u1", append([]int{n}, sides...)...); err != nil {
		t.Fatal(err)
	}
	file.Write(pixels)
	path = filepath.Join(t.TempDir(), "in.npy")
	testkit.Write(t, file.Bytes(), path)
	return path, pixels
}

func TestAugmentWritesViews(t *testing.T) {
	in, pixels := imageArray(t, 4)
	out := filepath.Join(t.TempDir(), "out.npy")
	text, err := outputOf(t, "augment", "--name", "fouriermix", "--option", "real_mode=real", "--option", "chains=2", "--seed", "7", "--view", "3", "--in", in, "--out", out, "--json")
	if err != nil {
		t.Fatal(err)
	}
	var result augmentcmd.Result
	if err := json.Unmarshal([]byte(text), &result); err != nil || result.Augmentation != "fouriermix(chains=2,real_mode=real)" || fmt.Sprint(result.Shape) != "[4 6 5 3]" || result.Type != "float32" {
		t.Errorf("%s: %v", text, err)
	}
	file := testkit.Read(t, out)
	if want := "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (4, 6, 5, 3), }"; !strings.HasPrefix(string(file), want) {
		t.Errorf("the file begins with %q; expected %q", file[:min(len(file), 80)], want)
	}
	data := file[128:]
	if len(data) != 4*len(pixels) {
		t.Fatalf("%d bytes of views; expected %d", len(data), 4*len(pixels))
	}
	shape := dataset.Images{}.Shape
	shape.Height, shape.Width, shape.Channels = 6, 5, 3
	for i := range 4 {
		im := augment.Image{Shape: shape, Values: make([]float32, 90)}
		augment.FromBytes(im.Values, pixels[90*i:90*(i+1)])
		a := augment.FourierMix{RealMode: "real", Chains: 2}
		if err := a.Apply(im, augment.NewStream(augment.Address{Seed: 7, View: 3, Image: uint64(i)})); err != nil {
			t.Fatal(err)
		}
		for k, want := range im.Values {
			if got := math.Float32frombits(binary.LittleEndian.Uint32(data[4*(90*i+k):])); got != want {
				t.Fatalf("image %d, value %d is %v; expected %v", i, k, got, want)
			}
		}
	}
}

func TestAugmentWritesBytes(t *testing.T) {
	in, pixels := imageArray(t, 3, 8, 8, 3)
	for _, name := range []string{"augmix", "autoaugment", "fouriermix", "crop+flip"} {
		out, again := filepath.Join(t.TempDir(), "new", "out.npy"), filepath.Join(t.TempDir(), "again.npy")
		if _, err := outputOf(t, "augment", "--name", name, "--in", in, "--out", out, "--uint8", "--workers", "1"); err != nil {
			t.Fatal(err)
		}
		if _, err := outputOf(t, "augment", "--name", name, "--in", in, "--out", again, "--uint8", "--workers", "3"); err != nil {
			t.Fatal(err)
		}
		views, err := dataset.ReadArray(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		if views.Len() != 3 || bytes.Equal(views.Pixels, pixels) {
			t.Errorf("%s: %d views that are the images", name, views.Len())
		}
		one, _ := os.ReadFile(out)
		if three, _ := os.ReadFile(again); !bytes.Equal(one, three) {
			t.Errorf("%s: one worker and three write other files", name)
		}
	}
}

func TestAugmentRefuses(t *testing.T) {
	in, _ := imageArray(t, 2)
	four, _ := imageArray(t, 2, 5, 5, 4)
	out := filepath.Join(t.TempDir(), "out.npy")
	for _, c := range []struct {
		args  string
		usage bool
		says  string
	}{
		{"--in IN --out OUT", true, "--name is missing"},
		{"--name fouriermx --in IN --out OUT", true, `"fouriermix" (the nearest)`},
		{"--name fouriermix --option phse=1 --in IN --out OUT", true, `"phase" (the nearest)`},
		{"--name fouriermix --option phase=9 --in IN --out OUT", true, "phase has the value 9"},
		{"--name crop+flip --option pad=2 --in IN --out OUT", true, "unknown augmentation"},
		{"--name flip --workers -1 --in IN --out OUT", true, "--workers"},
		{"--name flip --in IN.gone --out OUT", false, "in.npy.gone"},
		{"--name flip --in FOUR --out OUT", false, "4 channels"},
		{"--name fouriermix+augmix --in IN --out OUT", false, "put quantize before it"},
	} {
		args := strings.Fields(c.args)
		for i, arg := range args {
			args[i] = strings.NewReplacer("IN", in, "FOUR", four, "OUT", out).Replace(arg) // paths may hold spaces
		}
		_, err := outputOf(t, "augment", args...)
		var usage cli.UsageError
		if err == nil || errors.As(err, &usage) != c.usage || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v; expected %q", c.args, err, c.says)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), "*")); len(left) > 0 {
			t.Errorf("%s: leaves %v", c.args, left)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), ".*")); len(left) > 0 {
			t.Errorf("%s: leaves %v", c.args, left)
		}
	}
}

func TestAugmentList(t *testing.T) {
	text, err := outputOf(t, "augment", "--list", "--json")
	var list []augment.Entry
	if err != nil || json.Unmarshal([]byte(text), &list) != nil || len(list) != 7 || list[0].Name != "fouriermix" || len(list[0].Options) != 13 {
		t.Errorf("%s, %v", text, err)
	}
	text, err = outputOf(t, "augment", "--list")
	if err != nil || !strings.Contains(text, "real_mode=hermitian") || !strings.Contains(text, "autoaugment") {
		t.Errorf("%s, %v", text, err)
	}
}
