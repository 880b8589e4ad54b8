package rs

import (
	"fmt"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/rs/ledger"
)

// former is a model that knows its identities in ledgers of the versions 1 and 2. Those covered the
// whole file, with what does not compute.
type former interface {
	FormerIdentities() ([]classifier.Identity, error)
}

// named returns the description of a model with the identity that a ledger of this header gives it.
// Of several former identities it takes the header's own, else one with the header's weights.
func named(model classifier.Classifier, info classifier.Info, h ledger.Header) (classifier.Info, error) {
	m, ok := model.(former)
	if h.Version >= 3 || !ok {
		return info, nil
	}
	list, err := m.FormerIdentities()
	if err != nil {
		return info, fmt.Errorf("rs: model: %w", err)
	}
	like := func(id classifier.Identity) int {
		switch {
		case id == h.Model.Identity:
			return 2
		case id.Weights == h.Model.Identity.Weights:
			return 1
		}
		return 0
	}
	for i, id := range list {
		if i == 0 || like(id) > like(info.Identity) {
			info.Identity = id
		}
	}
	return info, nil
}
