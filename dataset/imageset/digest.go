package imageset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
)

// ContentDigest is "sha256:" and the hexadecimal SHA-256 of, in this order: the ASCII text "certspec images 1\n";
// height, width, channels and the number of images N, each as a 64-bit integer; N ids and then N labels, as 64-bit
// two's complement integers; the pixels of all images, HWC. All integers are little-endian.
//
// Images with offsets have "certspec images with offsets 1\n" in place of that text, and after the pixels the offsets,
// as 16-bit two's complement integers. With residues it is "certspec images with residues 1\n", and after the offsets
// come the residues, as 32-bit floating-point numbers. Names, class names and licence are not part of it.
func (im *Images) ContentDigest() string {
	h := sha256.New()
	head := []byte("certspec images 1\n")
	if im.Offsets != nil {
		head = []byte("certspec images with offsets 1\n")
	}
	if im.Residues != nil {
		head = []byte("certspec images with residues 1\n")
	}
	put := func(v int) { head = binary.LittleEndian.AppendUint64(head, uint64(int64(v))) }
	put(im.Shape.Height)
	put(im.Shape.Width)
	put(im.Shape.Channels)
	put(im.Len())
	for _, id := range im.IDs {
		put(id)
	}
	for _, label := range im.Labels {
		put(label)
	}
	h.Write(head)
	h.Write(im.Pixels)
	if im.Offsets != nil {
		offsets := make([]byte, 0, 2*len(im.Offsets))
		for _, o := range im.Offsets {
			offsets = binary.LittleEndian.AppendUint16(offsets, uint16(o))
		}
		h.Write(offsets)
		residues := make([]byte, 0, 4*len(im.Residues))
		for _, r := range im.Residues {
			residues = binary.LittleEndian.AppendUint32(residues, math.Float32bits(r))
		}
		h.Write(residues)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
