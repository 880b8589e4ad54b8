package results

import (
	"testing"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/store"
)

// Another part of the set that out-images are of is named, and only to networks of the same data.
func TestSourceOfForeignImages(t *testing.T) {
	p := &TableBuilder{Place: store.Place{Manifest: &store.Manifest{Models: []recipe.Model{
		{Data: "animals", Train: "cifar10-jpeg/train[only=cat:dog]"},
		{Data: "animals", Train: "cifar10-jpeg/train[only=cat:dog]", More: map[string]recipe.ExtraSet{"out": {Data: "cifar10-jpeg/train[only=airplane:ship]"}}},
	}}}}
	for images, want := range map[string]string{
		"cifar10-jpeg/test[only=airplane:ship]": ", of the same source as the out-images of training, cifar10-jpeg/train[only=airplane:ship]",
		"mnist/test":                            "",
	} {
		if got := p.source("animals", images); got != want {
			t.Errorf("%s: %q", images, got)
		}
	}
	if got := p.source("clothes", "cifar10-jpeg/test"); got != "" {
		t.Errorf("of other data: %q", got)
	}
}
