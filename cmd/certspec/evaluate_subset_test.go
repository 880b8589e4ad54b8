package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// A folder with some of the model's classes, as ImageNet-R's, is judged among these alone: the answers equal
// those with the same groups said by hand.
func TestEvaluateAmongFolders(t *testing.T) {
	dir := t.TempDir()
	write := func(text []byte, elem ...string) string {
		path := filepath.Join(append([]string{dir}, elem...)...)
		testkit.Write(t, text, path)
		return path
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 12 {
		im := image.NewNRGBA(image.Rect(0, 0, 32, 32))
		base := rng.IntN(200)
		for p := range 32 * 32 {
			im.Set(p%32, p/32, color.NRGBA{uint8(base + rng.IntN(50)), uint8(base), uint8(rng.IntN(255)), 255})
		}
		var b bytes.Buffer
		if err := png.Encode(&b, im); err != nil {
			t.Fatal(err)
		}
		write(b.Bytes(), "r", []string{"n05", "n02", "n07"}[i%3], fmt.Sprint(i, ".png"))
	}
	var all strings.Builder
	for i := range 10 {
		fmt.Fprintf(&all, "n%02d name of %d\n", i, i)
	}
	folders, groups := write([]byte(all.String()), "wnids.txt"), write([]byte("n02 2\nn05 5\nn07 7\n"), "groups.txt")
	few := write([]byte("n02\nn06\nn07\n"), "few.txt")
	evaluate := func(args ...string) (string, error) {
		return outputOf(t, "evaluate", append([]string{"--model", "../../notebooks/models/cifar10-resnet20-s025", "--data", "folder:" + filepath.Join(dir, "r"), "--engine", "go"}, args...)...)
	}
	for name, args := range map[string][]string{"a": {"--model-folders", folders}, "b": {"--groups", groups}} {
		if out, err := evaluate(append(args, "--name", name, "--predictions", filepath.Join(dir, "preds"))...); err != nil {
			t.Fatalf("%v, %s", err, out)
		}
	}
	a := testkit.Read(t, dir, "preds", "clean", "a.npy")
	if b, err := os.ReadFile(filepath.Join(dir, "preds", "clean", "b.npy")); err != nil || !bytes.Equal(a, b) {
		t.Errorf("other answers (%v)", err)
	}
	for args, want := range map[string]string{
		"--model-folders " + few:                             "no class of the model has the folder n05",
		"--model-folders " + folders + " --groups " + groups: "expected one of them",
	} {
		if _, err := evaluate(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; expected %q", args, err, want)
		}
	}
}
