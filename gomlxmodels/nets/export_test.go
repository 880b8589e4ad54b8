package nets

// InitialIBP is initialIBP.
const InitialIBP = initialIBP

// Bottlenecks is resnet50 with another name, width and number of blocks, PreActivations preact-resnet18 so, and ResNet the
// network of n blocks a stage.
func Bottlenecks(name string, width int, blocks ...int) Network {
	return bottlenecks{name, width, [4]int(append(blocks, 0, 0, 0)[:4])}
}

// PreActivations is described at Bottlenecks.
func PreActivations(name string, width int, blocks ...int) Network {
	return preActivations{name, width, [4]int(append(blocks, 0, 0, 0)[:4])}
}

// ResNet is described at Bottlenecks.
func ResNet(n int) Network { return resnet(n) }
