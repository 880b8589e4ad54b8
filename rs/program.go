package rs

import (
	"runtime/debug"

	"github.com/certspec/certspec/rs/ledger"
)

// program names this module's version, and the commit where the module is the one that is built.
func program() ledger.Program {
	const module = "github.com/certspec/certspec"
	p := ledger.Program{Version: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return p
	}
	if info.Main.Path == module {
		p.Version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				p.Commit = s.Value
			}
		}
	}
	for _, d := range info.Deps {
		if d.Path == module {
			p.Version = d.Version
		}
	}
	if p.Version == "" || p.Version == "(devel)" {
		p.Version = "devel"
	}
	return p
}
