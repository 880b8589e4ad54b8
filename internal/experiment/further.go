package experiment

import (
	"fmt"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/train"
)

// furtherSet is a further set of images that a recipe's method learns from; see train.Set.
type furtherSet struct {
	// kind of data, whose train part it is; of a Model the name of the set
	Data string `yaml:"data" json:"data"`
	// added to its name, as in channels=grey
	Prepare string                 `yaml:"prepare,omitempty" json:"prepare,omitempty"`
	Batch   int                    `yaml:"batch,omitempty" json:"batch,omitempty"`
	Augment modelfile.Augmentation `yaml:"augment,omitempty" json:"augment,omitempty"`
	Views   string                 `yaml:"views,omitempty" json:"views,omitempty"`
	Sigma   float64                `yaml:"sigma,omitempty" json:"sigma,omitempty"`
}

// further are a recipe's further sets with the names of their images.
func (s *Setup) further(r Recipe) (map[string]furtherSet, error) {
	var all map[string]furtherSet
	for name, f := range r.More {
		learn, _, err := s.sets(f.Data)
		if err != nil {
			return nil, fmt.Errorf("further set %s: %w", name, err)
		}
		f.Data, f.Prepare = with(with(learn, f.Prepare), s.Tier.Data[f.Data].Train), ""
		if all == nil {
			all = map[string]furtherSet{}
		}
		all[name] = f
	}
	return all, nil
}

// openMore opens the further sets of a model.
func (m Model) openMore() (map[string]train.Set, error) {
	var all map[string]train.Set
	for name, f := range m.More {
		d, err := openSet(f.Data)
		if err != nil {
			return nil, fmt.Errorf("experiment: %s: the set %s: %w", m.Name, name, err)
		}
		if all == nil {
			all = map[string]train.Set{}
		}
		all[name] = train.Set{Data: d, Batch: f.Batch, Augment: f.Augment, Views: f.Views, Sigma: f.Sigma}
	}
	return all, nil
}
