package feedforward

import (
	"sync"

	"github.com/certspec/certspec/internal/feedforward/kernel"
)

// packing is the weights of a convolution in tiles of four rows, a list for each group, made when they are first
// asked for: those of forward and absolute rows are channels, those of backward rows are places in the kernel.
type packing struct {
	once  sync.Once
	tiles [][][kernel.TileRows]float64
}

func (c *convolution) pack(p *packing) [][][kernel.TileRows]float64 {
	p.once.Do(func() {
		patch, out := c.patch(), c.outC/c.Groups
		for g := range c.Groups {
			w := c.w[g*out*patch : (g+1)*out*patch]
			switch p {
			case &c.forward:
				p.tiles = append(p.tiles, kernel.PackRows(out, patch, w, false))
			case &c.absolute:
				p.tiles = append(p.tiles, kernel.PackRows(out, patch, absolute(w), false))
			default:
				p.tiles = append(p.tiles, kernel.PackRows(patch, out, w, true))
			}
		}
	})
	return p.tiles
}
