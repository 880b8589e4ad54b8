// Package backend chooses and opens the engine that runs GoMLX graphs: XLA, through a
// PJRT plugin for a GPU or the CPU, or GoMLX's backend in pure Go, which always works
// and is one to two orders of magnitude slower on convolutions.
//
// Nothing is ever downloaded here except by Install. A plugin file is inspected, then
// tried once in a process of its own, before this process loads it, so that a damaged,
// foreign or outdated file costs one sentence and no crash.
package backend

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/gomlx/compute"

	"github.com/certspec/certspec/internal/gomlxmodels/xlakernels"
)

// Environment variables that choose the backend where the caller does not, in this order.
// Both hold a choice as Open takes it.
const (
	Variable      = "CERTSPEC_BACKEND"
	GoMLXVariable = compute.ConfigEnvVar
)

// Names of the engines.
const (
	XLA = "xla"
	Go  = "go"
)

// Backend is an open engine. There is one per engine, plugin and options in a process,
// shared by all who open it; it lives as long as the process and is never finalised.
type Backend struct {
	// Backend is GoMLX's backend. It is a field, not embedded, because GoMLX tells
	// backends apart by identity: a wrapper's tensors could not be fed back.
	Backend compute.Backend `json:"-"`

	Engine         string `json:"engine"`          // XLA or Go
	Version        string `json:"version"`         // of the engine and, for XLA, of the plugin and its file
	Device         string `json:"device"`          // "cpu" or "cuda"
	Path           string `json:"path,omitempty"`  // of the plugin; empty for Go
	Threads        int    `json:"threads"`         // threads inside one call
	InstructionSet string `json:"instruction_set"` // e.g. "amd64/avx512"
	// of package xlakernels, as in Version, or "none" and why; empty for Go
	Kernels string `json:"kernels,omitempty"`
	// why a better engine was not taken, and how to get it; mostly empty
	Note string `json:"note,omitempty"`

	options string                   // go-xla's
	counts  func() xlakernels.Counts // of a backend with kernels
}

// Open opens the backend of a choice:
//
//	"", "auto"       the environment's choice; else a GPU plugin, else a CPU plugin, else Go
//	"xla"            the best XLA plugin found
//	"xla:cpu", "xla:cuda"        the plugin for this device
//	"xla:/path/plugin.so[,options]"  this plugin, with go-xla's options, and kernels=off, avx512, avx2, neon,
//	                                 winograd or bf16; see kernelsVariable
//	"go[:options]"   GoMLX's Go backend; without options ops_sequential, as its default mode can deadlock
//
// A choice by argument is an order: where it cannot be met the error says why. A choice by
// environment is a wish: where it cannot be met, Open goes on as for "auto" and Note says why.
func Open(choice string) (*Backend, error) { return open(choice, goForInference) }

// OpenForTraining is Open, except that the Go backend, where it is chosen without options,
// runs independent operations in parallel: two thirds of the time of a training step.
func OpenForTraining(choice string) (*Backend, error) { return open(choice, goForTraining) }

// onnxRuntime is the variables' name for an engine that only certifies; see package engine.
const onnxRuntime = "onnxruntime"

func open(text, goOptions string) (*Backend, error) {
	openMu.Lock()
	defer openMu.Unlock()
	c, err := parseChoice(text)
	if err != nil {
		return nil, fmt.Errorf("backend: %w", err)
	}
	if c.engine != "" {
		b, problems, err := c.open(goOptions)
		if err != nil {
			return nil, fmt.Errorf("backend: %w", err)
		}
		return b.withNote(problems), nil
	}

	var notes []string
	for _, variable := range []string{Variable, GoMLXVariable} {
		value := os.Getenv(variable)
		if value == onnxRuntime {
			continue
		}
		c, err := parseChoice(value)
		if err != nil {
			return nil, fmt.Errorf("backend: %s: %w", variable, err)
		}
		if c.engine == "" {
			continue
		}
		b, problems, err := c.open(goOptions)
		if err == nil {
			return b.withNote(problems), nil
		}
		notes = append(notes, fmt.Sprintf("%s=%s cannot be used: %v", variable, value, err))
		break
	}

	b, problems, err := choice{engine: XLA}.open(goOptions)
	if err == nil {
		notes = append(notes, problems...)
		if len(notes) > 0 {
			notes = append(notes, "so XLA runs with "+b.Path)
		}
		return b.withNote(notes), nil
	}
	if len(notes) == 0 {
		notes = append(notes, err.Error())
	}
	b, _, err = choice{engine: Go}.open(goOptions)
	if err != nil {
		return nil, fmt.Errorf("backend: %w", err)
	}
	return b.withNote(append(notes, "so the Go backend runs, which is 10 to 60 times slower")), nil
}

func (b *Backend) withNote(notes []string) *Backend {
	if len(notes) == 0 {
		return b
	}
	noted := *b
	noted.Note = strings.Join(notes, "; ")
	return &noted
}

var (
	openMu sync.Mutex
	opened = map[string]*Backend{} // by engine, path and options
)

// once opens an engine the first time it is asked for.
func once(key string, open func() (*Backend, error)) (*Backend, error) {
	if b := opened[key]; b != nil {
		return b, nil
	}
	b, err := open()
	if err == nil {
		opened[key] = b
	}
	return b, err
}
