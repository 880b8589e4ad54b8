package host

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Memory is how many bytes this process may still take: what the machine has free, within the limits of its group and
// of its address space; 0: not known.
func Memory() int64 {
	least := int64(0)
	bound := func(bytes int64) {
		if bytes > 0 && (least == 0 || bytes < least) {
			least = bytes
		}
	}
	bound(field("/proc/meminfo", "MemAvailable:") << 10)
	if most := number("/sys/fs/cgroup/memory.max"); most > 0 {
		bound(max(1, most-number("/sys/fs/cgroup/memory.current")+field("/sys/fs/cgroup/memory.stat", "inactive_file")))
	}
	size, data := field("/proc/self/status", "VmSize:")<<10, field("/proc/self/status", "VmData:")<<10
	const limitData = 2
	for resource, used := range map[int]int64{syscall.RLIMIT_AS: size, limitData: data} {
		var limit syscall.Rlimit
		if syscall.Getrlimit(resource, &limit) == nil && limit.Cur < 1<<62 {
			bound(max(1, int64(limit.Cur)-used))
		}
	}
	return least
}

func number(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}

// field is the number behind a word at the beginning of a line.
func field(path, word string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == word {
			n, _ := strconv.ParseInt(words[1], 10, 64)
			return n
		}
	}
	return 0
}
