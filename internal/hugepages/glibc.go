//go:build cgo && linux

package hugepages

/*
#include <stdlib.h>

// Other C libraries lack this function of glibc.
extern const char *gnu_get_libc_version(void) __attribute__((weak));

// since_2_35 reports a glibc that knows glibc.malloc.hugetlb.
static int since_2_35(void) {
	if (gnu_get_libc_version == NULL) return 0;
	char *rest;
	long major = strtol(gnu_get_libc_version(), &rest, 10);
	return major > 2 || (major == 2 && *rest == '.' && strtol(rest + 1, NULL, 10) >= 35);
}
*/
import "C"

import (
	"os"
	"syscall"
)

func glibc() bool { return C.since_2_35() != 0 }

// again returns where the program cannot be started: it then runs as it is.
func again(environment []string) {
	if path, err := os.Executable(); err == nil {
		_ = syscall.Exec(path, os.Args, environment)
	}
}
