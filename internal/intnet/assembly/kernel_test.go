//go:build external

package assembly

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/progress"
)

// kernel.wasm and vector_arm64.s are what Zig's compiler of the pinned version makes of kernel.c.
func TestCompiledKernelsAreCurrent(t *testing.T) {
	python, err := pyenv.Ensure(t.Context(), pyenv.Wheel, progress.Messages(t.Logf))
	if err != nil {
		t.Fatal(err)
	}
	compile := func(name string, flags ...string) []byte {
		file := filepath.Join(t.TempDir(), name)
		args := append([]string{"-m", "ziglang", "cc", "-O2", "-g0", "-fno-sanitize=undefined", "../kernel/kernel.c", "-o", file}, flags...)
		if said, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		data := testkit.Read(t, file)
		return data
	}
	module := compile("kernel.wasm", "-target", "wasm32-freestanding", "-msimd128", "-nostdlib", "-Wl,--no-entry",
		"-Wl,--import-memory", "-Wl,--export=tiles4", "-Wl,--export=tiles1", "-Wl,--strip-all")
	text := compile("kernel.s", "-target", "wasm32-freestanding", "-msimd128", "-S")
	if bytes.Contains(text, []byte("global.")) || bytes.Contains(text, []byte(".data")) {
		t.Error("the module has data or a stack, and it works in the memory of another program")
	}
	object := compile("kernel.o", "-target", "aarch64-linux-none", "-c", "-ffixed-x18", "-ffixed-x28",
		"-fomit-frame-pointer", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables", "-ffunction-sections")
	for file, made := range map[string][]byte{"../kernel/kernel.wasm": module, "../vector_arm64.s": words(t, object)} {
		if *update {
			testkit.Write(t, made, file)
		}
		if text, err := os.ReadFile(file); err != nil || !bytes.Equal(text, made) {
			t.Errorf("%s is another; run go test -tags external ./internal/intnet/assembly -update (%v)", file, err)
		}
	}
}

// words has the machine code of the functions as Go's assembler takes it. They call nothing, keep the registers that
// Go needs (R18, R28, R29, R30), and have nothing to be linked.
func words(t *testing.T, object []byte) []byte {
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	fmt.Fprint(&out, "// Code generated from kernel/kernel.c by assembly/kernel_test.go. DO NOT EDIT.\n\n#include \"textflag.h\"\n")
	for _, name := range []string{"tiles4", "tiles1"} {
		section := f.Section(".text." + name)
		if section == nil || f.Section(".rela.text."+name) != nil {
			t.Fatalf("%s is missing, or has to be linked", name)
		}
		code, err := section.Data()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "\n// func %s(a *tiles)\nTEXT ·%s(SB), NOSPLIT, $0-8\n\tMOVD a+0(FP), R0\n", name, name)
		for at := 0; at < len(code); at += 4 {
			fmt.Fprintf(&out, "\tWORD $0x%08x\n", binary.LittleEndian.Uint32(code[at:]))
		}
		fmt.Fprint(&out, "\tRET\n")
	}
	return out.Bytes()
}
