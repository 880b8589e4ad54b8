// Package former reads what earlier versions wrote on cards and in manifests.
package former

import (
	"fmt"
	"maps"
)

// Method is a method and its options by the names of today, of files that were made before. Their option "revision"
// said whether ACCE-ACT starts as published, without it or 0, or at the exact solution, 1, which is exact-start now.
func Method(name string, options map[string]any) (string, map[string]any) {
	revision, there := options["revision"]
	if !there {
		return name, options
	}
	options = maps.Clone(options)
	delete(options, "revision")
	if (name == "acce-act" || name == "acce-act-star") && fmt.Sprint(revision) == "1" {
		delete(options, "weighted")
		return "exact-start", options
	}
	return name, options
}
