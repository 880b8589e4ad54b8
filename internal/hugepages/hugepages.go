// Package hugepages makes the allocator of glibc ask the kernel for huge pages. XLA allocates its buffers anew in every step, and with small pages
// a tenth of a training's processor time goes into their faults. What is computed does not change.
package hugepages

import (
	"os"
	"strings"
)

// Variable, set to "off", keeps small pages.
const Variable = "CERTSPEC_HUGE_PAGES"

const (
	tunables = "GLIBC_TUNABLES"
	setting  = "glibc.malloc.hugetlb"
	thp      = "/sys/kernel/mm/transparent_hugepage/enabled"
)

// environment is what the program needs to run with huge pages, where it does not yet have it; nil is for leaving all as it is. Glibc reads
// its settings once, before the program begins.
func environment(list []string, enabled string) []string {
	if strings.Contains(enabled, "[never]") || !strings.Contains(enabled, "[") {
		return nil
	}
	var with []string
	value := setting + "=1"
	for _, pair := range list {
		switch name, v, _ := strings.Cut(pair, "="); name {
		case Variable:
			if v == "off" {
				return nil
			}
		case tunables:
			if strings.Contains(v, setting) {
				return nil
			}
			if v != "" {
				value = v + ":" + value
			}
			continue
		}
		with = append(with, pair)
	}
	return append(with, tunables+"="+value)
}

// Use starts the program again, in the same process, with huge pages, where the system has them and glibc's allocator is at work. It returns where
// there is nothing to do. Call it first of all: nothing that the program has done remains, apart from its standard streams, other
// files that it inherited, and the signals that it was told to ignore.
func Use() {
	if !glibc() {
		return
	}
	enabled, err := os.ReadFile(thp)
	if err != nil {
		return
	}
	if with := environment(os.Environ(), string(enabled)); with != nil {
		again(with)
	}
}
