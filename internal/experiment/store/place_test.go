package store

import (
	"testing"

	"github.com/certspec/certspec/internal/experiment/recipe"
)

// A finished network is measured on the own images of those that are trained beside it.
func TestOwnImagesOfAFinishedNetwork(t *testing.T) {
	p := Place{Manifest: &Manifest{Tier: recipe.Tier{Data: map[string]recipe.DataPart{"clothes": {Test: "count=50"}}}}}
	for _, m := range []recipe.Model{{Data: "clothes", Test: "fashionmnist/test", File: "net.onnx"}, {Data: "clothes", Test: "fashionmnist/test", Check: "fashionmnist/test[count=50]"}} {
		if got := p.OwnImages(&m); got != "fashionmnist/test[count=50]" {
			t.Errorf("%+v: %s", m, got)
		}
	}
}
