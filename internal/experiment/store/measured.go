package store

import (
	"path/filepath"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/rs/sweep"
)

// Measured is the place as measures know it.
func (p *Place) Measured() measure.Place { return placed{p} }

// placed names models as measures do.
type placed struct{ *Place }

func (p placed) Tier() tier.Tier { return p.Manifest.Tier }

func (p placed) At(parts ...string) string {
	return filepath.Join(append([]string{p.Folder}, parts...)...)
}

func (p placed) Result(m *measure.Model, suffix string) string {
	return p.At("results", m.Slug+suffix)
}

func (p placed) Images(m *measure.Model, key string) string {
	return p.Place.Images(p.Manifest.Model(m.Name), key)
}

func (p placed) OwnImages(m *measure.Model) string {
	return p.Place.OwnImages(p.Manifest.Model(m.Name))
}

func (p placed) Reference(m *measure.Model) *measure.Model {
	if other := p.Place.Reference(p.Manifest.Model(m.Name)); other != nil {
		return other.Measured()
	}
	return nil
}

// Others are further networks of the table, of the same data.
func (p placed) Others(m *measure.Model) (others []*measure.Model) {
	for _, l := range p.Table.Lines {
		for _, name := range l.Models {
			o := p.Manifest.Model(name)
			if o.Data == m.Data && name != m.Name && o.Adapt == nil && o.Results == "" {
				others = append(others, o.Measured())
			}
		}
	}
	return others
}

func (p placed) DataAt(kind string) string { return p.Manifest.Places[kind] }

func (p placed) ImagesOf(m *measure.Model, c sweep.Cell) (string, *corrupt.Setting) {
	return p.Manifest.ImagesOf(p.Manifest.Model(m.Name), c)
}
