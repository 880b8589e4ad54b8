package jpeg

// zigzag is the natural place of a coefficient, by its place in the file; the order goes on for
// runs that leave the block.
var zigzag = [64]uint8{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
}

// scan is a pass through some components.
type scan struct {
	*decoder
	components    []*component
	first, last   int // coefficients, by their places in the file
	high, low     int // of successive approximation
	eob           int // blocks that an end-of-band run still covers
	decodeBlock   func(c *component, block int)
	untilRestart  int
	restartNumber byte
}

func (d *decoder) scan(body []byte) error {
	if d.components == nil {
		return d.errorf("a scan before the frame")
	}
	if len(body) < 1 || len(body) != 4+2*int(body[0]) || body[0] < 1 || int(body[0]) > len(d.components) {
		return d.errorf("the head of a scan has %d bytes", len(body))
	}
	if !d.begun {
		d.begin()
	}
	n := int(body[0])
	tail := body[1+2*n:]
	s := &scan{decoder: d, first: int(tail[0]), last: int(tail[1]), high: int(tail[2] >> 4), low: int(tail[2] & 15)}
	blocks, at := 0, -1
	for i := range n {
		place := -1
		for k := range d.components {
			if d.components[k].id == body[1+2*i] {
				place = k
			}
		}
		if place <= at {
			return d.errorf("component %d of a scan is unknown, or out of order", body[1+2*i])
		}
		at = place
		c := &d.components[place]
		c.dcTable, c.acTable = body[2+2*i]>>4, body[2+2*i]&15
		if c.dcTable > 3 || c.acTable > 3 {
			return d.errorf("component %d is coded by the Huffman tables %d and %d; expected 0 to 3", c.id, c.dcTable,
				c.acTable)
		}
		if c.quant == nil {
			if c.quant = d.quant[c.table]; c.quant == nil {
				return d.errorf("component %d has no table of quantisation", c.id)
			}
		}
		c.predicted = 0
		blocks += c.h * c.v
		s.components = append(s.components, c)
	}
	if n > 1 && blocks > 10 {
		return d.errorf("%d blocks in a unit; expected at most 10", blocks)
	}
	if err := s.prepare(); err != nil {
		return err
	}
	return s.run()
}

