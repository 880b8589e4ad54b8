package corrupt

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"

	"github.com/certspec/certspec/internal/corrupt/shared"
	"github.com/certspec/certspec/internal/portable"
)

// Where a product meets a sum, in this package, it is converted to float64 by itself: else a
// compiler may fuse the two, also across statements, which rounds otherwise.

// defaultSet is the name of a base set that has none.
const defaultSet = "images"

func formatSeed(seed uint64) string { return strconv.FormatUint(seed, 10) }

// streamKey identifies the streams of a setting: "CIFAR-10-C|v1|7|fog|sev=3|i=", to which
// the index is added, and "CIFAR-10-F|v1|7|a=0.5|fc=3|eps=8|i=" of CIFAR-F, in the variant of the
// archive with "|archive" before the last bar.
func streamKey(f Family, s Setting, key Key) string {
	set := key.Data
	if set == "" {
		set = defaultSet
	}
	switch f {
	case F:
		variant := ""
		if s.Archive {
			variant = "|archive"
		}
		return fmt.Sprintf("%s-F|%s|%d|a=%g|fc=%d|eps=%g%s|i=", set, shared.StreamVersion, key.Seed, s.Decay, s.Centre,
			s.Norm, variant)
	case CBar:
		set += "-C-Bar"
	default:
		set += "-C"
	}
	return fmt.Sprintf("%s|%s|%d|%s|sev=%d|i=", set, shared.StreamVersion, key.Seed, s.Name, s.Severity)
}

// stream is the random numbers of one image: PCG-64 DXSM, seeded with the first 16 bytes of the
// SHA-256 of its key as two big-endian integers.
type stream struct{ pcg rand.PCG }

func newStream(key string, index int) *stream {
	sum := sha256.Sum256(strconv.AppendInt([]byte(key), int64(index), 10))
	r := &stream{}
	r.pcg.Seed(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:]))
	return r
}

func (r *stream) uint64() uint64 { return r.pcg.Uint64() }

// uniform is in [0, 1), a multiple of 2⁻⁵³.
func (r *stream) uniform() float64 { return float64(r.pcg.Uint64()>>11) * 0x1p-53 }

// between is uniform from low to high.
func (r *stream) between(low, high float64) float64 { return low + float64((high-low)*r.uniform()) }

// below is a whole number in [0, n), each with a probability within n·2⁻⁶⁴ of 1/n.
func (r *stream) below(n int) int {
	high, _ := bits.Mul64(r.pcg.Uint64(), uint64(n))
	return int(high)
}

// sign is −1 or 1.
func (r *stream) sign() float64 {
	if r.pcg.Uint64()>>63 == 0 {
		return -1
	}
	return 1
}

// normal is standard normal, by inversion of a uniform number strictly between 0 and 1.
func (r *stream) normal() float64 {
	return portable.NormalQuantile((float64(r.pcg.Uint64()>>12) + 0.5) * 0x1p-52)
}
