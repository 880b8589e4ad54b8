//go:build cgo && !noxla && ((linux && (amd64 || arm64)) || (darwin && arm64))

package backend

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/internal/host"
)

const (
	xlaLinked = true
	notLinked = ""
)

func init() { xla.EnableAutoInstall(false) }

// openXLA loads a plugin that has been checked. Path must be absolute: by name, go-xla
// searches on its own and dereferences nil on a file that cannot be loaded.
func openXLA(path, options string, checked pluginCheck) (b *Backend, err error) {
	defer func() {
		if r := recover(); r != nil {
			b, err = nil, fmt.Errorf("XLA plugin %s: %v", path, r)
		}
	}()
	if strings.Contains(path, ",") {
		return nil, fmt.Errorf("XLA plugin %s: go-xla cannot open a path with a comma; move the file", path)
	}
	config := path
	if !strings.Contains(options, "shared_buffers") {
		config += fmt.Sprintf(",shared_buffers=%t", checked.Platform == "cpu")
	}
	if options != "" {
		config += "," + options
	}
	engine, err := xla.NewWithOptions(config, nil)
	if err != nil {
		return nil, fmt.Errorf("XLA plugin %s: %v", path, err)
	}
	version := fmt.Sprintf("%s, PJRT %d.%d, plugin %s", moduleVersion(xlaModule), checked.Major, checked.Minor, checked.Digest)
	for _, setting := range []string{os.Getenv("XLA_FLAGS"), options} {
		if setting != "" {
			version += ", " + setting
		}
	}
	return &Backend{
		Backend:        engine,
		Engine:         XLA,
		Version:        version,
		Device:         checked.Platform,
		Path:           path,
		Threads:        xlaThreads(),
		InstructionSet: host.InstructionSet(),
	}, nil
}

// xlaThreads is the size of the thread pool of XLA's CPU client: $NPROC, else the number
// of processors this process may run on.
func xlaThreads() int {
	if n, err := strconv.Atoi(os.Getenv("NPROC")); err == nil && n > 0 {
		return n
	}
	return runtime.NumCPU()
}

// tryPlugin loads a plugin, opens a client and runs a small program on it.
func tryPlugin(path string, report func(major, minor int, platform string)) error {
	major, minor, found := apiVersion(path)
	if found {
		report(major, minor, "")
	}
	plugin, err := pjrt.GetPlugin(path)
	if err != nil {
		return err
	}
	client, err := plugin.NewClient(nil)
	if err != nil {
		return err
	}
	platform := client.Platform()
	if err := client.Destroy(); err != nil {
		return err
	}
	engine, err := xla.NewWithOptions(path, nil)
	if err != nil {
		return err
	}
	got, err := evaluate(engine, func(x, y *graph.Node) *graph.Node { return graph.Add(graph.Mul(x, y), y) },
		tensors.FromFlatDataAndDimensions([]float32{0, 1, -2}, 3), tensors.FromFlatDataAndDimensions([]float32{3, 3, 3}, 3))
	if err != nil {
		return err
	}
	if want := []float32{3, 6, -3}; !slices.Equal(got, want) {
		return fmt.Errorf("it computes wrongly: got %v, expected %v", got, want)
	}
	report(major, minor, platform)
	return nil
}
