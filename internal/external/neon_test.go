//go:build external

package external

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/pyenv"
)

// arm64Emulator is a program that runs others for 64-bit ARM: one that is there, or Debian's, unpacked into the cache.
func arm64Emulator(t *testing.T) string {
	for _, name := range []string{"qemu-aarch64-static", "qemu-aarch64"} {
		if file, err := exec.LookPath(name); err == nil {
			return file
		}
	}
	return filepath.Join(debian(t, "qemu", "download", "qemu-user-static"), "usr/bin/qemu-aarch64-static")
}

// The NEON forms of the convolution kernels, compiled for ARM and run under emulation, agree with direct sums in float64 to the roundings that
// the kernels are allowed at their first use.
func TestExternalNEON(t *testing.T) {
	python := environment(t, pyenv.Wheel)
	dir, err := filepath.Abs("../gomlxmodels/xlakernels")
	if err != nil {
		t.Fatal(err)
	}
	source, program := filepath.Join(t.TempDir(), "check.c"), filepath.Join(t.TempDir(), "check")
	if err := atomicfile.Write(source, []byte(`
#include <stdio.h>
#include "kernels.h"
static int wrong, checked;
static void compare(const form *f, geometry g) {
	const double difference = kernel_check(f, g);
	checked++;
	if (difference <= 32) return;
	wrong++;
	printf("%s kind %d, %d x %d, %d to %d channels, stride %d, dilation %d: %g roundings\n", f->name, g.kind, g.height, g.kernel_height, g.channels, g.features, g.stride, g.dilation, difference);
}
int main(void) {
	const form *list[max_forms];
	const int forms = kernel_forms(list), channels[][2] = {{3, 16}, {16, 16}, {20, 35}, {16, 3}, {32, 48}}, sides[] = {2, 7, 8};
	for (int f = 0; f < forms; f++)
		for (int s = 0; s < 3; s++)
			for (int k = 1; k <= 5; k += 2)
				for (int stride = 1; stride <= 2; stride++)
					for (int c = 0; c < 5; c++) {
						const int side = sides[s], pad = k / 2, out = (side + 2 * pad - k) / stride + 1, a = channels[c][0], b = channels[c][1];
						geometry g = {forward, stride, 1, pad, pad, 2, side, side, a, k, k, out, out, b};
						compare(list[f], g);
						g.kind = by_kernel;
						compare(list[f], g);
						compare(list[f], (geometry){by_input, 1, stride, k - 1 - pad, k - 1 - pad, 2, out, out, b, k, k, side, side, a});
					}
	printf("%s, %s: %d of %d wrong\n", list[0]->name, list[forms - 1]->name, wrong, checked);
	return wrong != 0;
}
`)); err != nil {
		t.Fatal(err)
	}
	args := []string{"-m", "ziglang", "cc", "-target", "aarch64-linux-musl", "-O3", "-std=gnu11", "-fno-sanitize=undefined", "-static", "-I", dir,
		"-o", program, source, filepath.Join(dir, "kernels.c"), filepath.Join(dir, "neon_arm64.c"), "-lm"}
	if text, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	text, err := exec.CommandContext(t.Context(), arm64Emulator(t), program).CombinedOutput()
	if err != nil || !strings.HasPrefix(string(text), "neon, neon-winograd: 0 of 540 ") {
		t.Errorf("%v\n%s", err, text)
	}
}
