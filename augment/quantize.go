package augment

// Quantize clips values to [0, 1] and rounds them to the nearest byte over 255, halves up. It
// draws nothing.
type Quantize struct{}

func (Quantize) Apply(im Image, _ *Stream) error {
	if err := im.check("quantize"); err != nil {
		return err
	}
	for i, v := range im.Values {
		im.Values[i] = unit[round(v)]
	}
	return nil
}

func (Quantize) String() string { return "quantize" }

func (*Quantize) fields() []field { return nil }

func (q *Quantize) value() Augmentation { return *q }
