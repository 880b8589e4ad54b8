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
// shared by all who open it, and it lives as long as the process.
type Backend struct {
	compute.Backend `json:"-"`
	Engine          string `json:"engine"`          // XLA or Go
	Version         string `json:"version"`         // of the engine and, for XLA, of the plugin and its file
	Device          string `json:"device"`          // "cpu" or "cuda"
	Path            string `json:"path,omitempty"`  // of the plugin; empty for Go
	Threads         int    `json:"threads"`         // threads inside one call
	InstructionSet  string `json:"instruction_set"` // e.g. "amd64/avx512"
	Note            string `json:"note,omitempty"`  // why a better engine was not taken, and how to get it; mostly empty
}

// Finalize does nothing: an engine is shared and lives as long as the process.
func (b *Backend) Finalize() {}

// Open opens the backend of a choice:
//
//	"", "auto"       the environment's choice; else a GPU plugin, else a CPU plugin, else Go
//	"xla"            the best XLA plugin found
//	"xla:cpu", "xla:cuda"        the plugin for this device
//	"xla:/path/plugin.so[,options]"  this plugin, with go-xla's options
//	"go[:options]"   GoMLX's Go backend; without options ops_sequential, as its default mode can deadlock
//
// A choice by argument is an order: where it cannot be met the error says why. A choice by
// environment is a wish: where it cannot be met, Open goes on as for "auto" and Note says why.
func Open(choice string) (*Backend, error) { return open(choice, goForInference) }

// OpenForTraining is Open, except that the Go backend, where it is chosen without options,
// runs independent operations in parallel: two thirds of the time of a training step.
func OpenForTraining(choice string) (*Backend, error) { return open(choice, goForTraining) }

var (
	openMu sync.Mutex
	opened = map[string]*Backend{} // by engine, path, options and note
)

func open(text, goOptions string) (*Backend, error) {
	openMu.Lock()
	defer openMu.Unlock()
	c, err := parseChoice(text)
	if err != nil {
		return nil, err
	}
	if c.engine != "" {
		b, _, err := c.open(goOptions, "")
		return b, err
	}

	var notes []string
	for _, variable := range []string{Variable, GoMLXVariable} {
		value := os.Getenv(variable)
		if value == "" {
			continue
		}
		c, err := parseChoice(value)
		if err != nil {
			return nil, fmt.Errorf("%w (from %s)", err, variable)
		}
		if c.engine == "" {
			continue
		}
		b, _, err := c.open(goOptions, "")
		if err == nil {
			return b, nil
		}
		notes = append(notes, fmt.Sprintf("%s=%s is not usable: %v", variable, value, err))
		break
	}

	b, problems, err := choice{engine: XLA}.open(goOptions, strings.Join(notes, "; "))
	if err == nil {
		return b, nil
	}
	switch {
	case !xlaLinked:
		notes = append(notes, notLinked)
	case len(problems) > 0:
		notes = append(notes, problems...)
		notes = append(notes, "run certspec backend install for a plugin that works")
	default:
		notes = append(notes, "no XLA plugin found; certspec backend install fetches one, which is 10 to 60 times faster")
	}
	b, _, err = choice{engine: Go}.open(goOptions, "using the slow Go backend: "+strings.Join(notes, "; "))
	return b, err
}

// choice is a parsed wish for an engine; the zero choice leaves it open.
type choice struct {
	engine  string // "", XLA or Go
	device  string // "", "cpu" or "cuda"
	path    string // absolute path of a plugin, or empty
	options string // the engine's own, comma-separated
}

func parseChoice(text string) (choice, error) {
	engine, rest, _ := strings.Cut(text, ":")
	switch engine {
	case "", "auto":
		if rest != "" {
			break
		}
		return choice{}, nil
	case Go:
		return choice{engine: Go, options: rest}, nil
	case XLA:
		where, options, _ := strings.Cut(rest, ",")
		c := choice{engine: XLA, options: options}
		switch where {
		case "":
		case "cpu", "cuda":
			c.device = where
		case "gpu":
			c.device = "cuda"
		default:
			path, err := absolutePath(where)
			if err != nil {
				return choice{}, err
			}
			c.path = path
		}
		return c, nil
	}
	return choice{}, fmt.Errorf("backend: unknown backend %q; expected auto, xla, xla:cpu, xla:cuda, xla:/path/of/plugin.so or go", text)
}

// open opens the first usable engine of the choice and reports, one sentence each, the
// plugins that were found and are not usable.
func (c choice) open(goOptions, note string) (b *Backend, problems []string, err error) {
	if c.engine == Go {
		options := c.options
		if options == "" {
			options = goOptions
		}
		b, err := once(Go+":"+options+note, func() (*Backend, error) { return openGo(options) }, note)
		return b, nil, err
	}
	if !xlaLinked {
		return nil, nil, fmt.Errorf("backend: %s", notLinked)
	}
	candidates := []Plugin{{Path: c.path, Device: "cpu"}}
	if c.path == "" {
		candidates = findPlugins(c.device)
	}
	for _, plugin := range candidates {
		b, err := once(XLA+":"+plugin.Path+","+c.options+note, func() (*Backend, error) {
			checked, err := checkPlugin(plugin.Path)
			if err != nil {
				return nil, err
			}
			return openXLA(plugin.Path, c.options, checked)
		}, note)
		if err == nil {
			return b, problems, nil
		}
		problems = append(problems, err.Error())
	}
	if len(problems) > 0 {
		return nil, problems, fmt.Errorf("backend: %s", strings.Join(problems, "; "))
	}
	device := ""
	if c.device != "" {
		device = " for " + c.device
	}
	return nil, nil, fmt.Errorf("backend: no XLA plugin%s found in %s; certspec backend install fetches one for the CPU", device, strings.Join(searchedFolders(), ", "))
}

func once(key string, open func() (*Backend, error), note string) (*Backend, error) {
	if b := opened[key]; b != nil {
		return b, nil
	}
	b, err := open()
	if err != nil {
		return nil, err
	}
	b.Note = note
	opened[key] = b
	return b, nil
}
