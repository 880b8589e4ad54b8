package rs

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/rs/ledger"
)

// resumed gives the version of the header that the run's ledger has or will have, and the model with the identity that a header of that
// version names it by. It is that of the ledger where there is one, of Options.Like where there is none.
func (o Options) resumed(model classifier.Classifier, info classifier.Info) (int, classifier.Info, error) {
	for _, path := range []string{o.Ledger, o.Like} {
		if path == "" {
			continue
		}
		h, err := readHeader(path)
		var format *ledger.FormatError
		if errors.Is(err, fs.ErrNotExist) || errors.As(err, &format) && path == o.Ledger {
			continue // it is begun, or refused when it is opened
		}
		if err != nil {
			return 0, info, err
		}
		info, err = named(model, info, h)
		return h.Version, info, err
	}
	return ledger.Version, info, nil
}

func readHeader(path string) (ledger.Header, error) {
	s, err := ledger.Scan(path)
	if err != nil {
		return ledger.Header{}, err
	}
	return s.Header(), s.Close()
}

// named gives a model the identity that ledgers of a header's version name it by: where there are several, the one that the header has
// or, if it has none of them, one with its weights.
func named(model classifier.Classifier, info classifier.Info, h ledger.Header) (classifier.Info, error) {
	former, ok := model.(classifier.Former)
	if h.Version >= 3 || !ok {
		return info, nil
	}
	list, err := former.FormerIdentities()
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
