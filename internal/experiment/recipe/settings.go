package recipe

import (
	"fmt"
	"strings"
)

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
