package spectral

import (
	"cmp"
	"fmt"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/pixel"
)

// ProbeOptions says how images are probed. The zero value is the paper's.
type ProbeOptions struct {
	Epsilon float64 // ℓ2 norm per channel; default DefaultEpsilon
	Seed    uint64  // of the signs
	Shared  bool    // one sign for all channels
	Real    bool    // not rounded to the grid: for noise in real arithmetic
}

// Probed returns a data set whose images have the Probe of a frequency added: on the grid of 8-bit images and unclipped
// (dataset.Images.Offsets), or real (with dataset.Images.Residues). The signs come from Signs, keyed by the id of
// the image. So f and −f give the same set, under the same name.
//
// A norm out of range and a frequency that the images do not have are errors of Load.
func Probed(d *dataset.Dataset, f Frequency, o ProbeOptions) *dataset.Dataset {
	o.Epsilon = cmp.Or(o.Epsilon, DefaultEpsilon)
	if f.V < 0 || f.V == 0 && f.U < 0 {
		f = Frequency{-f.U, -f.V}
	}
	name := fmt.Sprintf("probe=u=%d,v=%d,eps=%g,seed=%d", f.U, f.V, o.Epsilon, o.Seed)
	if o.Shared {
		name += ",shared"
	}
	// each calls add with the probe and the signs of every image.
	each := func(shape pixel.Shape, ids []int, add func(p *Probe, signs int)) error {
		if err := checkGrid(shape, []int{f.U}, []int{f.V}); err != nil {
			return err
		}
		p, err := NewProbe(shape, Canonical(shape, f), o.Epsilon)
		if err != nil {
			return err
		}
		for _, id := range ids {
			signs := Signs(shape, f, o.Seed, uint64(id))
			if o.Shared {
				signs = Shared(signs)
			}
			add(p, signs&(len(p.grid)-1))
		}
		return nil
	}
	change := dataset.Change{Name: name, Offset: func(shape pixel.Shape, ids []int) ([]int16, error) {
		offsets := make([]int16, 0, len(ids)*shape.Len())
		err := each(shape, ids, func(p *Probe, signs int) { offsets = append(offsets, p.grid[signs]...) })
		return offsets, err
	}}
	if o.Real {
		change.Name += ",real"
		change.Residue = func(shape pixel.Shape, ids []int) ([]float32, error) {
			residues := make([]float32, 0, len(ids)*shape.Len())
			err := each(shape, ids, func(p *Probe, signs int) {
				for k, v := range p.real[signs] {
					residues = append(residues, float32(float64(v)-float64(p.grid[signs][k])/pixel.Steps))
				}
			})
			return residues, err
		}
	}
	return d.Changed(change)
}
