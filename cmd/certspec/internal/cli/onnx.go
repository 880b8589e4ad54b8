package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/textfile"
)

// Flags of an ONNX file, which go before the card beside it, and flags of ONNX Runtime.
var (
	cardFlags = []string{"mean", "std", "scale", "layout", "channel-order", "shape", "input-name", "output-name",
		"scores", "class-names"}
	runtimeFlags = []string{"lib", "threads", "provider"}
)

func onnxFlagNames() []string { return append(append([]string{}, cardFlags...), runtimeFlags...) }

// onnxOptions holds the values of these flags.
type onnxOptions struct {
	onnx.Options
	size, names string
}

func (o *onnxOptions) flags(f *Flags) {
	o.entranceFlags(f)
	f.Named(&o.Scores, "scores", "",
		"of an ONNX file: whether its outputs are logits or probabilities (default found out)",
		known("logits", "probabilities"))
	f.File(&o.names, "class-names", "of an ONNX file: file with the name of a class per line, class 0 first")
	f.File(&o.Library, "lib", "library of ONNX Runtime (default the one of "+onnx.Variable+", or in the cache)")
	f.IntVar(&o.Threads, "threads", 1, "of ONNX Runtime and OpenVINO: threads in one call")
	f.Named(&o.Provider, "provider", "cpu", "of ONNX Runtime: cpu, or cuda with a library that was built for it",
		known("cpu", "cuda"))
}

// entranceFlags say how images enter an ONNX file, and where they leave it.
func (o *onnxOptions) entranceFlags(f *Flags) {
	f.Floats(&o.Mean, "mean", nil,
		"of an ONNX file: what is subtracted from a channel, after the noise; one value, or one per channel, red first")
	f.Floats(&o.Std, "std", nil, "of an ONNX file: what a channel is divided by then")
	f.Float64Var(&o.Scale, "scale", 0,
		"of an ONNX file: what white is before mean and std, e.g. 255 (default 1, or 255 for a network on uint8)")
	f.Named(&o.Layout, "layout", "", "of an ONNX file, where the graph leaves it open: NCHW or NHWC",
		known("NCHW", "NHWC"))
	f.Named(&o.ChannelOrder, "channel-order", "",
		"of an ONNX file: in which it takes the channels, rgb or bgr (default rgb)", known("rgb", "bgr"))
	f.Text(&o.size, "shape", "of an ONNX file whose images enter flat, or with open sides: height, width and "+
		"channels of an image, e.g. 28x28x1")
	f.Text(&o.Input, "input-name", "of an ONNX file, where the graph has several: the input that takes the images")
	f.Text(&o.Output, "output-name",
		"of an ONNX file, where the graph has several: the output with a value per class (default found out)")
}

// read makes options of the flags for the model at path, and orders the engine ONNX Runtime where
// they are of use to no other.
func (o *onnxOptions) read(f *pflag.FlagSet, path string, choice *string) (onnx.Options, error) {
	for _, flag := range cardFlags {
		switch {
		case !f.Changed(flag):
		case !onnxfile.IsName(path):
			return o.Options, Usagef("--%s: it is for an ONNX file, and %s says itself how images enter it", flag, path)
		case f.Lookup(flag).Value.String() == "":
			return o.Options, Usagef("--%s: it has no value; expected %s", flag, f.Lookup(flag).Usage)
		}
	}
	for _, flag := range runtimeFlags {
		if !f.Changed(flag) {
			continue
		}
		switch {
		case *choice == "", *choice == "auto":
			*choice = engine.ONNXRuntime
		case *choice == engine.ONNXRuntime, flag == "threads" && strings.HasPrefix(*choice, engine.OpenVINO):
		default:
			return o.Options, Usagef("--%s: it is for ONNX Runtime, and --engine is %s", flag, *choice)
		}
	}
	switch {
	case f.Changed("scale") && o.Scale == 0:
		return o.Options, Usagef("--scale 0: expected a positive number, such as 1 or 255")
	case strings.HasPrefix(o.Provider, engine.OpenVINO):
		return o.Options, Usagef("--provider %s: take --engine %[1]s", o.Provider)
	case o.Threads < 1:
		return o.Options, Usagef("--threads %d: expected at least 1", o.Threads)
	}
	if o.size != "" {
		shape, err := ParseShape("shape", o.size)
		if err != nil {
			return o.Options, err
		}
		o.Shape = &shape
	}
	if o.names != "" {
		var err error
		if o.ClassNames, err = readClassNames(o.names); err != nil {
			return o.Options, Usagef("--class-names: %v", err)
		}
	}
	if err := o.Card.Check(); err != nil {
		return o.Options, Usagef("flags of %s: %v", path, err)
	}
	return o.Options, nil
}

// readClassNames reads a file of one name per line.
func readClassNames(path string) ([]string, error) {
	text, err := textfile.Read(path)
	if err != nil {
		return nil, err
	}
	names := strings.Split(strings.TrimRight(string(text), "\r\n\t "), "\n")
	for i, name := range names {
		if names[i] = strings.TrimSpace(name); names[i] == "" {
			return nil, fmt.Errorf("%s: line %d is empty; expected the name of class %d", path, i+1, i)
		}
	}
	return names, nil
}

// known gives words to complete by.
func known(words ...string) func() []string { return func() []string { return words } }
