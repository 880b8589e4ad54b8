// Package hugepages makes the allocator of glibc keep the memory that is freed, and ask the kernel
// for huge pages. XLA allocates its buffers anew in every step: with glibc's own settings more than
// a quarter of a training's processor time goes into pages that the kernel clears. What is computed
// does not change.
package hugepages

import (
	"os"
	"strings"
)

// Variable, set to "off", leaves all as it is, also where a program has no flag for it.
const Variable = "CERTSPEC_HUGE_PAGES"

const (
	tunables = "GLIBC_TUNABLES"
	huge     = "glibc.malloc.hugetlb=1"
	// keep takes a large buffer from the heap and gives it back to it, not to the kernel. Only the
	// main one of glibc's heaps takes buffers of more than 64 MiB.
	keep = "glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=4294967296:glibc.malloc.arena_max=1"
	thp  = "/sys/kernel/mm/transparent_hugepage/enabled"
)

// environment is the environment that the program needs to run with these settings, where it does not yet have
// them; nil is for leaving all as it is. Glibc reads its settings once, before the program begins.
// enabled is the kernel's word on huge pages.
func environment(list []string, enabled string) []string {
	value := keep
	if strings.Contains(enabled, "[always]") || strings.Contains(enabled, "[madvise]") {
		value = huge + ":" + keep
	}
	var with []string
	for _, pair := range list {
		switch name, v, _ := strings.Cut(pair, "="); name {
		case Variable:
			if v == "off" {
				return nil
			}
		case tunables:
			if strings.Contains(v, "glibc.malloc.hugetlb=") || strings.Contains(v, "glibc.malloc.mmap_threshold=") {
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

// Use starts the program again, in the same process, with these settings, where glibc's allocator
// is at work. It returns where there is nothing to do. Call it first of all: nothing that the
// program has done remains, apart from its standard streams, other files that it inherited, and the
// signals that it was told to ignore.
func Use() {
	if !glibc() {
		return
	}
	enabled, _ := os.ReadFile(thp) // without the file there are no huge pages
	if with := environment(os.Environ(), string(enabled)); with != nil {
		again(with)
	}
}
