//go:build external && !noxla

package external

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/certspec/certspec/internal/testkit"
)

// command runs a program at the root of the repository and gives what it prints.
func command(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// integerResNet is the ResNet-20 as an integer network, the program that made it, and images.
func integerResNet(t *testing.T) (certspec, network, data string) {
	dir := t.TempDir()
	certspec, network = builtProgram(t), filepath.Join(dir, "r20.intnet")
	array := fmt.Appendf(nil, "%-117s\n", "{'descr': '|u1', 'fortran_order': False, 'shape': (20, 32, 32, 3), }")
	array = append([]byte("\x93NUMPY\x01\x00\x76\x00"), array...)
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 * 32 * 3 { // stripes
		from, to := random.IntN(256), random.IntN(256)
		for x := range 32 {
			array = append(array, byte(from+(to-from)*x/31))
		}
	}
	images := testkit.Write(t, array, dir, "images.npy")
	command(t, nil, certspec, "quantize", "notebooks/models/cifar10-resnet20-s025", "--data", "npy:"+images, "--sigma",
		"0.25", "--out", network)
	return certspec, network, images
}

// The kernels for Arm under emulation, and those for a browser in Node, pass the suite of package intnet, and give the
// logits of this machine for the ResNet-20: 1,000 noise samples in Node, 40 under emulation, which is slow.
func TestExternalIntegerKernels(t *testing.T) {
	_, network, _ := integerResNet(t)
	dir := t.TempDir()
	digest := func(samples int, run ...string) string {
		env := []string{"INTNET=" + network, fmt.Sprint("INTNET_SAMPLES=", samples), "GOEXPERIMENT="}
		said := command(t, env, run[0], append(run[1:], "-test.v", "-test.run=TestDigestOfLogits")...)
		t.Log(said)
		return regexp.MustCompile(`\b[0-9a-f]{64}\b`).FindString(said)
	}
	native := filepath.Join(dir, "native")
	command(t, nil, "go", "test", "-c", "-o", native, "./internal/intnet")
	node, err := exec.LookPath("node")
	if err != nil {
		root := debian(t, "nodejs", withDependencies("nodejs")...)
		node = filepath.Join(root, "usr/bin/node")
		libraries, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu"))
		t.Setenv("LD_LIBRARY_PATH", strings.Join(libraries, ":"))
	}
	arm, js := filepath.Join(dir, "arm"), filepath.Join(dir, "js.wasm")
	for _, k := range []struct {
		env     []string
		file    string
		samples int
		run     []string
	}{
		{[]string{"GOOS=js", "GOARCH=wasm", "GOEXPERIMENT="}, js, 1000,
			[]string{node, "internal/intnet/kernel/run.mjs", "internal/intnet/kernel/kernel.wasm", js}},
		{[]string{"GOOS=linux", "GOARCH=arm64", "GOEXPERIMENT=", "CGO_ENABLED=0"}, arm, 40,
			[]string{arm64Emulator(t), arm}},
	} {
		command(t, k.env, "go", "test", "-c", "-o", k.file, "./internal/intnet")
		command(t, nil, k.run[0], append(slices.Clone(k.run[1:]), "-test.short",
			"-test.run=Kernels|Programs|Pixels|Bounds")...)
		if got, want := digest(k.samples, k.run...), digest(k.samples, native); got != want || want == "" {
			t.Errorf("%v: logits of digest %s; want %s", k.run[0], got, want)
		}
	}
}

// replays are files for the page: a ledger of this machine's fastest kernel, which all others that it has replay, one
// of another seed, the network and its images.
func replays(t *testing.T) (ledger, other, network, images string) {
	var certspec string
	certspec, network, images = integerResNet(t)
	ledger = filepath.Join(filepath.Dir(network), "r20.ledger")
	command(t, nil, certspec, "certify", "--model", network, "--data", "npy:"+images, "--sigma", "0.25", "--n", "100",
		"--rule", "fixed", "--seed", "7", "--out", ledger)
	for kernel, count := range map[string]int{"avx2": 20, "plain": 2} { // of two looks each
		said := command(t, nil, certspec, "ledger", "replay", ledger, "--model", network, "--engine", kernel, "--data",
			"npy:"+images, "--images", fmt.Sprint(count))
		if !strings.Contains(said, fmt.Sprintf(": %d blocks equal, 0 looks differ", 2*count)) {
			t.Errorf("kernel %s: %s", kernel, said)
		}
	}
	text := testkit.Read(t, ledger)
	body, _, _ := bytes.Cut(text, []byte("\nsha256 "))
	body = append(bytes.Replace(body, []byte(`"seed":"7"`), []byte(`"seed":"8"`), 1), '\n')
	other = filepath.Join(filepath.Dir(network), "other.ledger")
	testkit.Write(t, fmt.Appendf(body, "sha256 %x\n", sha256.Sum256(body)), other)
	return ledger, other, network, images
}

// replayed is the page of the replay: it finds the blocks of a ledger equal, and those of one of another seed not.
func replayed(t *testing.T, ctx context.Context, page string, wrong func() []string, ledger, other, network,
	images string) {
	for file, verdict := range map[string]string{ledger: "All blocks are equal", other: "Blocks differ"} {
		open(t, ctx, page)
		do(t, ctx, chromedp.SetUploadFiles("#file", []string{file, network, images}))
		do(t, ctx, chromedp.Poll[bool](`document.getElementById("given").textContent.includes("images.npy: data")`))
		js[any](t, ctx, `document.getElementById("images").value = 20; document.getElementById("start").click()`)
		do(t, ctx, chromedp.Poll[bool](`document.querySelector(".result") !== null`, chromedp.WithPollingTimeout(0)))
		said := js[string](t, ctx, `document.querySelector(".result").innerText`)
		t.Log(said)
		if !strings.Contains(said, verdict) || !strings.Contains(said, "kernel simd") ||
			file == ledger && !strings.Contains(said, "40 of 40 blocks of 100 noise samples are equal") {
			t.Errorf("of %s the page says %q; want %q", file, said, verdict)
		}
		if got := wrong(); len(got) > 0 {
			t.Errorf("the page of the replay: %q", got)
		}
	}
}
