package backend

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnknown is the cause of an error about a choice that is none of the forms of Open.
var ErrUnknown = errors.New("expected auto, xla, xla:cpu, xla:cuda, xla:/path/of/plugin.so or go")

// choice is a parsed wish for an engine; the zero choice leaves it open.
type choice struct {
	engine  string // "", XLA or Go
	device  string // "", "cpu" or "cuda"
	path    string // absolute path of a plugin, or empty
	options string // the engine's own, comma-separated
}

func parseChoice(text string) (choice, error) {
	engine, rest, _ := strings.Cut(text, ":")
	switch {
	case engine == Go:
		return choice{engine: Go, options: rest}, nil
	case engine == XLA:
		where, options, _ := strings.Cut(rest, ",")
		c := choice{engine: XLA, options: options}
		switch where {
		case "":
		case "cpu", "cuda":
			c.device = where
		default:
			path, err := absolutePath(where)
			if err != nil {
				return choice{}, err
			}
			c.path = path
		}
		return c, nil
	case text == "" || text == "auto":
		return choice{}, nil
	}
	return choice{}, fmt.Errorf("unknown choice %q; %w", text, ErrUnknown)
}

// open opens the first usable engine of the choice. It also tells, one sentence each, which
// plugins were found before that one and cannot be used.
func (c choice) open(goOptions string) (b *Backend, problems []string, err error) {
	if c.engine == Go {
		options := c.options
		if options == "" {
			options = goOptions
		}
		b, err := once(Go+":"+options, func() (*Backend, error) { return openGo(options) })
		return b, nil, err
	}
	if !xlaLinked {
		return nil, nil, errors.New(notLinked)
	}
	candidates := []pluginFile{{Path: c.path}}
	if c.path == "" {
		candidates = findPlugins(c.device)
	}
	others, wish := kernelsWish(c.options)
	for _, plugin := range candidates {
		b, err := once(XLA+":"+plugin.Path+","+others+",kernels="+wish, func() (*Backend, error) {
			checked, err := checkPlugin(plugin.Path)
			if err != nil {
				return nil, err
			}
			return openXLA(plugin.Path, c.options, checked)
		})
		if err == nil {
			return b, problems, nil
		}
		problems = append(problems, err.Error())
	}
	switch {
	case c.path != "":
		return nil, nil, errors.New(problems[0])
	case len(problems) > 0 && wish != "" && wish != kernelsOff:
		return nil, nil, fmt.Errorf("%s; kernels=%s computes with XLA's own convolutions", strings.Join(problems, "; "),
			kernelsOff)
	case len(problems) > 0:
		return nil, nil, fmt.Errorf("%s; certspec backend install fetches a plugin that works", strings.Join(problems,
			"; "))
	}
	device := ""
	if c.device != "" {
		device = " for " + c.device
	}
	return nil, nil, fmt.Errorf("no XLA plugin%s found in %s; certspec backend install fetches one for the CPU",
		device, strings.Join(searchedFolders(), ", "))
}
