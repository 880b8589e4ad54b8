package onnx

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/wheel"
	"github.com/certspec/certspec/progress"
)

// installedVersion is the version of ONNX Runtime that Install fetches.
const installedVersion = "1.31.1"

// wheels are the wheels of the package onnxruntime by platform. The library inside does
// not depend on the version of Python that a wheel is tagged with.
var wheels = map[string]wheel.Wheel{
	"linux/amd64": {
		Package: "onnxruntime", Version: installedVersion, Platform: "manylinux_2_28_x86_64", Python: "3.11",
		SHA256: "5752bd508126ae7c49894d3b9d2e83f0c3d487319246d04c444b393308d7ad7f",
	},
	"linux/arm64": {
		Package: "onnxruntime", Version: installedVersion, Platform: "manylinux_2_28_aarch64", Python: "3.11",
		SHA256: "da05378364c44d4407e463982d2bf8d5e4cfea873283757e48beeb41df97b7f3",
	},
	"darwin/arm64": {
		Package: "onnxruntime", Version: installedVersion, Platform: "macosx_14_0_arm64", Python: "3.11",
		SHA256: "60b6b69bfe580eab576cacc5d132a0e9cf2a37fcfd18d46dd191042b1d1ed0d7",
	},
}

// Install puts ONNX Runtime's library into certspec's cache, where it is missing, and
// returns its path. It reports what takes time; show may be nil.
func Install(ctx context.Context, show progress.Reporter) (string, error) {
	if !linked {
		return "", fmt.Errorf("onnx: the library would be of no use: %s", notLinked)
	}
	platform := runtime.GOOS + "/" + runtime.GOARCH
	w, found := wheels[platform]
	if !found {
		return "", fmt.Errorf("onnx: the package index has no ONNX Runtime %s for %s; put a library of your own into %s",
			installedVersion, platform, Variable)
	}
	dir, err := cachedFolder()
	if err != nil {
		return "", err
	}
	if err := wheel.Install(ctx, w, dir, keepLibrary, show); err != nil {
		return "", fmt.Errorf("onnx: %w", err)
	}
	library, found := cachedLibrary()
	if !found {
		return "", fmt.Errorf("onnx: %s holds no library; remove the folder and install again", dir)
	}
	return library, checkLibrary(library)
}

// keepLibrary picks the shared libraries, the loader of GPU providers among them, and the
// licences out of a wheel.
func keepLibrary(name string) string {
	base := path.Base(name)
	if isLibrary(base) || strings.HasPrefix(base, "libonnxruntime_providers_shared.") ||
		name == "onnxruntime/LICENSE" || name == "onnxruntime/ThirdPartyNotices.txt" {
		return base
	}
	return ""
}

var isLibrary = regexp.MustCompile(`^libonnxruntime\.(so(\.[0-9.]+)?|([0-9.]+\.)?dylib)$`).MatchString

func cachedFolder() (string, error) {
	root, err := cache.Dir("onnxruntime")
	if err != nil {
		return "", err
	}
	return filepath.Join(root, installedVersion), nil
}
