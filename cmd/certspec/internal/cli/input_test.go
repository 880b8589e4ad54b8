package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/preflight"
)

var errGone = errors.New("pipe: the program is gone")

type gone struct{ classifier.Classifier }

func (gone) Info() (classifier.Info, error) { return classifier.Info{}, errGone }

// What goes wrong in the look before a run is not said in the name of a verb that nobody called.
func TestLookFirstNamesNoOtherVerb(t *testing.T) {
	_, err := LookFirst(context.Background(), gone{}, &dataset.Images{}, preflight.Use{})
	if !errors.Is(err, errGone) || strings.Contains(err.Error(), "preflight") {
		t.Errorf("%v", err)
	}
}
