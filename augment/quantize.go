package augment

// quantize clips values to [0, 1] and rounds them to the nearest byte over 255, halves up. It
// draws nothing.
type quantize struct{}

func (quantize) Apply(im Image, _ *Stream) error {
	if err := im.check("quantize"); err != nil {
		return err
	}
	for i, v := range im.Values {
		im.Values[i] = unit[round(v)]
	}
	return nil
}

func (quantize) String() string { return "quantize" }

func (*quantize) fields() []field { return nil }

func (q *quantize) value() Augmentation { return *q }
