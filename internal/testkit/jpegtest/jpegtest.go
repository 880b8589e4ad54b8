// Package jpegtest makes JPEG files of drawn coefficients, of kinds that common encoders do not write.
package jpegtest

import (
	"math/bits"
	"math/rand/v2"
)

// Picture says what file to make.
type Picture struct {
	Height, Width int
	Sampling      [][2]int // horizontal and vertical, by component
	IDs           []byte   // nil: 1, 2, 3
	Head          []byte   // segments before the frame, as of JFIF or Adobe
	Progressive   bool
	Separate      bool // a scan for each component where one could have all
	Restart       int  // units between restart markers; 0: none
	Seed          uint64
}

// Names of segments for Picture.Head.
const (
	JFIF  = "\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
	Adobe = "\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00" // the transform follows, one byte
)

var zigzag = func() (order [64]int) {
	k := 0
	for sum := range 15 {
		for i := range sum + 1 {
			row, column := i, sum-i
			if sum%2 == 1 {
				row, column = column, row
			}
			if row, column = column, row; row < 8 && column < 8 {
				order[k] = 8*row + column
				k++
			}
		}
	}
	return order
}()

type component struct {
	id, h, v      int
	width, height int // in blocks, as a scan of its own has them
	stride        int // in blocks, as units have them
	blocks        [][64]int
}

type writer struct {
	out    []byte
	word   uint64
	n      int
	p      *Picture
	maxH   int
	maxV   int
	parts  []*component
	eob    int
	waits  []int // bits of correction that wait for the run
	inDC   bool
	dcLast []int
}

// Encode makes the file; the same Picture gives the same bytes.
func (p Picture) Encode() []byte {
	rng := rand.New(rand.NewPCG(p.Seed, 1))
	w := &writer{p: &p, out: append([]byte{0xff, 0xd8}, p.Head...)}
	for _, s := range p.Sampling {
		w.maxH, w.maxV = max(w.maxH, s[0]), max(w.maxV, s[1])
	}
	var quant [64]int
	for k := range quant {
		quant[k] = 1 + rng.IntN(12+k/2)
	}
	table := []byte{0}
	for _, q := range quant {
		table = append(table, byte(q))
	}
	w.segment(0xdb, table)
	frame := []byte{8, byte(p.Height >> 8), byte(p.Height), byte(p.Width >> 8), byte(p.Width), byte(len(p.Sampling))}
	for i, s := range p.Sampling {
		c := &component{id: i + 1, h: s[0], v: s[1]}
		if p.IDs != nil {
			c.id = int(p.IDs[i])
		}
		frame = append(frame, byte(c.id), byte(c.h<<4|c.v), 0)
		ceil := func(a, b int) int { return (a + b - 1) / b }
		c.width, c.height = ceil(ceil(p.Width*c.h, w.maxH), 8), ceil(ceil(p.Height*c.v, w.maxV), 8)
		c.stride = ceil(p.Width, 8*w.maxH) * c.h
		c.blocks = make([][64]int, c.stride*ceil(p.Height, 8*w.maxV)*c.v)
		for b := range c.blocks {
			c.blocks[b][0] = (rng.IntN(1600) - 800) / quant[0]
			for k := 1; k < 64; k += 1 + rng.IntN(1+k/2) {
				c.blocks[b][k] = int(rng.NormFloat64() * 120 / float64(k+1) / float64(quant[k]) * 3)
			}
			if b%5 == 3 { // an empty block
				c.blocks[b] = [64]int{c.blocks[b][0]}
			}
		}
		w.parts = append(w.parts, c)
	}
	kind := byte(0xc0)
	if p.Progressive {
		kind = 0xc2
	}
	w.segment(kind, frame)
	for class, n := range []int{16, 256} {
		body := make([]byte, 17)
		body[0] = byte(class << 4)
		body[8], body[11], body[16] = byte(min(n, 100)), byte(min(max(n-100, 0), 100)), byte(max(n-200, 0))
		for v := range n {
			body = append(body, byte(v))
		}
		w.segment(0xc4, body)
	}
	if p.Restart > 0 {
		w.segment(0xdd, []byte{byte(p.Restart >> 8), byte(p.Restart)})
	}
	units := 0
	for _, c := range w.parts {
		units += c.h * c.v
	}
	groups := [][]*component{w.parts}
	if p.Separate || units > 10 {
		groups = nil
		for _, c := range w.parts {
			groups = append(groups, []*component{c})
		}
	}
	if !p.Progressive {
		for _, g := range groups {
			w.scan(g, 0, 63, 0, 0)
		}
	} else {
		for _, g := range groups {
			w.scan(g, 0, 0, 0, 1)
		}
		for _, c := range w.parts {
			w.scan([]*component{c}, 1, 5, 0, 2)
		}
		for _, c := range w.parts {
			w.scan([]*component{c}, 6, 63, 0, 2)
			w.scan([]*component{c}, 1, 63, 2, 1)
		}
		for _, g := range groups {
			w.scan(g, 0, 0, 1, 0)
		}
		for _, c := range w.parts {
			w.scan([]*component{c}, 1, 63, 1, 0)
		}
	}
	return append(w.out, 0xff, 0xd9)
}

