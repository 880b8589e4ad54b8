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
	digest, _ := im.DigestOf(func(yield func(part *Images) error) error { return yield(im) }) // it fails where parts do
	return digest
}

// DigestOf is ContentDigest of images that come in parts, in their order, each with pixels, offsets and residues. Parts
// with offsets come up to three times.
func (im *Images) DigestOf(parts func(yield func(part *Images) error) error) (string, error) {
	h := sha256.New()
	var offsets, residues bool
	first := true
	err := parts(func(part *Images) error {
		if first {
			first, offsets, residues = false, part.Offsets != nil, part.Residues != nil
			h.Write(im.head(offsets, residues))
		}
		h.Write(part.Pixels)
		return nil
	})
	if err == nil && offsets {
		err = parts(func(part *Images) error {
			text := make([]byte, 0, 2*len(part.Offsets))
			for _, o := range part.Offsets {
				text = binary.LittleEndian.AppendUint16(text, uint16(o))
			}
			h.Write(text)
			return nil
		})
	}
	if err == nil && residues {
		err = parts(func(part *Images) error {
			text := make([]byte, 0, 4*len(part.Residues))
			for _, r := range part.Residues {
				text = binary.LittleEndian.AppendUint32(text, math.Float32bits(r))
			}
			h.Write(text)
			return nil
		})
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), err
}

// head is what stands before the pixels.
func (im *Images) head(offsets, residues bool) []byte {
	head := []byte("certspec images 1\n")
	switch {
	case residues:
		head = []byte("certspec images with residues 1\n")
	case offsets:
		head = []byte("certspec images with offsets 1\n")
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
	return head
}
