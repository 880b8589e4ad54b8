package torch

import (
	"errors"
	"fmt"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
)

// Shortcuts says what the shortcuts of a residual network are where size and width change (He et al.
// 2016, section 4.2).
type Shortcuts string

const (
	ConvolvedShortcuts Shortcuts = "convolved" // option B, also "": a 1×1 convolution and a normalisation, with weights
	// PaddedShortcuts are option A: every second pixel, in the middle of the new channels, between
	// zeros; no weights
	PaddedShortcuts Shortcuts = "padded"
)

// fill adds the weights that make of a convolution and a normalisation what padding with zeros is: a
// one from every old channel to its place among the new ones, and a normalisation that divides by
// √(variance + ε) = 1. In float32 the values pass through unchanged.
func (s Shortcuts) fill(byName map[string]modelfile.Tensor, places []place) error {
	switch s {
	case "", ConvolvedShortcuts:
		return nil
	case PaddedShortcuts:
	default:
		return fmt.Errorf("shortcuts %q; expected %s or %s", s, ConvolvedShortcuts, PaddedShortcuts)
	}
	filled := false
	for _, p := range places {
		_, kind, found := strings.Cut(p.theirs, ".downsample.")
		if !found {
			continue
		}
		if t, there := byName[p.theirs]; there {
			return fmt.Errorf("the file has weights in its shortcuts, such as %q; import them as %s", t.Name,
				ConvolvedShortcuts)
		}
		filled = true
		values := make([]float32, size(p.shape))
		switch kind {
		case "0.weight": // [out, in, 1, 1]
			out, in := p.shape[0], p.shape[1]
			for c := range in {
				values[((out-in)/2+c)*in+c] = 1
			}
		case "1.weight":
			for i := range values {
				values[i] = 1
			}
		case "1.running_var":
			for i := range values {
				values[i] = 1 - netparts.NormEpsilon
			}
		}
		byName[p.theirs] = modelfile.Tensor{Name: p.theirs, Shape: p.shape, Values: values}
	}
	if !filled {
		return errors.New("this network has no shortcuts that could be padded")
	}
	return nil
}

func size(shape []int) int {
	n := 1
	for _, side := range shape {
		n *= side
	}
	return n
}
