//go:build cgo && !noxla && ((linux && (amd64 || arm64)) || (darwin && arm64))

package xlakernels

/*
#cgo CFLAGS: -O3 -std=gnu11
#cgo linux LDFLAGS: -ldl -lm
#include <stdlib.h>
#include "kernels.h"
#include "plugin.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"
	"unsafe"

	"github.com/gomlx/go-xla/pjrt"
)

// Plugin is a plugin whose programs use kernels.
type Plugin struct {
	Name string // by which go-xla knows it
	Form string // of the kernels

	form    int
	mu      sync.Mutex
	counts  Counts
	checked map[convolution]error // samples that were compared with direct sums
}

// loaded are the plugins by the slot that C knows.
var (
	loadedMu sync.Mutex
	loaded   []*Plugin
)

// forms are the kernels that this processor has instructions for: those that sum directly in
// float32 first, the fastest before the others, then those by Winograd's minimal filtering, and
// those that round the factors to bfloat16.
func forms() []string {
	var list [C.max_forms]*C.form
	names := make([]string, C.kernel_forms(&list[0]))
	for i := range names {
		names[i] = C.GoString(list[i].name)
	}
	return names
}

// Load makes XLA's plugin for the CPU at this absolute path known to go-xla a second time, with
// kernels of a form: one of forms, "winograd" or "bf16" for the best of that kind, or the first
// where form is empty. The plugin must have been tried before: a file that is none may crash the
// process.
func Load(path, form string) (*Plugin, error) {
	all := forms()
	number, err := choose(all, form)
	if err != nil {
		return nil, err
	}
	p := &Plugin{Name: path + ".kernels-" + all[number], Form: all[number], form: number,
		checked: map[convolution]error{}}
	p.counts.Native = map[string]int{}

	loadedMu.Lock()
	defer loadedMu.Unlock()
	for _, known := range loaded {
		if known.Name == p.Name {
			return known, nil
		}
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var slot C.int
	var why [512]C.char
	table := C.load_plugin(name, &slot, &why[0], C.int(len(why)))
	if table == nil {
		return nil, fmt.Errorf("XLA plugin %s takes no kernels: %s", path, C.GoString(&why[0]))
	}
	loaded = append(loaded, p) // by slot, also where go-xla refuses it
	if err := pjrt.RegisterPreloadedPlugin(p.Name, uintptr(table)); err != nil {
		p.Name = "" // not to be found again
		return nil, fmt.Errorf("XLA plugin %s takes no kernels: %w", path, err)
	}
	return p, nil
}

// choose finds a form among those of a processor.
func choose(all []string, form string) (int, error) {
	if len(all) == 0 {
		return 0, errors.New("this processor has neither AVX-512 nor AVX2")
	}
	for i, name := range all {
		if form == "" || form == name || strings.HasSuffix(name, "-"+form) {
			return i, nil
		}
	}
	if strings.HasSuffix(form, bf16) {
		return 0, fmt.Errorf("these kernels need a processor with the flag avx512_bf16 (VDPBF16PS), and this one "+
			"lacks it; kernels=%s computes in float32, as another engine: "+
			"what was begun in bfloat16 cannot go on with it", all[0])
	}
	return 0, fmt.Errorf("this processor has no kernels %q; it has %s", form, strings.Join(all, ", "))
}

const bf16 = "bf16"

// Counts the convolutions so far, by what became of them.
func (p *Plugin) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Counts{Replaced: p.counts.Replaced, Native: maps.Clone(p.counts.Native)}
}

func bySlot(slot C.int) *Plugin {
	loadedMu.Lock()
	defer loadedMu.Unlock()
	return loaded[slot]
}

// allowed is the rounding of sums in float32 in units of 2⁻²⁴ of the sum of the absolute products;
// 2 to 5 are common. Kernels in bfloat16 must agree bit for bit with an emulation in C.
const allowed = 32

// accept compares the kernels with direct sums for convolutions like c.
func (p *Plugin) accept(c convolution) error {
	s := c.sample()
	err, known := p.checked[s]
	if !known {
		if difference := check(p.form, s); !(difference <= allowed) {
			err = fmt.Errorf("kernel of %d×%d for %d and %d channels is wrong by %.3g roundings", s.kernelHeight,
				s.kernelWidth, s.channels, s.features, difference)
		}
		p.checked[s] = err
	}
	return err
}

func check(form int, c convolution) float64 {
	var list [C.max_forms]*C.form
	if form >= int(C.kernel_forms(&list[0])) {
		return math.NaN()
	}
	return float64(C.kernel_check(list[form], C.geometry{
		kind: C.int(c.kind), stride: C.int(c.stride), dilation: C.int(c.dilation), top: C.int(c.top),
		left: C.int(c.left),
		n:    C.int(c.n), height: C.int(c.height), width: C.int(c.width), channels: C.int(c.channels),
		kernel_height: C.int(c.kernelHeight), kernel_width: C.int(c.kernelWidth),
		out_height: C.int(c.outHeight), out_width: C.int(c.outWidth), features: C.int(c.features),
	}))
}

// certspecRewrite gives the program that is compiled in the place of this one, or nil.
//
//export certspecRewrite
func certspecRewrite(slot C.int, code *C.char, size C.size_t, newSize *C.size_t, calls *C.int) *C.char {
	if size > math.MaxInt32 {
		return nil
	}
	p := bySlot(slot)
	p.mu.Lock()
	defer p.mu.Unlock()
	text, replaced := replace(C.GoStringN(code, C.int(size)), p.form, p.accept,
		func(reason string) { p.counts.Native[reason]++ })
	if replaced == 0 {
		return nil
	}
	p.counts.Replaced += replaced
	*newSize, *calls = C.size_t(len(text)), C.int(replaced)
	return C.CString(text)
}

// certspecRefused is told that XLA refuses a program with calls, and compiles the original.
//
//export certspecRefused
func certspecRefused(slot, calls C.int, message *C.char, size C.size_t) {
	text, _, _ := strings.Cut(C.GoStringN(message, C.int(min(size, 300))), "\n")
	p := bySlot(slot)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Replaced -= int(calls)
	p.counts.Native["XLA refuses the program: "+text] += int(calls)
}
