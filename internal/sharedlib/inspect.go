// Package sharedlib looks into shared libraries without loading them: the loader of the
// system ends the whole process on some files that are damaged.
package sharedlib

import (
	"debug/elf"
	"debug/macho"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
)

// Inspect reads the headers of a file and tells why it cannot be a shared library for
// this machine that exports the function entryPoint, e.g. "GetPjrtApi" of a what such as
// "PJRT plugin". The error begins with the path.
func Inspect(path, entryPoint, what string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file", path)
	case err != nil:
		return fmt.Errorf("%s: %w", path, errors.Unwrap(err))
	case info.IsDir():
		return fmt.Errorf("%s: is a folder; expected a shared library", path)
	case info.Size() == 0:
		return fmt.Errorf("%s: the file is empty", path)
	}
	inspect := inspectELF
	if runtime.GOOS == "darwin" {
		inspect = inspectMachO
	}
	found, err := inspect(path, entryPoint)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF): // its tables stand at its end
		return fmt.Errorf("%s: truncated, or not a shared library of this system", path)
	case err != nil:
		return fmt.Errorf("%s: not a shared library of this system (%v)", path, err)
	case found.machine != runtime.GOARCH:
		return fmt.Errorf("%s: built for %s; this machine is %s", path, found.machine, runtime.GOARCH)
	case !found.exports:
		return fmt.Errorf("%s: a shared library, but no %s (it does not export %s)", path, what, entryPoint)
	}
	return nil
}

type library struct {
	machine string // as GOARCH has it, where it is known there
	exports bool
}

func inspectELF(path, entryPoint string) (library, error) {
	file, err := elf.Open(path)
	if err != nil {
		return library{}, err
	}
	defer file.Close()
	found := library{machine: map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}[file.Machine]}
	if found.machine == "" {
		found.machine = file.Machine.String()
	}
	symbols, err := file.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return library{}, err
	}
	found.exports = slices.ContainsFunc(symbols, func(s elf.Symbol) bool {
		return s.Name == entryPoint && s.Section != elf.SHN_UNDEF
	})
	return found, nil
}

func inspectMachO(path, entryPoint string) (library, error) {
	var file *macho.File
	if fat, fatErr := macho.OpenFat(path); fatErr == nil {
		defer fat.Close()
		file = fat.Arches[0].File
		for _, arch := range fat.Arches {
			if arch.Cpu == macho.CpuArm64 {
				file = arch.File
			}
		}
	} else {
		var err error
		if file, err = macho.Open(path); err != nil {
			return library{}, err
		}
		defer file.Close()
	}
	found := library{machine: map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}[file.Cpu]}
	if found.machine == "" {
		found.machine = file.Cpu.String()
	}
	if file.Symtab == nil { // stripped down to its export trie, which loading will read
		found.exports = true
		return found, nil
	}
	found.exports = slices.ContainsFunc(file.Symtab.Syms, func(s macho.Symbol) bool {
		return s.Name == "_"+entryPoint && s.Sect != 0
	})
	return found, nil
}
