package main

import (
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/engine"
)

// engineFlag adds --engine to a command that runs a model.
func engineFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("engine", "", "what runs the model: auto, onnxruntime, xla, xla:cpu, xla:cuda, xla:/path/of/plugin.so or go; see certspec backend")
}

// trainingEngineFlag adds --engine to a command that trains.
func trainingEngineFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("engine", "", "what runs the network: auto, xla, xla:cpu, xla:cuda, xla:/path/of/plugin.so or go; see certspec backend")
}

// modelFlags adds the flags that name a model, say how images enter it and choose what runs it, and
// gives what opens it.
func modelFlags(cmd *cobra.Command) (open func() (m classifier.Classifier, end func() error, err error)) {
	f := cmd.Flags()
	path := f.String("model", "", "path of the model file, or of an ONNX file")
	choice := engineFlag(cmd)
	openProgram := execFlags(cmd)
	onnxOptions := onnxFlags(cmd)
	return func() (classifier.Classifier, func() error, error) {
		if f.Changed("exec") {
			for _, flag := range append([]string{"model", "engine"}, onnxFlagNames()...) {
				if f.Changed(flag) {
					return nil, nil, usagef("--%s with --exec: the program is the model, and takes images in [0, 1]", flag)
				}
			}
			m, err := openProgram()
			if err != nil {
				return nil, nil, err
			}
			return m, m.Close, nil
		}
		if *path == "" {
			return nil, nil, usagef("--model is missing: %s; or --exec", f.Lookup("model").Usage)
		}
		options, err := onnxOptions(*path, choice)
		if err != nil {
			return nil, nil, err
		}
		m, err := openModel(*path, engine.Backend(*choice), engine.ONNX(options))
		if err != nil {
			return nil, nil, err
		}
		return m, m.Close, nil
	}
}

// openModel opens a model file and tells the person what is not as good as it could be.
func openModel(path string, options ...engine.Option) (*engine.Model, error) {
	m, err := engine.Open(path, options...)
	if err != nil {
		return nil, err
	}
	warnings, err := m.Warnings()
	if err != nil {
		return nil, err
	}
	for _, warning := range warnings {
		say("%s", warning)
	}
	return m, nil
}
