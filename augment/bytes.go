package augment

import (
	"sync"

	"github.com/certspec/certspec/pixel"
)

// byteWorkspace is the memory that augmentations of bytes work in.
type byteWorkspace struct {
	clean, now, next []uint8
	sum              []float64
}

var byteWorkspaces = sync.Pool{New: func() any { return &byteWorkspace{} }}

// fit gives it the size of an image; what is in it means nothing then.
func (r *byteWorkspace) fit(shape pixel.Shape) {
	n := shape.Len()
	if len(r.sum) != n {
		*r = byteWorkspace{make([]uint8, n), make([]uint8, n), make([]uint8, n), make([]float64, n)}
	}
}
