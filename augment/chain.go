package augment

import "strings"

// Chain applies augmentations one after the other, all from the same stream. The empty chain changes nothing.
type Chain []Augmentation

func (c Chain) Apply(im Image, random *Stream) error {
	for _, a := range c {
		if err := a.Apply(im, random); err != nil {
			return err
		}
	}
	return nil
}

// String is the parts with "+" between them.
func (c Chain) String() string {
	parts := make([]string, len(c))
	for i, a := range c {
		parts[i] = a.String()
	}
	return strings.Join(parts, "+")
}
