package backend

import (
	"path"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/gomlx/compute/support/envutil"
	"golang.org/x/sys/cpu"
)

// hostInstructionSet is the widest vector instruction set of this machine, in the form
// "amd64/avx512". A compiler such as XLA's chooses its code by it.
func hostInstructionSet() string {
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

// goInstructionSet is what GoMLX's Go backend uses of it: nothing, unless it was built
// with GOEXPERIMENT=simd.
func goInstructionSet() string {
	if !builtWithSIMD {
		return runtime.GOARCH
	}
	set := hostInstructionSet()
	if on, _ := envutil.ReadBool(envutil.SIMD_AVX512_Env, true); !on && strings.Contains(set, "avx512") {
		set = "amd64/avx2"
	}
	if on, _ := envutil.ReadBool(envutil.SIMD_AVX2_Env, true); !on && set == "amd64/avx2" {
		set = "amd64"
	}
	return set
}

// Modules whose version is part of a model's identity.
const (
	goModule  = "github.com/gomlx/compute"
	xlaModule = "github.com/gomlx/go-xla"
)

// requiredVersions are those of go.mod, for programs such as tests that carry no module
// versions.
var requiredVersions = map[string]string{goModule: "v0.1.3", xlaModule: "v0.4.2"}

// moduleVersion is "name version" of a module this program was built with.
func moduleVersion(module string) string {
	version := requiredVersions[module]
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == module {
				if dep.Replace != nil {
					dep = dep.Replace
				}
				version = dep.Version
			}
		}
	}
	return path.Base(module) + " " + version
}
