package imageset

import "encoding/binary"

// FirstEqual returns for each image the place of the first one with the same pixels, its own if none before it has. So
// it finds duplicates, whatever their ids and labels.
func (im *Images) FirstEqual() []int {
	seen := map[string]int{}
	first := make([]int, im.Len())
	for i := range first {
		key := im.key(i)
		at, known := seen[key]
		if !known {
			at, seen[key] = i, i
		}
		first[i] = at
	}
	return first
}

// Equal gives the places of an image here and one there that have the same pixels.
func (im *Images) Equal(other *Images) (here, there int, found bool) {
	seen := map[string]int{}
	for i := range im.Len() {
		seen[im.key(i)] = i
	}
	for k := range other.Len() {
		if i, known := seen[other.key(k)]; known {
			return i, k, true
		}
	}
	return 0, 0, false
}

// key is the pixels of an image, with its offsets.
func (im *Images) key(i int) string {
	key := string(im.Image(i))
	if im.Offsets != nil {
		n := im.Shape.Len()
		var text []byte
		for _, v := range im.Offsets[i*n : (i+1)*n] {
			text = binary.LittleEndian.AppendUint16(text, uint16(v))
		}
		key += string(text)
	}
	return key
}
