package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/internal/nearest"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
	"github.com/certspec/certspec/spectral"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit codes of the command line.
const (
	ExitFailed    = 1
	ExitUsage     = 2
	exitUnknown   = 3  // neither shown nor refuted
	exitNoVerdict = 4  // a test could not be made, or its verdict not be kept
	ExitStopped   = 75 // stopped on request: run the same command again to go on
)

// NoVerdict is an error that kept a test from its verdict, or its files from being written: a full disk, a
// model that cannot be read. It is no failure of what was tested.
type NoVerdict struct{ Err error }

func (e NoVerdict) Error() string { return e.Err.Error() }
func (e NoVerdict) Unwrap() error { return e.Err }

// ErrUndecided ends a test that reached no verdict.
var ErrUndecided = errors.New("undecided: more images would be needed")

// UsageError marks a wrong use of the command line.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Usage marks an error as a wrong use where it is one of settings, and says it in the words of the command line.
func Usage(err error) error {
	var (
		option    *rule.OptionError
		resampled *resample.OptionError
		unknown   *corrupt.UnknownError
		setting   *corrupt.SettingError
		frequency *spectral.InputError
		view      *augment.OptionError
		count     *bound.InputError
	)
	switch {
	case errors.As(err, &option):
		return UsageError{errors.New(inFlags(option.Reason))}
	case errors.As(err, &resampled):
		return UsageError{errors.New(inFlags(resampled.Reason))}
	case errors.As(err, &unknown), errors.As(err, &setting), errors.As(err, &frequency), errors.As(err, &view),
		errors.As(err, &count):
		return UsageError{err}
	}
	return err
}

// settingFlags are the flags of the fields of a ledger's header.
var settingFlags = map[string]string{
	"model.identity.weights": "model", "model.identity.engine": "engine", "model.identity.threads": "threads",
	"data.name": "data", "data.images": "data", "sigma": "sigma", "noise": "noise", "seed": "seed",
	"seed_chosen": "seed", "alpha": "alpha", "selection": "n0", "block": "block",
	"rule.name": "rule", "rule.looks": "n", "rule.sizes": "n", "rule.tolerance": "tolerance",
	"rule.relative": "relative", "rule.futility": "futility",
	"rule.targets": "radii", "rule.budget": "shard", "shard": "shard", "scores": "keep-scores",
}

// kernelsWord stands in the version of an engine that has kernels of certspec's own.
const kernelsWord = "kernels "

// inWords says of a ledger of another run which flag of this one differs.
func inWords(err error) string {
	var other *ledger.MismatchError
	if !errors.As(err, &other) {
		return err.Error()
	}
	if there, here := strings.Contains(other.Ledger, kernelsWord), strings.Contains(other.Run, kernelsWord); !there &&
		here && other.Field == "model.identity.engine_version" {
		return err.Error() + ". It was computed with XLA's own convolutions: the same command with --engine " +
			"xla:cpu,kernels=off goes on with it"
	}
	if other.Field == "data.digest" {
		return fmt.Sprintf("ledger %s is of other images or labels (digest %s, here %s): give those of its run, or "+
			"name another ledger file", other.File, other.Ledger, other.Run)
	}
	flag := settingFlags[other.Field]
	if flag == "" {
		return err.Error()
	}
	short := *other
	if flag == "n" {
		short.Field, short.Ledger, short.Run = "largest number of samples", mostSamples(other.Ledger),
			mostSamples(other.Run)
	}
	return short.Error() + " of --" + flag
}

// mostSamples is the last number of samples in looks or sizes, or these as they are.
func mostSamples(looks string) string {
	var list []struct {
		Samples json.Number `json:"copies"`
	}
	if err := json.Unmarshal([]byte(looks), &list); err != nil || len(list) == 0 {
		return looks
	}
	return list[len(list)-1].Samples.String()
}

// ofField are the flags of fields whose names are others.
var ofField = map[string]string{"MaxSamples": "n", "Selection": "n0", "Scores": "keep-scores", "Samples": "n",
	"Count": "images", "Blocks": "blocks"}

