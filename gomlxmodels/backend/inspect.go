package backend

import (
	"debug/elf"
	"debug/macho"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
)

// entryPoint is the one function that a PJRT plugin exports (pjrt_c_api.h).
const entryPoint = "GetPjrtApi"

// inspectPlugin reads the headers of a file, without loading it, and tells why it cannot
// be a PJRT plugin for this platform.
func inspectPlugin(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("XLA plugin %s: no such file", path)
	case err != nil:
		return fmt.Errorf("XLA plugin: %w", err)
	case info.IsDir():
		return fmt.Errorf("XLA plugin %s: is a folder; expected a shared library", path)
	case info.Size() == 0:
		return fmt.Errorf("XLA plugin %s: the file is empty", path)
	}
	var machine string
	var exports bool
	switch runtime.GOOS {
	case "darwin":
		machine, exports, err = inspectMachO(path)
	default:
		machine, exports, err = inspectELF(path)
	}
	switch {
	case err != nil:
		return fmt.Errorf("XLA plugin %s: not a shared library of this system (%v)", path, err)
	case machine != runtime.GOARCH:
		return fmt.Errorf("XLA plugin %s: built for %s; this machine is %s", path, machine, runtime.GOARCH)
	case !exports:
		return fmt.Errorf("XLA plugin %s: a shared library, but no PJRT plugin (it does not export %s)", path, entryPoint)
	}
	return nil
}

func inspectELF(path string) (machine string, exports bool, err error) {
	file, err := elf.Open(path)
	if err != nil {
		return "", false, err
	}
	defer file.Close()
	machine = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}[file.Machine]
	if machine == "" {
		machine = file.Machine.String()
	}
	symbols, err := file.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return "", false, err
	}
	exports = slices.ContainsFunc(symbols, func(s elf.Symbol) bool {
		return s.Name == entryPoint && s.Section != elf.SHN_UNDEF
	})
	return machine, exports, nil
}

func inspectMachO(path string) (machine string, exports bool, err error) {
	var file *macho.File
	if fat, fatErr := macho.OpenFat(path); fatErr == nil {
		defer fat.Close()
		file = fat.Arches[0].File
		for _, arch := range fat.Arches {
			if arch.Cpu == macho.CpuArm64 {
				file = arch.File
			}
		}
	} else if file, err = macho.Open(path); err != nil {
		return "", false, err
	} else {
		defer file.Close()
	}
	machine = map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}[file.Cpu]
	if machine == "" {
		machine = file.Cpu.String()
	}
	if file.Symtab == nil { // stripped down to its export trie, which loading will read
		return machine, true, nil
	}
	exports = slices.ContainsFunc(file.Symtab.Syms, func(s macho.Symbol) bool {
		return s.Name == "_"+entryPoint && s.Sect != 0
	})
	return machine, exports, nil
}
