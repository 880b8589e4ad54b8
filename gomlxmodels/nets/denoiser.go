package nets

import (
	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
	"github.com/certspec/certspec/pixel"
)

// denoiser is a U-Net without normalisation (Ronneberger et al. 2015): w, 2w and 4w channels at full, half and quarter
// size, sums in the place of concatenations, and x + f(x) at the end, where f begins as 0.
func (b *Builder) denoiser(images Value, w int) Value {
	if images.shape.Height%4 != 0 || images.shape.Width%4 != 0 {
		b.misfit("a denoiser for images of %v; it halves them twice, so that both sides must be multiples of 4",
			images.shape)
	}
	conv := func(name string, x Value, size, channels, stride int) Value {
		return b.Conv("denoiser/"+name, x, ConvOptions{Size: size, Channels: channels, Stride: stride, Bias: true,
			FanIn: true})
	}
	down := func(level string, x Value, channels, stride int) Value {
		x = b.ReLU(conv("down"+level+"/conv1", x, 3, channels, stride))
		return b.ReLU(conv("down"+level+"/conv2", x, 3, channels, 1))
	}
	up := func(level string, x, beside Value, channels int) Value {
		x = b.unfold("denoiser/up"+level+"/unfold", conv("up"+level+"/spread", x, 1, 4*channels, 1))
		x = b.ReLU(b.Add("denoiser/up"+level+"/sum", x, beside))
		return b.ReLU(conv("up"+level+"/conv", x, 3, channels, 1))
	}
	full := down("1", images, w, 1)
	half := down("2", full, 2*w, 2)
	x := b.ReLU(conv("down3/conv3", down("3", half, 4*w, 2), 3, 4*w, 1))
	x = up("1", up("2", x, half, 2*w), full, w)
	x = conv("last", x, 3, images.shape.Channels, 1)
	for i := range 2 { // kernel and bias
		b.tensors[len(b.tensors)-1-i].init = constant(0)
	}
	return b.Add(netparts.Denoised, images, x)
}

// unfold makes 2×2 pixels of each: channel (2i + j)·C + c becomes channel c of row i, column j.
func (b *Builder) unfold(name string, x Value) Value {
	return b.add(layer{Kind: netparts.Unfold, Name: name, Inputs: []int{x.at}, Shape: pixel.Shape{
		Height: 2 * x.shape.Height, Width: 2 * x.shape.Width, Channels: x.shape.Channels / 4}})
}
