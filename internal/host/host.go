// Package host tells what machine this is, as far as the answers of an engine depend on it.
package host

import (
	"path"
	"runtime"

	"golang.org/x/sys/cpu"
)

// InstructionSet is the widest vector instruction set of this machine, in the form
// "amd64/avx512". Engines choose their code by it.
func InstructionSet() string {
	set := ""
	switch {
	case cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL:
		set = "avx512"
		if cpu.X86.HasAMXTile {
			set = "avx512+amx"
		}
	case cpu.X86.HasAVX2 && cpu.X86.HasFMA:
		set = "avx2"
	case cpu.X86.HasAVX:
		set = "avx"
	case runtime.GOARCH == "amd64":
		set = "sse2"
	case cpu.ARM64.HasSVE:
		set = "sve"
	case runtime.GOARCH == "arm64":
		set = "neon"
	}
	return path.Join(runtime.GOARCH, set)
}
