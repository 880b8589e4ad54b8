package augment

import (
	"sync"

	"github.com/certspec/certspec/pixel"
)

// byteRoom is the working room of augmentations of bytes.
type byteRoom struct {
	clean, now, next []uint8
	sum              []float64
}

var byteRooms = sync.Pool{New: func() any { return &byteRoom{} }}

// fit gives the room the size of an image; what is in it means nothing then.
func (r *byteRoom) fit(shape pixel.Shape) {
	n := shape.Len()
	if len(r.sum) != n {
		*r = byteRoom{make([]uint8, n), make([]uint8, n), make([]uint8, n), make([]float64, n)}
	}
}
