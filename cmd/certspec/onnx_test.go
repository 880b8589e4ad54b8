package main

import (
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	preflightcmd "github.com/certspec/certspec/cmd/certspec/preflight"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/internal/testkit/engines"
)

// onnxFile exports an untrained network for colour images of 32×32 pixels.
func onnxFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "net.onnx")
	if _, err := outputOf(t, "export", "--model", guessing(t), "--out", file); err != nil {
		t.Fatal(err)
	}
	return file
}

// How images enter is a part of the model's identity in the ledger: flags go before the card, and
// another normalisation is another model, which cannot go on with the same ledger.
func TestONNXFlagsInLedger(t *testing.T) {
	engines.NeedONNXRuntime(t)
	t.Setenv("CERTSPEC_DATA", t.TempDir())
	file, dir := onnxFile(t), t.TempDir()
	testkit.Write(t, []byte(`{"mean": [0.5], "channel_order": "bgr"}`), file+".json")
	certify := func(name string, flags ...string) (string, error) {
		args := append([]string{"--model", file, "--data", "synthetic/test[max_index=1]", "--sigma", "0.25", "--n", "100", "--rule", "fixed",
			"--out", filepath.Join(dir, name)}, flags...)
		if _, err := outputOf(t, "certify", args...); err != nil {
			return "", err
		}
		l, err := ledgerio.Read(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return l.Header.Model.Identity.Weights, nil
	}
	seen := map[string]string{}
	for name, c := range map[string]struct {
		flags []string
		want  string
	}{
		"card":      {nil, ", channels in order bgr, mean [0.5 0.5 0.5]"},
		"mean":      {[]string{"--mean", "0.4,0.5,0.6"}, ", channels in order bgr, mean [0.4 0.5 0.6]"},
		"std":       {[]string{"--std", "0.25"}, ", channels in order bgr, mean [0.5 0.5 0.5], std [0.25 0.25 0.25]"},
		"order":     {[]string{"--channel-order", "rgb"}, ", mean [0.5 0.5 0.5]"},
		"scale":     {[]string{"--scale", "255", "--mean", "0"}, ", channels in order bgr, scale 255"},
		"no change": {[]string{"--channel-order", "rgb", "--mean", "0", "--layout", "NCHW", "--scores", "logits", "--shape", "32x32x3"}, ""},
	} {
		weights, err := certify(name, c.flags...)
		if err != nil {
			t.Fatal(err)
		}
		digest, enters, found := strings.Cut(weights, ", ")
		if found {
			enters = ", " + enters
		}
		if enters != c.want || !strings.HasPrefix(digest, "sha256:") || seen[weights] != "" {
			t.Errorf("%s: identity %q; expected a digest and %q, unlike %q", name, weights, c.want, seen[weights])
		}
		seen[weights] = name
	}
	if _, err := certify("card", "--mean", "0.25"); err == nil || !strings.Contains(err.Error(), "mean [0.25 0.25 0.25]") {
		t.Errorf("another mean goes on with the ledger: %v", err)
	}
}

func TestONNXFlagsWrongUse(t *testing.T) {
	t.Setenv("CERTSPEC_DATA", t.TempDir())
	names := testkit.Write(t, []byte("cat\n\ndog\n"), t.TempDir(), "names.txt")
	file := testkit.Write(t, nil, t.TempDir(), "net.onnx")
	for want, args := range map[string][]string{
		"--mean: it is for an ONNX file":        {"--model", "nets/mine", "--mean", "0.5"},
		"--class-names: it is for an ONNX file": {"--model", "nets/mine", "--class-names", names},
		"--std with --exec":                     {"--exec", "python x.py", "--std", "1"},
		"--engine with --exec":                  {"--exec", "python x.py", "--engine", "go"},
		"--model with --exec":                   {"--exec", "python x.py", "--model", "nets/mine"},
		"--threads: it is for ONNX Runtime":     {"--model", "nets/mine", "--engine", "xla", "--threads", "2"},
		"--lib: it is for ONNX Runtime, and":    {"--model", file, "--engine", "openvino", "--lib", names},
		"take --engine openvino":                {"--model", file, "--provider", "openvino"},
		"--threads 0":                           {"--model", file, "--threads", "0"},
		"--scale 0":                             {"--model", file, "--scale", "0"},
		"scale NaN":                             {"--model", file, "--scale", "NaN"},
		"std 0 of channel 1":                    {"--model", file, "--std", "1,0,1"},
		"std NaN of channel 0":                  {"--model", file, "--std", "NaN"},
		"mean +Inf of channel 0":                {"--model", file, "--mean", "inf"},
		`layout "nchw"; expected NCHW or NHWC`:  {"--model", file, "--layout", "nchw"},
		`channel order "grb"; expected rgb`:     {"--model", file, "--channel-order", "grb"},
		`scores "percent"; expected logits`:     {"--model", file, "--scores", "percent"},
		"--layout: it has no value":             {"--model", file, "--layout", ""},
		"--shape 32x32: expected":               {"--model", file, "--shape", "32x32"},
		"line 2 is empty":                       {"--model", file, "--class-names", names},
		"none.txt":                              {"--model", file, "--class-names", "none.txt"},
	} {
		for verb, cmd := range map[string]func() error{
			"certify": func() error {
				_, err := outputOf(t, "certify", append(args, "--data", "synthetic/test", "--sigma", "0.25")...)
				return err
			},
			"preflight": func() error {
				_, err := outputOf(t, "preflight", append(args, "--data", "synthetic/test", "--sigma", "0.25")...)
				return err
			},
		} {
			err := cmd()
			if _, usage := err.(cli.UsageError); !usage || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %q: %v; expected a wrong use with %q", verb, args, err, want)
			}
		}
	}
}

