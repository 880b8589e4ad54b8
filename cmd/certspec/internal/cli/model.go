package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/engine"
)

// ModelOptions name a model, say how images enter it and choose what runs it.
type ModelOptions struct {
	Path, Engine string

	cmd      *cobra.Command
	exec     program
	onnx     onnxOptions
	recorded string // a ledger or folder whose engine is taken for "fastest", where it is there
}

// Flags adds the flags of a model.
func (o *ModelOptions) Flags(cmd *cobra.Command) {
	o.cmd = cmd
	Group(cmd, Model, func(f *Flags) {
		f.Model(&o.Path, "path of the model file, or of an ONNX file")
		f.engine(&o.Engine, "fastest (measures them for a new ledger), ", append(engines, Fastest))
		o.exec.flags(f)
		o.onnx.flags(f)
	})
}

// Model adds --model.
func (f *Flags) Model(p *string, usage string) {
	f.File(p, "model", usage, "onnx", "onnx.gz", "safetensors", "json")
}

// engines are the values of --engine: those that run a network, those that train one.
var (
	engines  = append([]string{engine.ONNXRuntime, engine.OpenVINO, engine.OpenVINO + ",precision=bf16"}, trainers...)
	trainers = []string{"auto", "xla", "xla:cpu", "xla:cuda", "xla:", "go"}
)

// engineKey is the annotation of a command that runs networks.
const engineKey = "certspec_engine"

// runsEngine adds --huge-pages, once. HugePages reads it before the command runs, from the arguments.
func (f *Flags) runsEngine() {
	if _, done := f.cmd.Annotations[engineKey]; done {
		return
	}
	if f.cmd.Annotations == nil {
		f.cmd.Annotations = map[string]string{}
	}
	f.cmd.Annotations[engineKey] = ""
	f.Bool(hugePages, true, "use huge pages and keep freed memory, where the system has it (Linux with glibc): "+
		"faster, with the same results")
}

// hugePages is the flag of commands that run networks.
const hugePages = "huge-pages"

// HugePages reports whether the command of a command line runs networks, and --huge-pages=false is
// not among its flags. These are not parsed here: the command does that, and a second time would
// double its lists.
func HugePages(root *cobra.Command, args []string) bool {
	cmd, _, err := root.Find(args)
	if err != nil || slices.Contains(args, "-h") || slices.Contains(args, "--help") {
		return false
	}
	_, use := cmd.Annotations[engineKey]
	for _, arg := range args {
		value, found := strings.CutPrefix(arg, "--"+hugePages+"=")
		if on, err := strconv.ParseBool(value); found && err == nil {
			use = use && on
		}
	}
	return use
}

// Engine adds --engine to a command that runs a model.
func (f *Flags) Engine(p *string) { f.engine(p, "", engines) }

func (f *Flags) engine(p *string, more string, known []string) {
	f.Named(p, "engine", "", "engine that runs the model: auto, "+more+"onnxruntime, openvino, xla, xla:cpu, "+
		"xla:cuda, xla:/path/of/plugin.so or go; xla:cpu,kernels=winograd or bf16 for other convolutions, "+
		"openvino,precision=bf16 or f16 on processors that have them; see certspec backend",
		func() []string { return known })
	f.runsEngine()
}

// TrainingEngine adds --engine, or the same under another name, to a command that trains.
func (f *Flags) TrainingEngine(p *string, name, does string) {
	f.Named(p, name, "", does+": auto, xla, xla:cpu, xla:cuda, xla:/path/of/plugin.so or go; "+
		"xla:cpu,kernels=winograd or bf16 for other convolutions; see certspec backend",
		func() []string { return trainers })
	f.runsEngine()
}

// Open opens the model.
func (o *ModelOptions) Open() (m classifier.Classifier, end func() error, err error) {
	f := o.cmd.Flags()
	if f.Changed("exec") || f.Changed("exec-fds") {
		for _, flag := range append([]string{"model", "engine"}, onnxFlagNames()...) {
			if f.Changed(flag) {
				return nil, nil, Usagef("--%s with --exec: the program is the model, and takes images in [0, 1]", flag)
			}
		}
		m, err := o.exec.open()
		if err != nil {
			return nil, nil, err
		}
		return m, m.Close, nil
	}
	if o.Path == "" {
		return nil, nil, Usagef("--model is missing: %s; or --exec", f.Lookup("model").Usage)
	}
	if isWeights(o.Path) {
		return nil, nil, weightsAlone(o.Path)
	}
	options, err := o.onnx.read(f, o.Path, &o.Engine)
	if err != nil {
		return nil, nil, err
	}
	if o.Engine == Fastest {
		if o.Engine = engineOf(recorded(o.recorded).Model.Identity); o.Engine == "" {
			if o.Engine, err = fastest(o.cmd.Context(), func(choice string) (*engine.Model, error) {
				return engine.Open(o.Path, engine.Backend(choice), engine.ONNX(options),
					engine.Progress(Progress()))
			}, rate); err != nil {
				return nil, nil, err
			}
		}
	}
	opened, err := OpenModel(o.Path, engine.Backend(o.Engine), engine.ONNX(options))
	if err != nil {
		return nil, nil, err
	}
	return opened, opened.Close, nil
}

// OpenModel opens a model file and tells the person what is not as good as it could be.
func OpenModel(path string, options ...engine.Option) (*engine.Model, error) {
	if isWeights(path) {
		return nil, weightsAlone(path)
	}
	m, err := engine.Open(path, append(options, engine.Progress(Progress()))...)
	if err != nil {
		return nil, err
	}
	warnings, err := m.Warnings()
	if err != nil {
		return nil, err
	}
	for _, warning := range warnings {
		Say("%s", warning)
	}
	return m, nil
}
