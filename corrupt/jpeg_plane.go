package corrupt

import "github.com/certspec/certspec/internal/jpeg"

// jpegPlane is one component, padded to whole blocks of 8×8.
type jpegPlane struct {
	height, width, stride int
	values                []uint8
}

func newJPEGPlane(height, width int) *jpegPlane {
	stride := (width + 7) &^ 7
	return &jpegPlane{height, width, stride, make([]uint8, stride*((height+7)&^7))}
}

func (p *jpegPlane) row(y int) []uint8 { return p.values[y*p.stride:][:p.width] }

// code makes of every block what is left of it after quantisation. The last column and row are repeated to fill blocks.
func (p *jpegPlane) code(table *[64]int32) {
	for y := range p.height {
		line := p.values[y*p.stride:][:p.stride]
		for x := p.width; x < p.stride; x++ {
			line[x] = line[p.width-1]
		}
	}
	for y := p.height; y*p.stride < len(p.values); y++ {
		copy(p.values[y*p.stride:][:p.stride], p.values[(p.height-1)*p.stride:])
	}
	var block [64]int32
	for y := 0; y*p.stride < len(p.values); y += 8 {
		for x := 0; x < p.stride; x += 8 {
			at := p.values[y*p.stride+x:]
			for i := range 8 {
				for k, v := range at[i*p.stride:][:8] {
					block[i*8+k] = int32(v) - 128
				}
			}
			jpeg.ForwardDCT(&block)
			for i, q := range table {
				block[i] = quantised(block[i], q<<3) * q
			}
			jpeg.InverseDCT(&block)
			jpeg.Store(at, p.stride, &block)
		}
	}
}

// quantised is v/q, rounded to the nearest whole number, halves away from 0.
func quantised(v, q int32) int32 {
	if v < 0 {
		return -((q/2 - v) / q)
	}
	return (v + q/2) / q
}

// jpegTable scales a standard table to a quality of 1 to 100.
func jpegTable(standard *[64]int32, quality int) *[64]int32 {
	percent := 200 - 2*int32(quality)
	if quality < 50 {
		percent = 5000 / int32(quality)
	}
	table := &[64]int32{}
	for i, v := range standard {
		table[i] = min(max((v*percent+50)/100, 1), 255)
	}
	return table
}

// The tables of ITU-T T.81, annex K, by rows of the block.
var (
	jpegLuminance = [64]int32{
		16, 11, 10, 16, 24, 40, 51, 61,
		12, 12, 14, 19, 26, 58, 60, 55,
		14, 13, 16, 24, 40, 57, 69, 56,
		14, 17, 22, 29, 51, 87, 80, 62,
		18, 22, 37, 56, 68, 109, 103, 77,
		24, 35, 55, 64, 81, 104, 113, 92,
		49, 64, 78, 87, 103, 121, 120, 101,
		72, 92, 95, 98, 112, 100, 103, 99,
	}
	jpegChrominance = [64]int32{
		17, 18, 24, 47, 99, 99, 99, 99,
		18, 21, 26, 66, 99, 99, 99, 99,
		24, 26, 56, 99, 99, 99, 99, 99,
		47, 66, 99, 99, 99, 99, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99,
	}
)
