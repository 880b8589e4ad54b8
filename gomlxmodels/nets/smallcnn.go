package nets

import . "github.com/gomlx/gomlx/core/graph"

// smallCNN is three convolutions of 3×3 pixels with 16, 32 and 64 channels, the second and
// third halving the size, each with batch normalisation and ReLU, and a dense layer on all
// that is left. At 28×28×1 with 10 classes it has 54,778 parameters and takes 1.95 million
// multiply-adds.
func (b *builder) smallCNN(x value, classes int) value {
	for i, layer := range []struct {
		name     string
		channels int
	}{{"1", 16}, {"2", 32}, {"3", 64}} {
		x = b.conv("conv"+layer.name, x, 3, layer.channels, min(i+1, 2))
		x = b.norm("bn"+layer.name, x)
		x = b.shared(b.relu(x))
	}
	size := x.shape.Len()
	if x.node != nil {
		x.node = Reshape(x.node, -1, size)
	}
	return b.dense("head", x, size, classes)
}
