//go:build amd64 && goexperiment.simd

package main

import (
	"bufio"
	"debug/elf"
	"debug/gosym"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

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
	table := functions(t, program)
	for _, dir := range []string{"augment", "corrupt", "feedforward", "internal/calib/mip", "internal/spectral/fourier",
		"rs/noise", "spectral"} {
		from, to := ^uint64(0), uint64(0)
		for _, f := range table.Funcs {
			if name := "github.com/certspec/certspec/" + dir + "."; strings.HasPrefix(f.Name, name) {
				from, to = min(from, f.Entry), max(to, f.End)
			}
		}
		if from >= to {
			t.Errorf("no function of %s is in the program", dir)
			continue
		}
		dump := exec.Command(objdump, "-d", "--no-show-raw-insn", program,
			fmt.Sprintf("--start-address=%#x", from), fmt.Sprintf("--stop-address=%#x", to))
		out, err := dump.Output()
		if err != nil {
			t.Fatal(err)
		}
		wide := 0
		for _, loop := range loopsIn(table, string(out)) {
			legacy := slices.IndexFunc(loop, instruction.legacy)
			if !slices.ContainsFunc(loop, instruction.wide) || slices.ContainsFunc(loop, func(i instruction) bool { return i.calls(table) }) {
				continue
			}
			wide++
			if legacy >= 0 {
				file, line, f := table.PCToLine(loop[legacy].at)
				t.Errorf("%s: %s:%d: %s %s stands between wide instructions of a loop", f.Name, file, line,
					loop[legacy].name, loop[legacy].operands)
			}
		}
		t.Logf("%s: %d loops with wide registers", dir, wide)
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
	const known = "github.com/certspec/certspec/cmd/certspec.functions"
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

var wideRegister = regexp.MustCompile(`%[yz]mm`)

func (i instruction) wide() bool { return wideRegister.MatchString(i.operands) }

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

// loopsIn returns what stands between each backward jump and its target, without the loops inside it.
func loopsIn(table *gosym.Table, text string) (loops [][]instruction) {
	of := map[*gosym.Func][]instruction{}
	form := regexp.MustCompile(`^\s+([0-9a-f]+):\t(\S+)\s*(.*)`)
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if m := form.FindStringSubmatch(lines.Text()); m != nil {
			at, _ := strconv.ParseUint(m[1], 16, 64)
			f := table.PCToFunc(at)
			of[f] = append(of[f], instruction{at: at, name: m[2], operands: m[3]})
		}
	}
	for f, all := range of {
		if f == nil || !strings.HasPrefix(f.Name, "github.com/certspec/certspec/") {
			continue
		}
		type span struct{ from, to int }
		var spans []span
		for to, i := range all {
			target, _, _ := strings.Cut(i.operands, " ")
			address, err := strconv.ParseUint(strings.TrimPrefix(target, "0x"), 16, 64)
			if !strings.HasPrefix(i.name, "j") || err != nil || address < f.Entry || address > i.at {
				continue
			}
			from := slices.IndexFunc(all, func(i instruction) bool { return i.at == address })
			spans = append(spans, span{from: from, to: to})
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
	}
	return loops
}
