//go:build cgo && !noxla && ((linux && (amd64 || arm64)) || (darwin && arm64))

package backend

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/internal/gomlxmodels/backend/quietinit"
	"github.com/certspec/certspec/internal/gomlxmodels/xlakernels"
	"github.com/certspec/certspec/internal/host"
)

const (
	xlaLinked = true
	notLinked = ""
)

func init() {
	quietinit.End()
	xla.EnableAutoInstall(false)
	// go-xla warns of JAX's own folders, from where the plugin does find its libraries; a
	// trial says whether it runs.
	if os.Getenv("GOPJRT_CUDA_CHECKS") == "" {
		os.Setenv("GOPJRT_CUDA_CHECKS", "0")
	}
}

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
	options, wish := kernelsWish(options)
	settings := ""
	if !strings.Contains(options, "shared_buffers") {
		settings += fmt.Sprintf(",shared_buffers=%t", checked.Platform == "cpu")
	}
	if options != "" {
		settings += "," + options
	}
	engine, kernels, err := withKernels(path, settings, wish, checked.Platform)
	if engine == nil && err == nil {
		engine, err = xla.NewWithOptions(path+settings, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("XLA plugin %s: %v", path, err)
	}
	version := fmt.Sprintf("%s, PJRT %d.%d, plugin %s", moduleVersion(xlaModule), checked.Major, checked.Minor,
		checked.Digest)
	for _, setting := range []string{os.Getenv(flagsVariable), options} {
		if setting != "" {
			version += ", " + setting
		}
	}
	if kernels.plugin != nil {
		version += ", " + xlakernels.Identity(kernels.plugin.Form)
	}
	return &Backend{
		Backend:        engine,
		Engine:         XLA,
		Version:        version,
		Device:         checked.Platform,
		Path:           path,
		Threads:        xlaThreads(),
		InstructionSet: host.InstructionSet(),
		Kernels:        kernels.String(),
		options:        options,
		counts:         kernels.counts(),
	}, nil
}

// inUse are the kernels of a backend, or why there are none.
type inUse struct {
	plugin *xlakernels.Plugin
	none   string
}

func (k inUse) String() string {
	if k.plugin == nil {
		return "none: " + k.none
	}
	return xlakernels.Identity(k.plugin.Form)
}

func (k inUse) counts() func() xlakernels.Counts {
	if k.plugin == nil {
		return nil
	}
	return k.plugin.Counts
}

// withKernels opens a plugin with the kernels that are wished for. Where there are none for it, the
// engine is nil, and an error only where the wish names a form.
func withKernels(path, settings, wish, platform string) (compute.Backend, inUse, error) {
	none := func(why string) (compute.Backend, inUse, error) {
		if wish == "" || wish == kernelsOff {
			return nil, inUse{none: why}, nil
		}
		return nil, inUse{}, fmt.Errorf("kernels=%s: %s", wish, why)
	}
	switch {
	case wish == kernelsOff:
		return none("switched off")
	case platform != "cpu":
		return none("they are for the CPU")
	}
	plugin, err := xlakernels.Load(path, wish)
	if err != nil {
		return none(err.Error())
	}
	engine, err := xla.NewWithOptions(plugin.Name+settings, nil)
	if err != nil {
		return none(err.Error())
	}
	if err := tryKernels(engine, plugin); err != nil {
		engine.Finalize()
		return none(err.Error())
	}
	return engine, inUse{plugin: plugin}, nil
}

// tryKernels runs a convolution whose sums are exact: the kernels themselves are compared with
// direct sums for every form of kernel.
func tryKernels(engine compute.Backend, plugin *xlakernels.Plugin) error {
	const side, channels, features = 4, 2, 3
	x, w := make([]float32, side*side*channels), make([]float32, 9*channels*features)
	for i := range x {
		x[i] = float32(i%7 - 3)
	}
	for i := range w {
		w[i] = float32(i%5 - 2)
	}
	want := make([]float32, side*side*features)
	for o := range want {
		for k := range 9 * channels {
			i, j, c := o/features/side+k/channels/3-1, o/features%side+k/channels%3-1, k%channels
			if i >= 0 && j >= 0 && i < side && j < side {
				want[o] += x[(i*side+j)*channels+c] * w[k*features+o%features]
			}
		}
	}
	before := plugin.Counts().Replaced
	got, err := evaluate(engine, func(x, w *graph.Node) *graph.Node { return graph.Convolve(x, w).PadSame().Done() },
		tensors.FromFlatDataAndDimensions(x, 1, side, side, channels), tensors.FromFlatDataAndDimensions(w, 3, 3,
			channels, features))
	switch {
	case err != nil:
		return err
	case !slices.Equal(got, want):
		return fmt.Errorf("a convolution through them gives %v; expected %v", got, want)
	case plugin.Counts().Replaced != before+1:
		return fmt.Errorf("XLA does not take them: %v", slices.Sorted(maps.Keys(plugin.Counts().Native)))
	}
	return nil
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
		tensors.FromFlatDataAndDimensions([]float32{0, 1, -2}, 3), tensors.FromFlatDataAndDimensions([]float32{3, 3, 3},
			3))
	if err != nil {
		return err
	}
	if want := []float32{3, 6, -3}; !slices.Equal(got, want) {
		return fmt.Errorf("it computes wrongly: got %v, expected %v", got, want)
	}
	report(major, minor, platform)
	return nil
}
