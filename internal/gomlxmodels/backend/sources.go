package backend

import "github.com/certspec/certspec/internal/wheel"

// gomlxPlugin is the release of XLA's CPU plugin that go-xla v0.4.2 is made for
// (DefaultCPUVersion there). GoMLX publishes no digest of it; Install tells the digest of
// what came, and it becomes part of every model's identity.
const gomlxPlugin = "v0.114.0"

// gomlxPlatforms are those with such a plugin (CPUSupportedPlatforms in go-xla's installer).
var gomlxPlatforms = []string{"linux_amd64", "linux_arm64", "darwin_arm64"}

// wheels are the pinned wheels of the OpenXLA authors that hold a CPU plugin, by GOOS_GOARCH.
var wheels = map[string]wheel.Wheel{
	"linux_amd64": {
		Package: "xla-cpu-pjrt", Version: "0.0.1", Platform: "manylinux_2_27_x86_64", Python: "3.11",
		SHA256: "55837b6b7b47daa717f2d9a5a03563ea0ceaa338d06a81a1e2d3f060d960decc",
	},
	"linux_arm64": {
		Package: "xla-cpu-pjrt", Version: "0.0.1", Platform: "manylinux_2_27_aarch64", Python: "3.11",
		SHA256: "8f613be6e891858f40d64f9799319502fff42689661944fc18a6ffd8210b30c9",
	},
}
