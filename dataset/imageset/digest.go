package imageset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
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

// DigestOf is ContentDigest of images that come in parts, in their order, each with pixels, offsets and residues. What
// is hashed after all pixels is kept until then, in a temporary file where it is more than 64 MB.
func (im *Images) DigestOf(parts func(yield func(part *Images) error) error) (string, error) {
	h := sha256.New()
	var offsets, residues spool
	defer offsets.close()
	defer residues.close()
	first := true
	err := parts(func(part *Images) error {
		if first {
			first = false
			h.Write(im.head(part.Offsets != nil, part.Residues != nil))
		}
		h.Write(part.Pixels)
		text := make([]byte, 0, 2*len(part.Offsets))
		for _, o := range part.Offsets {
			text = binary.LittleEndian.AppendUint16(text, uint16(o))
		}
		if err := offsets.write(text); err != nil {
			return err
		}
		text = make([]byte, 0, 4*len(part.Residues))
		for _, r := range part.Residues {
			text = binary.LittleEndian.AppendUint32(text, math.Float32bits(r))
		}
		return residues.write(text)
	})
	if err := errors.Join(err, offsets.to(h), residues.to(h)); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// inMemory is how much of a spool is in memory.
var inMemory = 64 << 20

// spool holds bytes until they are hashed.
type spool struct {
	bytes []byte
	dir   string
	file  *os.File
}

func (s *spool) write(b []byte) (err error) {
	if s.bytes = append(s.bytes, b...); len(s.bytes) <= inMemory {
		return nil
	}
	if s.file == nil {
		if s.dir, err = os.MkdirTemp("", "certspec-"); err != nil {
			return err
		}
		if s.file, err = os.OpenFile(filepath.Join(s.dir, "spool"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
			return err
		}
	}
	_, err = s.file.Write(s.bytes)
	s.bytes = s.bytes[:0]
	return err
}

func (s *spool) to(w io.Writer) (err error) {
	if s.file != nil {
		if _, err = s.file.Seek(0, io.SeekStart); err == nil {
			_, err = io.Copy(w, s.file)
		}
	}
	w.Write(s.bytes)
	return err
}

func (s *spool) close() {
	if s.file != nil {
		s.file.Close()
	}
	if s.dir != "" {
		os.RemoveAll(s.dir)
	}
}

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
