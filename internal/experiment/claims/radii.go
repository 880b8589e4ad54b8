package claims

import (
	"context"
	"fmt"
	"strings"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/study"
)

type rows struct {
	folder   string
	manifest *store.Manifest
	table    *store.Table
}

func openRows(folder, name string) (rows, error) {
	m, err := store.ReadManifest(folder)
	if err != nil {
		return rows{}, err
	}
	if name = recipe.StoredName(name); name == "B/table4" { // shows what table 1 measures
		name = "B/table1"
	}
	t, err := m.Table(name)
	return rows{folder, m, t}, err
}

// models are the networks of a row by its title or recipe; none where it is not there.
func (r rows) models(name string) (all []*recipe.Model) {
	for _, l := range r.table.Lines {
		if l.Title != name && recipeOf(l.Models[0]) != recipe.StoredName(name) {
			continue
		}
		for _, m := range l.Models {
			all = append(all, r.manifest.Model(m))
		}
		return all
	}
	return nil
}

func recipeOf(model string) string {
	name, _, _ := strings.Cut(model, "@")
	return name
}

func (r rows) context(c study.Cell) study.Context {
	x := study.Context{What: c.What, Unit: study.UnitOf(c.What), Set: c.Set, Sets: []string{c.Set}}
	if of := r.models(c.Row); len(of) > 0 {
		x.Data, x.Network, x.Sigma = of[0].Data, of[0].Network, of[0].Noise()
	}
	return x
}

// radii are certified radii of a folder, whose claims say how training was unequal.
type radii struct {
	*study.Folder
	rows
}

func openRadii(folder, name string) (study.Results, error) {
	r, err := openRows(folder, name)
	if err != nil {
		return nil, err
	}
	f, err := study.Open(folder, r.table.Name)
	return radii{f, r}, err
}

// Compare has the note of efforts, too.
func (r radii) Compare(ctx context.Context, a study.Cell, b *study.Cell, by float64,
	o resample.Options) (*study.Comparison, error) {
	d, err := r.Folder.Compare(ctx, a, b, by, o)
	if d != nil && b != nil && err == nil {
		d.Note, err = r.unequal(a.Row, b.Row)
	}
	return d, err
}

// printedSets are the single sets of a printed one at severities.
func printedSets(name string, severities []int) (sets []string) {
	family, group, _ := strings.Cut(name, " ")
	members, err := tier.FamilyNames(family)
	if err != nil {
		members = []string{family}
	}
	for _, g := range corrupt.Groups[:3] { // by frequency
		if strings.EqualFold(g.Name, group) {
			members = g.Corruptions
		}
	}
	if name == "clean" {
		return []string{name}
	}
	for _, m := range members {
		for _, s := range severities {
			sets = append(sets, fmt.Sprintf("%s-%d", m, s))
		}
	}
	return sets
}