func (w *writer) segment(marker byte, body []byte) {
	n := len(body) + 2
	w.out = append(append(w.out, 0xff, marker, byte(n>>8), byte(n)), body...)
}

func (w *writer) scan(parts []*component, first, last, high, low int) {
	body := []byte{byte(len(parts))}
	for _, c := range parts {
		body = append(body, byte(c.id), 0)
	}
	w.segment(0xda, append(body, byte(first), byte(last), byte(high<<4|low)))
	w.dcLast = make([]int, len(parts))
	unit := 0
	next := func() {
		if w.p.Restart > 0 && unit > 0 && unit%w.p.Restart == 0 {
			w.flush()
			w.out = append(w.out, 0xff, byte(0xd0+(unit/w.p.Restart-1)%8))
			clear(w.dcLast)
		}
		unit++
	}
	if len(parts) == 1 {
		c := parts[0]
		for y := range c.height {
			for x := range c.width {
				next()
				w.block(0, &c.blocks[y*c.stride+x], first, last, high, low)
			}
		}
	} else {
		c := parts[0]
		columns, rows := c.stride/c.h, len(c.blocks)/c.stride/c.v
		for y := range rows {
			for x := range columns {
				next()
				for i, c := range parts {
					for v := range c.v {
						for h := range c.h {
							w.block(i, &c.blocks[(y*c.v+v)*c.stride+x*c.h+h], first, last, high, low)
						}
					}
				}
			}
		}
	}
	w.flush()
}

func (w *writer) put(v, n int) {
	w.word = w.word<<n | uint64(v)&(1<<n-1)
	for w.n += n; w.n >= 8; w.n -= 8 {
		b := byte(w.word >> (w.n - 8))
		if w.out = append(w.out, b); b == 0xff {
			w.out = append(w.out, 0)
		}
	}
}

// flush ends a run and fills the last byte with ones.
func (w *writer) flush() {
	w.endRun()
	if w.n > 0 {
		w.put(0xff, 8-w.n)
	}
}

// symbol writes a code of the tables: the first 100 have 8 bits, the next 100 have 11, and the others 16.
func (w *writer) symbol(s int) {
	switch {
	case s < 100:
		w.put(s, 8)
	case s < 200:
		w.put(100<<3+s-100, 11)
	default:
		w.put((100<<3+100)<<5+s-200, 16)
	}
}

// number writes the bits of a coefficient of some size.
func (w *writer) number(v, size int) {
	if v < 0 {
		v += 1<<size - 1
	}
	w.put(v, size)
}

func size(v int) int { return bits.Len(uint(max(v, -v))) }

// shift drops bits: of the mean rounding down, of others towards 0.
func shift(v, low int) int {
	if v < 0 {
		return -(-v >> low)
	}
	return v >> low
}

func (w *writer) block(part int, b *[64]int, first, last, high, low int) {
	if first == 0 {
		if high > 0 {
			w.put(b[0]>>low&1, 1)
			return
		}
		v := b[0] >> low
		difference := v - w.dcLast[part]
		w.dcLast[part] = v
		w.symbol(size(difference))
		w.number(difference, size(difference))
		if last == 0 {
			return
		}
		first = 1
	}
	if high > 0 {
		w.refine(b, first, last, low)
		return
	}
	run := 0
	for k := first; k <= last; k++ {
		v := shift(b[k], low)
		if v == 0 {
			run++
			continue
		}
		w.endRun()
		for ; run > 15; run -= 16 {
			w.symbol(0xf0)
		}
		w.symbol(run<<4 | size(v))
		w.number(v, size(v))
		run = 0
	}
	switch {
	case run > 0 && w.p.Progressive:
		w.eob++
	case run > 0:
		w.symbol(0)
	}
	if w.eob == 300 {
		w.endRun()
	}
}

// endRun writes the run of blocks without further coefficients, and the bits that wait.
func (w *writer) endRun() {
	if w.eob > 0 {
		n := bits.Len(uint(w.eob)) - 1
		w.symbol(n << 4)
		w.put(w.eob, n)
		w.eob = 0
	}
	for _, bit := range w.waits {
		w.put(bit, 1)
	}
	w.waits = nil
}

func (w *writer) refine(b *[64]int, first, last, low int) {
	newest := 0 // the last coefficient that becomes other than 0
	for k := first; k <= last; k++ {
		if v := shift(b[k], low); v == 1 || v == -1 {
			newest = k
		}
	}
	var corrections []int
	run := 0
	for k := first; k <= last; k++ {
		v := shift(b[k], low)
		if v == 0 {
			run++
			continue
		}
		for run > 15 && k <= newest {
			w.endRun()
			w.symbol(0xf0)
			run -= 16
			for _, bit := range corrections {
				w.put(bit, 1)
			}
			corrections = nil
		}
		if v > 1 || v < -1 {
			corrections = append(corrections, max(v, -v)&1)
			continue
		}
		w.endRun()
		w.symbol(run<<4 | 1)
		w.put(max(v, 0), 1)
		for _, bit := range corrections {
			w.put(bit, 1)
		}
		corrections, run = nil, 0
	}
	if run > 0 || corrections != nil {
		w.eob++
		w.waits = append(w.waits, corrections...)
		if w.eob == 300 {
			w.endRun()
		}
	}
}
