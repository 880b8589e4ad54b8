package recipe

import (
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/certspec/certspec/rs/sweep"
)

// AdaptedTo is the selection of images that a network adapts to: drawn at random for each cell,
// without their labels (Sun et al. 2021, appendix G); class-balanced in a folder that was begun so.
func (m *Model) AdaptedTo(c sweep.Cell) string {
	o := m.Adaptation()
	if m.Adapt.Sample != randomSample {
		return fmt.Sprintf("count=%d", o.Images)
	}
	return fmt.Sprintf("random=%d:%d", o.Images, crc32.ChecksumIEEE(fmt.Appendf(nil, "%d %s", o.Seed, c)))
}

// adaptImages is how many images a network adapts to (Sun et al. 2021, appendix G).
const adaptImages = 500

// Labels tell groups of models apart, by RobustNets' names of the groups.
func (m Model) Labels() map[string]string {
	l := map[string]string{"group": m.Group, "seed": fmt.Sprint(m.Seed)}
	name, _, _ := strings.Cut(m.Network, "-")
	if known, ok := map[string]string{"conv8": "Conv8", "resnet18": "ResNet18", "vgg16": "VGG16"}[name]; ok {
		name = known
	}
	l["architecture"], l["augmentation"] = name, "clean"
	if m.Views != "" {
		l["augmentation"], _, _ = strings.Cut(m.Views, "(")
	}
	l["method"], l["layout"], l["sparsity"] = "dense", "globally", "0.0"
	if m.Prune != "" && m.Sparsity != nil {
		l["method"], l["sparsity"] = m.Prune, fmt.Sprint(*m.Sparsity)
		if known, ok := map[string]string{"ft": "FT", "gmp": "GMP"}[m.Prune]; ok {
			l["method"] = known
		}
		if layerwise, _ := m.PruneOptions["layerwise"].(bool); layerwise {
			l["layout"] = "layerwise"
		}
	}
	return l
}
