//go:build amd64 && goexperiment.simd

package main

import (
	"bufio"
	"debug/elf"
	"debug/gosym"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ours begins the names of the program's own packages, after the module's.
const ours = "github.com/certspec/certspec/"

// vectorKernels are packages whose innermost loops take wide registers.
var vectorKernels = []string{"augment", "internal/calib/mip", "internal/feedforward/kernel", "internal/intnet",
	"internal/spectral/fourier", "rs/noise"}

// The compiler writes some instructions in the encoding of SSE, which leaves the upper part of a wide register as it
// is: between vector instructions Intel's processors wait for it. In the innermost loops of our vector kernels none
// may stand; outside of them it costs a few cycles a call.
func TestNoLegacyVectorsInLoops(t *testing.T) {
	objdump, err := exec.LookPath("objdump")
	if err != nil {
		t.Skip("without objdump (binutils) the program cannot be disassembled")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	table, found := functions(t, program), map[string]int{}
	for f, all := range disassembled(t, objdump, program, table) {
		for _, loop := range loopsIn(f, all) {
			calls := func(i instruction) bool { return i.calls(table) }
			if !slices.ContainsFunc(loop, instruction.wide) || slices.ContainsFunc(loop, calls) {
				continue
			}
			found[strings.TrimPrefix(f.PackageName(), ours)]++
			if k := slices.IndexFunc(loop, instruction.legacy); k >= 0 {
				file, line, _ := table.PCToLine(loop[k].at)
				t.Errorf("%s: %s:%d: %s %s stands between wide instructions of a loop", f.Name, file, line, loop[k].name,
					loop[k].operands)
			}
		}
	}
	t.Logf("loops with wide registers: %v", found)
	for _, name := range vectorKernels {
		if found[name] == 0 {
			t.Errorf("no loop of %s has wide registers; expected its kernels there", name)
		}
	}
}

func functions(t *testing.T, program string) *gosym.Table {
	t.Helper()
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := file.Section(".gopclntab").Data()
	if err != nil {
		t.Fatal(err)
	}
	const known = ours + "cmd/certspec.functions"
	at := uint64(reflect.ValueOf(functions).Pointer())
	start := file.Section(".text").Addr // C's code may stand before Go's
	for {
		table, err := gosym.NewTable(nil, gosym.NewLineTable(lines, start))
		if err != nil {
			t.Fatal(err)
		}
		f := table.LookupFunc(known)
		if f == nil {
			t.Fatalf("the program has no function %s", known)
		}
		if f.Entry == at {
			return table
		}
		start += at - f.Entry
	}
}

type instruction struct {
	at             uint64
	name, operands string
}

func (i instruction) wide() bool {
	return strings.Contains(i.operands, "%ymm") || strings.Contains(i.operands, "%zmm")
}

// calls reports a call of a function that comes back.
func (i instruction) calls(table *gosym.Table) bool {
	if !strings.HasPrefix(i.name, "call") {
		return false
	}
	target, _, _ := strings.Cut(i.operands, " ")
	at, err := strconv.ParseUint(strings.TrimPrefix(target, "0x"), 16, 64)
	f := table.PCToFunc(at)
	return err != nil || f == nil || !strings.HasPrefix(f.Name, "runtime.panic")
}

func (i instruction) legacy() bool {
	return strings.Contains(i.operands, "%xmm") && !strings.HasPrefix(i.name, "v") && !strings.HasPrefix(i.name, "{")
}

// disassembled are the program's own functions that have wide registers, with their instructions.
func disassembled(t *testing.T, objdump, program string, table *gosym.Table) iter.Seq2[*gosym.Func, []instruction] {
	from, to := ^uint64(0), uint64(0)
	for _, f := range table.Funcs {
		if strings.HasPrefix(f.Name, ours) {
			from, to = min(from, f.Entry), max(to, f.End)
		}
	}
	dump := exec.Command(objdump, "-d", "--no-show-raw-insn", program, fmt.Sprintf("--start-address=%#x", from),
		fmt.Sprintf("--stop-address=%#x", to))
	return func(yield func(*gosym.Func, []instruction) bool) {
		text, err := dump.StdoutPipe()
		if err == nil {
			err = dump.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		f, all := &table.Funcs[0], []instruction(nil)
		whole := func() {
			if strings.HasPrefix(f.Name, ours) && slices.ContainsFunc(all, instruction.wide) {
				yield(f, all)
			}
		}
		for lines := bufio.NewScanner(text); lines.Scan(); {
			place, rest, is := strings.Cut(lines.Text(), ":\t")
			at, err := strconv.ParseUint(strings.TrimSpace(place), 16, 64)
			if !is || err != nil {
				continue
			}
			if next := table.PCToFunc(at); next != nil && next != f {
				whole()
				f, all = next, nil
			}
			name, operands, _ := strings.Cut(rest, " ")
			all = append(all, instruction{at, name, strings.TrimSpace(operands)})
		}
		whole()
		if err := dump.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

// loopsIn returns what stands between each backward jump of a function and its target, without the loops inside it.
func loopsIn(f *gosym.Func, all []instruction) (loops [][]instruction) {
	type span struct{ from, to int }
	var spans []span
	for to, i := range all {
		target, _, _ := strings.Cut(i.operands, " ")
		address, err := strconv.ParseUint(strings.TrimPrefix(target, "0x"), 16, 64)
		if !strings.HasPrefix(i.name, "j") || err != nil || address < f.Entry || address > i.at {
			continue
		}
		spans = append(spans, span{slices.IndexFunc(all, func(i instruction) bool { return i.at == address }), to})
	}
	for _, s := range spans {
		own := slices.Clone(all[s.from : s.to+1])
		for _, inner := range spans {
			if inner != s && s.from <= inner.from && inner.to <= s.to {
				clear(own[inner.from-s.from : inner.to-s.from+1])
			}
		}
		loops = append(loops, own)
	}
	return loops
}
