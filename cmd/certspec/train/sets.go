package train

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/internal/choice"
)

// furtherSet is a value of --data that names a further set, as in out=cifar10/train.
var furtherSet = regexp.MustCompile(`^([a-z][a-z0-9_-]*)=(.+)$`)

// dataSets are the values of --data: the set to learn from, and further ones by the names that the method has for them.
func dataSets(values []string) (learn string, more map[string]string, err error) {
	more = map[string]string{}
	for _, v := range values {
		parts := furtherSet.FindStringSubmatch(v)
		switch {
		case parts == nil && learn != "":
			return "", nil, cli.Usagef("--data %s and --data %s: expected one set to learn from; a further one of "+
				"the method has a name before it, as in --data out=%s", learn, v, v)
		case parts == nil:
			learn = v
		case more[parts[1]] != "":
			return "", nil, cli.Usagef("--data %s=%s and --data %s: the set %s twice", parts[1], more[parts[1]], v,
				parts[1])
		default:
			more[parts[1]] = parts[2]
		}
	}
	return learn, more, nil
}

// openSets opens further sets with their settings, NAME.KEY=VALUE.
func openSets(more map[string]string, settings []string) (map[string]train.Set, error) {
	sets := map[string]train.Set{}
	for name, of := range more {
		learn, _ := parts(of)
		d, err := dataset.Open(learn)
		if err != nil {
			return nil, err
		}
		sets[name] = train.Set{Data: d}
	}
	for _, text := range settings {
		key, value, found := strings.Cut(text, "=")
		name, key, dotted := strings.Cut(key, ".")
		s, ok := sets[name]
		if !found || !dotted || !ok {
			return nil, cli.Usagef("--set %s: expected NAME.KEY=VALUE of a set that a --data NAME=DATA gives, as in "+
				"out.augment=crop", text)
		}
		var err error
		switch key {
		case "batch":
			if s.Batch, err = strconv.Atoi(value); err != nil || s.Batch < 1 {
				return nil, cli.Usagef("--set %s: expected a whole number of at least 1", text)
			}
		case "sigma":
			if s.Sigma, err = strconv.ParseFloat(value, 64); err != nil || !(s.Sigma >= 0) {
				return nil, cli.Usagef("--set %s: expected a number of at least 0", text)
			}
		case "augment":
			if s.Augment = modelfile.Augmentation(value); !slices.Contains(train.Augmentations(), s.Augment) {
				return nil, cli.Usagef("--set %s: expected one of %s", text, choice.List(train.Augmentations()))
			}
		case "views":
			s.Views = value
		default:
			return nil, cli.Usagef("--set %s: no setting %q; there are batch, augment, views and sigma", text, key)
		}
		sets[name] = s
	}
	return sets, nil
}
