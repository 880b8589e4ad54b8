package augment

// Flip mirrors the image left to right with probability ½.
type Flip struct{}

func (Flip) Apply(im Image, random *Stream) error {
	if err := im.check("flip"); err != nil {
		return err
	}
	if random.IntN(2) == 0 {
		return nil
	}
	w, c := im.Shape.Width, im.Shape.Channels
	for row := im.Values; len(row) > 0; row = row[w*c:] {
		for left, right := 0, (w-1)*c; left < right; left, right = left+c, right-c {
			for k := range c {
				row[left+k], row[right+k] = row[right+k], row[left+k]
			}
		}
	}
	return nil
}

func (Flip) String() string { return "flip" }

func (*Flip) fields() []field { return nil }

func (f *Flip) value() Augmentation { return *f }
