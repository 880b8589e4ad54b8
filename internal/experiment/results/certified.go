package results

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/lines/certified"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/study"
)

// Certified are the models of a folder that were certified on clean images and under corruptions,
// for the line of certified accuracies, with the labels recipe, group (the title of its row),
// method, augment, network and seed. Models whose radii come from files of other programs are left
// out, as these do not say σ, α and rule; so are models without noise.
//
// Errors: those of ReadManifest, results that cannot be read.
func Certified(folder string) ([]certified.Model, error) {
	m, err := store.ReadManifest(folder)
	if err != nil {
		return nil, err
	}
	var models []certified.Model
	for i := range m.Models {
		of := &m.Models[i]
		if of.Results != "" || of.Noise() == 0 {
			continue
		}
		k, err := m.ResultsOf(folder, of)
		if err != nil {
			return nil, err
		}
		plan, err := m.Tier.Certify.Options(of.Noise()).Plan()
		if err != nil {
			return nil, fmt.Errorf("experiment: %s: %w", of.Name, err)
		}
		recipe, _, _ := strings.Cut(of.Name, "@")
		out := certified.Model{Name: of.Name,
			Setting: certified.SettingOf(plan.Header(), of.Noise(), plan.Alpha(), plan.RadiusCap()),
			Shifted: map[certified.Cell]rs.Rows{},
			Labels: map[string]string{"recipe": recipe, "group": of.Group, "method": of.Method,
				"augment": string(of.Augment), "network": of.Network, "seed": strconv.FormatUint(of.Seed, 10)}}
		for _, c := range k.Radii {
			name, rows := c.Set, certificates(c)
			at := strings.LastIndexByte(name, '-')
			severity, err := strconv.Atoi(name[at+1:])
			switch {
			case name == (sweep.Cell{}).String():
				out.Clean = rows
			case at > 0 && err == nil:
				out.Shifted[certified.Cell{Corruption: name[:at], Severity: severity}] = rows
			}
		}
		if out.Clean != nil && len(out.Shifted) > 0 {
			models = append(models, out)
		}
	}
	return models, nil
}

// certificates are radii as certificates; a wrong class is none that there is.
func certificates(c *study.Column) rs.Rows {
	rows := make(rs.Rows, len(c.Images))
	for i, image := range c.Images {
		rows[i] = rs.Row{Image: image, Label: c.Labels[i]}
		switch c.Marks[i] {
		case "":
			rows[i].Class, rows[i].Radius = c.Labels[i], c.Values[i]
		case "a":
			rows[i].Class = rs.Abstain
		default:
			rows[i].Class = otherClass
		}
	}
	return rows
}

// otherClass stands for a class that is not the label; which, files of radii do not keep.
const otherClass = 1 << 30