// prepare checks what the scan says of itself, and chooses how its blocks are decoded.
func (s *scan) prepare() error {
	dc, ac := s.first == 0, s.last > 0
	if !s.progressive {
		if s.first != 0 || s.last != 63 || s.high != 0 || s.low != 0 {
			return s.errorf("a sequential scan of the coefficients %d to %d, bits %d to %d; expected 0 to 63, bits 0",
				s.first, s.last, s.high, s.low)
		}
		s.decodeBlock = s.sequential
	} else {
		if s.first > s.last || s.last > 63 || dc && ac || !dc && len(s.components) > 1 || s.high != 0 &&
			s.low != s.high-1 || s.low > 13 {
			return s.errorf("a progressive scan of the coefficients %d to %d, bits %d to %d, of %d components", s.first,
				s.last, s.high, s.low, len(s.components))
		}
		s.decodeBlock = [2][2]func(*component, int){{s.acFirst, s.acRefine},
			{s.dcFirst, s.dcRefine}}[number(dc)][number(s.high > 0)]
	}
	for _, c := range s.components {
		switch {
		case !s.progressive && c.scanned:
			return s.errorf("component %d is scanned twice", c.id)
		case s.progressive && !dc && c.known[0] < 0:
			return s.errorf("component %d has a scan of details before that of its means", c.id)
		case dc && s.high == 0 && s.tables[0][c.dcTable] == nil, ac && s.tables[1][c.acTable] == nil:
			return s.errorf("component %d has no Huffman table", c.id)
		}
		c.scanned = true
		for k := s.first; s.progressive && k <= s.last; k++ {
			if int(max(c.known[k], 0)) != s.high || s.high == 0 && c.known[k] >= 0 {
				return s.errorf("the scans of component %d do not follow one another", c.id)
			}
			c.known[k] = int8(s.low)
		}
	}
	return nil
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// run decodes all blocks: of one component as many as its samples need, of several in units that go together.
func (s *scan) run() error {
	s.word, s.n, s.untilRestart = 0, 0, s.restart
	if len(s.components) == 1 {
		c := s.components[0]
		rows, columns := ceil(c.height, 8), ceil(c.width, 8)
		for y := range rows {
			for x := range columns {
				if err := s.nextUnit(); err != nil {
					return err
				}
				s.decodeBlock(c, y*c.blocks+x)
				if s.n < 0 {
					return s.short()
				}
			}
		}
		s.n = 0
		return nil
	}
	rows, columns := ceil(s.height, 8*s.maxV), ceil(s.width, 8*s.maxH)
	for y := range rows {
		for x := range columns {
			if err := s.nextUnit(); err != nil {
				return err
			}
			for _, c := range s.components {
				for v := range c.v {
					for h := range c.h {
						s.decodeBlock(c, (y*c.v+v)*c.blocks+x*c.h+h)
					}
				}
			}
			if s.n < 0 {
				return s.short()
			}
		}
	}
	s.n = 0
	return nil
}

// short says why bits are missing.
func (s *scan) short() error {
	if s.at+1 >= len(s.data) && s.n > -1<<19 {
		return s.truncated()
	}
	return s.errorf("the coded picture is damaged")
}

// nextUnit reads a restart marker where one is due.
func (s *scan) nextUnit() error {
	if s.restart == 0 {
		return nil
	}
	if s.untilRestart > 0 {
		s.untilRestart--
		return nil
	}
	s.word, s.n = 0, 0
	marker, err := s.nextMarker()
	if err != nil {
		return err
	}
	if marker != rst0+s.restartNumber {
		return s.errorf("marker %#x in the coded picture; expected the restart marker %#x", marker,
			rst0+s.restartNumber)
	}
	s.restartNumber = (s.restartNumber + 1) & 7
	s.untilRestart, s.eob = s.restart-1, 0
	for _, c := range s.components {
		c.predicted = 0
	}
	return nil
}

// sequential decodes a block and transforms it at once.
func (s *scan) sequential(c *component, block int) {
	b := &s.bits
	var values [64]int32
	c.predicted += b.extend(b.symbol(s.tables[0][c.dcTable]))
	values[0] = int32(int16(c.predicted)) * c.quant[0]
	table, quant := s.tables[1][c.acTable], c.quant
	word, n := b.word, b.n
	flat := true
	for k := 1; k < 64; k++ {
		if n < 32 {
			b.word, b.n = word, n
			b.fill()
			word, n = b.word, b.n
		}
		e := table.look[word>>(64-lookBits)]
		length, value := int(e>>8), byte(e)
		if e == 0 {
			if length, value = table.long(word); length == 0 {
				b.damage()
				return
			}
		}
		word <<= length
		n -= length
		size := value & 15
		if size == 0 {
			if value != 0xf0 {
				break
			}
			k += 15
			continue
		}
		if k += int(value >> 4); k > 63 {
			b.damage()
			return
		}
		v := int32(word >> (64 - size))
		word <<= size
		n -= int(size)
		if v < 1<<(size-1) {
			v += -1<<size + 1
		}
		values[zigzag[k]] = v * quant[k]
		flat = false
	}
	b.word, b.n = word, n
	c.put(block, &values, flat)
}

// put transforms the dequantised coefficients of a block into samples; flat: all but the first are 0.
func (c *component) put(block int, values *[64]int32, flat bool) {
	stride := c.stride()
	out := c.plane[block/c.blocks*8*stride+block%c.blocks*8:]
	if flat {
		v := clip(Descale(values[0], 3) + 128)
		for range 8 {
			row := (*[8]uint8)(out)
			*row = [8]uint8{v, v, v, v, v, v, v, v}
			out = out[min(stride, len(out)):]
		}
		return
	}
	InverseDCT(values)
	Store(out, stride, values)
}

func (s *scan) dcFirst(c *component, block int) {
	c.predicted += s.extend(s.symbol(s.tables[0][c.dcTable]))
	c.coeffs[64*block] = int16(c.predicted << s.low)
}

func (s *scan) dcRefine(c *component, block int) {
	if s.flag() {
		c.coeffs[64*block] |= 1 << s.low
	}
}

func (s *scan) acFirst(c *component, block int) {
	if s.eob > 0 {
		s.eob--
		return
	}
	table, coeffs := s.tables[1][c.acTable], (*[64]int16)(c.coeffs[64*block:])
	for k := s.first; k <= s.last; k++ {
		value := s.symbol(table)
		run, size := int(value>>4), value&15
		if size == 0 {
			if run < 15 {
				s.eob = 1<<run - 1 + int(s.takeSome(run))
				return
			}
			k += 15
			continue
		}
		if k += run; k > s.last {
			s.damage()
			return
		}
		coeffs[zigzag[k]] = int16(s.extend(size) << s.low)
	}
}

func (b *bits) takeSome(k int) int32 {
	if k == 0 {
		return 0
	}
	return b.take(k)
}

// acRefine adds a bit to the coefficients that are not 0, and gives others their first (T.81, G.1.2.3).
func (s *scan) acRefine(c *component, block int) {
	coeffs := (*[64]int16)(c.coeffs[64*block:])
	one := int16(1) << s.low
	k := s.first
	if s.eob == 0 {
		table := s.tables[1][c.acTable]
		for ; k <= s.last; k++ {
			value := s.symbol(table)
			run := int(value >> 4)
			fresh := int16(0)
			switch size := value & 15; {
			case size > 1:
				s.damage()
				return
			case size == 1:
				if fresh = -one; s.flag() {
					fresh = one
				}
			case run < 15:
				s.eob = 1<<run + int(s.takeSome(run))
			}
			if s.eob > 0 {
				break
			}
			if k = s.refine(coeffs, k, run); k > s.last {
				if fresh != 0 {
					s.damage()
				}
				return
			}
			if fresh != 0 {
				coeffs[zigzag[k]] = fresh
			}
		}
	}
	if s.eob > 0 {
		s.refine(coeffs, k, 64)
		s.eob--
	}
}

// refine passes coefficients from k on, until one is 0 after run others that are; those that are not 0 get a bit.
func (s *scan) refine(coeffs *[64]int16, k, run int) int {
	for ; k <= s.last; k++ {
		v := &coeffs[zigzag[k]]
		if *v == 0 {
			if run == 0 {
				return k
			}
			run--
			continue
		}
		if !s.flag() || *v&(1<<s.low) != 0 {
			continue
		}
		if *v > 0 {
			*v += 1 << s.low
		} else {
			*v -= 1 << s.low
		}
	}
	return k
}