var fieldWord = regexp.MustCompile(`\b(MaxSamples|Selection|Scores|Samples|Sigma|Alpha|Tolerance|` +
	`Relative|Futility|Radii|Block|Workers|Memory|Rule|Noise|Shard|Image|Images|Confidence|` +
	`Resamples|Ledger|Budget|Until)\b( is\b|:| has\b)`)

// inFlags writes a reason that names fields of options in the words of the command line.
func inFlags(reason string) string {
	text := fieldWord.ReplaceAllStringFunc(reason, func(word string) string {
		name, verb, _ := strings.Cut(word, " ")
		name = strings.TrimSuffix(name, ":")
		flag := ofField[name]
		if flag == "" {
			flag = strings.ToLower(name)
		}
		if verb == "" {
			return "--" + flag + ":"
		}
		return "--" + flag + " " + verb
	})
	return strings.ReplaceAll(text, ", want ", "; expected ")
}

// usualNames are names that other programs give to flags of ours.
var usualNames = map[string]string{
	"ledger": "out", "output": "out", "onnx": "out", "safetensors": "out", "npz": "out", "tsv": "out", "png": "out",
	"input-size": "shape", "sample": "images",
}

// inName are parts of a data set's name, each with an example, which other programs have flags for.
var inName = map[string]string{
	"resize": "256", "filter": "lanczos", "crop": "224", "channels": "rgb", "background": "white", "depth": "8",
	"classes": "labels.txt",
}

// flagError says what was typed and what was expected, in the place of what the parser of flags says.
func flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		value   *pflag.InvalidValueError
		missing *pflag.ValueRequiredError
	)
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			return Usagef("unknown flag -%s; %s --help lists them", name, cmd.CommandPath())
		}
		if ours := usualNames[name]; ours != "" && cmd.Flags().Lookup(ours) != nil {
			return Usagef("unknown flag --%s; expected --%s", name, ours)
		}
		if example := inName[name]; example != "" && cmd.Flags().Lookup("max-index") != nil {
			return Usagef("unknown flag --%s; the name of the data says it: 'NAME[%s=%s]'; see certspec help data",
				name, name, example)
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		near := nearest.DidYouMean(name, names)
		return Usagef("unknown flag --%s%s %s --help lists them", name, then(strings.Replace(near, "mean ", "mean --",
			1)), cmd.CommandPath())
	case errors.As(err, &value):
		f := value.GetFlag()
		var choice *choiceError
		if errors.As(err, &choice) {
			return Usagef("--%s %s: %v", f.Name, value.GetValue(), choice)
		}
		return Usagef("--%s %s: expected %s", f.Name, value.GetValue(), expected(f.Value.Type()))
	case errors.As(err, &missing):
		f := missing.GetFlag()
		return Usagef("--%s has no value: expected %s", f.Name, f.Usage)
	}
	return UsageError{err}
}

// then ends a clause that a suggestion may have ended already.
func then(suggestion string) string {
	if suggestion == "" {
		return ";"
	}
	return suggestion
}

// expected says in words what a flag of a type takes.
func expected(kind string) string {
	switch kind {
	case "int":
		return "a whole number"
	case "uint64", "uint":
		return "a whole number of at least 0"
	case "float", "float64":
		return "a number"
	case "floats":
		return "numbers, as 0.25,0.5"
	case "ints":
		return "whole numbers, as 1,2,3"
	case "duration":
		return "a time, as 90s, 5m or 8h"
	case "bool":
		return "true or false"
	case "cells":
		return "a number of cells, 1 to 1000, or top"
	}
	return "a " + kind
}

// Needed wants flags that have no default.
func Needed(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if !cmd.Flags().Changed(name) {
			usage, _, _ := strings.Cut(cmd.Flags().Lookup(name).Usage, " (default")
			return Usagef("--%s is missing: %s", name, usage)
		}
	}
	return nil
}

// NotZero refuses a 0, by which settings mean their default, where a person gives it.
func NotZero(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if f := cmd.Flags(); f.Changed(name) && f.Lookup(name).Value.String() == "0" {
			return Usagef("--%s 0: expected more than 0", name)
		}
	}
	return nil
}

// Wrong marks an error as a wrong use.
func Wrong(err error) error { return UsageError{err} }