// What the file cannot take, whatever a flag says, and an engine that cannot run it.
func TestONNXFlagsImpossible(t *testing.T) {
	engines.NeedONNXRuntime(t)
	t.Setenv("CERTSPEC_DATA", t.TempDir())
	file := onnxFile(t)
	names := testkit.Write(t, []byte("cat\ndog\n"), t.TempDir(), "names.txt")
	for want, args := range map[string][]string{
		"mean has 2 values; images of 32×32×3": {"--mean", "0.5,0.5"},
		"2 class names for a network with 10":  {"--class-names", names},
		"images of 28×28×3 were asked for":     {"--shape", "28x28x3"},
		`no output "x" in the graph; it has`:   {"--output-name", "x"},
		"library /none.so":                     {"--lib", "/none.so"},
		"CUDA":                                 {"--provider", "cuda"},
	} {
		_, err := outputOf(t, "preflight", append(args, "--model", file, "--data", "synthetic/test", "--sigma", "0.25")...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected an error with %q", args, err, want)
		}
	}
}

// What preflight prints of an ONNX file and of a folder of pictures, as text and as JSON.
func TestPreflightSaysWhatApplies(t *testing.T) {
	engines.NeedONNXRuntime(t)
	file, dir := onnxFile(t), t.TempDir()
	classes := testkit.Write(t, []byte("owls 7 owl\ncats 2 cat\n"), t.TempDir(), "classes.txt")
	for i, name := range []string{"owls/a.png", "owls/b.png", "cats/a.png", "cats/b.png"} {
		im := image.NewRGBA(image.Rect(0, 0, 50, 40))
		for at := range 50 * 40 {
			im.Set(at%50, at/50, color.RGBA{uint8(at * (i + 1)), uint8(at), uint8(60 * i), 255})
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(out, im); err != nil {
			t.Fatal(err)
		}
		out.Close()
	}
	args := []string{"--model", file, "--data", "folder:" + dir + "[resize=36,crop=32,classes=" + classes + "]", "--sigma", "0.25", "--block", "10", "--n", "1000",
		"--std", "0.25"}
	text, _ := outputOf(t, "preflight", args...)
	for _, words := range []string{
		"NCHW float32 images of 32×32×3, logits", "std [0.25 0.25 0.25]",
		"to 36 by bilinear, before the noise; radii are in the resized pixels (32×32×3)",
		"cats is class 2, cat", "owls is class 7, owl",
	} {
		if !strings.Contains(text, words) {
			t.Errorf("%s\ndoes not say %q", text, words)
		}
	}
	text, _ = outputOf(t, "preflight", append(args, "--json")...)
	var r preflightcmd.Result
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	p := r.Prepared
	if p.Resize != "36" || p.Filter != "bilinear" || p.Crop != "32" || p.Classes != classes || len(p.Folders) != 2 || p.Folders["owls"] != 7 || p.Folders["cats"] != 2 {
		t.Errorf("prepared %+v", p)
	}
	if r.ONNX == nil || r.ONNX.Input.Std[2] != 0.25 || !strings.HasSuffix(r.Identity.Weights, ", std [0.25 0.25 0.25]") {
		t.Errorf("identity %+v, file %+v", r.Identity, r.ONNX)
	}
}

// A file of weights alone is no model; what is said of it are three ways in, with commands.
func TestWaysIn(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"net.pt", "my net.pth", "net.pth.tar", "net.safetensors"} {
		path := testkit.Write(t, []byte("weights"), dir, name)
		quoted := path
		if strings.Contains(path, " ") {
			quoted = "'" + path + "'"
		}
		for _, verb := range []string{"certify", "preflight"} {
			_, err := outputOf(t, verb, "--model", path, "--data", "synthetic/test", "--sigma", "0.25")
			if _, usage := err.(cli.UsageError); !usage {
				t.Errorf("%s %s: %v; expected a wrong use", verb, name, err)
				continue
			}
			for _, want := range []string{"Three ways in", "\n    pip install torch onnx onnxscript\n", "torch.onnx.export(", `certify --exec "python examples/pipe/pytorch_model.py ` + quoted + `"`,
				"\n    certspec import --weights "} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s %s: %v\nexpected %q", verb, name, err, want)
				}
			}
		}
	}
	if _, err := outputOf(t, "certify", "--model", filepath.Join(dir, "none.pt"), "--data", "synthetic/test", "--sigma", "0.25"); err == nil || !strings.HasSuffix(err.Error(), "no such file") {
		t.Errorf("no file: %v", err)
	}
	// Weights of a network that import does not know, and a network that nobody knows.
	other := filepath.Join(dir, "other.npz")
	if _, err := outputOf(t, "export", "--model", committed, "--out", other); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"import", other}, {"import", "--weights", other}} {
		if _, err := outputOf(t, args[0], args[1:]...); err == nil || !strings.Contains(err.Error(), "Three ways in") {
			t.Errorf("%q: %v", args, err)
		}
	}
	for _, net := range []string{"resnet20", "vgg16"} {
		if _, err := outputOf(t, "import", "--weights", other, "--net", net, "--out", filepath.Join(dir, "in")); err == nil || !strings.Contains(err.Error(), "Three ways in") {
			t.Errorf("import of %s: %v", net, err)
		}
	}
}
