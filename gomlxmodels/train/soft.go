package train

import (
	"fmt"

	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
)

// loadSoft reads what is known of the images: the shares of a ledger's noise samples, those that
// choose the class included, in the classes.
func (p *plan) loadSoft() error {
	path := p.options.Soft
	switch {
	case !p.needs.Soft && path != "":
		return fmt.Errorf("train: soft labels (%s), but the method %s takes none", path, p.method.Name())
	case !p.needs.Soft:
		return nil
	case path == "":
		p.warn(fmt.Sprintf("%s learns from the labels: no soft labels were given. Those of its authors are the "+
			"votes of a network trained by Gaussian: "+
			"certspec train --soft takes the ledger that certspec certify makes of it on the same images", p.method.Name()))
		return nil
	}
	l, err := ledgerio.Read(path)
	if err != nil {
		return fmt.Errorf("train: soft labels: %w", err)
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("train: soft labels of %s: "+format, append([]any{path}, args...)...)
	}
	if l.Digest == "" {
		return bad("it is not finished; the command that made it goes on with it")
	}
	k := len(p.run.Classes)
	at := map[int]int{}
	for i, id := range p.images.IDs {
		at[id] = i
	}
	soft := make([][]float32, p.images.Len())
	for looks := range l.Images() {
		i, ours := at[looks[0].Image]
		if !ours {
			continue
		}
		if looks[0].Label != p.images.Labels[i] {
			return bad("image %d has the label %d there and %d in %s: it is of other images", looks[0].Image,
				looks[0].Label, p.images.Labels[i], p.images.Name)
		}
		soft[i] = make([]float32, k)
		total := 0
		for _, look := range looks {
			for _, c := range look.Counts {
				if c.Class < 0 || int(c.Class) >= k {
					return bad("image %d has noise samples in class %d; expected 0 to %d", look.Image, c.Class, k-1)
				}
				soft[i][c.Class] += float32(c.N)
				total += c.N
			}
		}
		if total == 0 {
			return bad("image %d has no noise sample in any class", looks[0].Image)
		}
		for c := range soft[i] {
			soft[i][c] /= float32(total)
		}
	}
	missing := 0
	for _, one := range soft {
		if one == nil {
			missing++
		}
	}
	if missing > 0 {
		return bad("it has %d of the %d images of %s; expected all", p.images.Len()-missing, p.images.Len(),
			p.images.Name)
	}
	p.soft, p.run.Recipe.Soft = soft, l.Digest
	return nil
}

// softLabels are what is known of some images, one after the other; nil where the method does not take it.
func (p *plan) softLabels(members []int) []float32 {
	if !p.needs.Soft {
		return nil
	}
	k := len(p.images.Classes)
	out := make([]float32, len(members)*k)
	for i, member := range members {
		if p.soft == nil {
			out[i*k+p.images.Labels[member]] = 1
		} else {
			copy(out[i*k:], p.soft[member])
		}
	}
	return out
}

// draws are the random numbers of some images in an epoch.
func (p *plan) draws(epoch int, members []int) []float32 {
	n := p.needs.Draws
	out := make([]float32, 0, len(members)*n)
	for _, member := range members {
		random := stream(p.run.Recipe.Seed, drawStream, epoch, member, 0)
		for range n {
			out = append(out, random.Float32())
		}
	}
	return out
}
