package backend

import (
	"path"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/gomlx/compute/support/envutil"

	"github.com/certspec/certspec/internal/host"
)

// goInstructionSet is the part of it that GoMLX's Go backend uses: nothing, unless it was built
// with GOEXPERIMENT=simd.
func goInstructionSet() string {
	if !builtWithSIMD {
		return runtime.GOARCH
	}
	set := host.InstructionSet()
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

// requiredVersions are the versions in go.mod, for programs such as tests that carry no module
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
