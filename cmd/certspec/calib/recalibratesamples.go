package calib

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/cmd/certspec/calib/labelled"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/textfile"
	"github.com/certspec/certspec/rs"
)

// fitPart is the part of a set that its map is fitted on, or comes from.
type fitPart struct {
	table        *calib.Table
	from, source string
	data         *labelled.Images
	saved        *calib.Recalibration
}

// parts gives the samples to fit on by set, and leaves in the sets those to judge.
func (o *recalibrateOptions) parts(cmd *cobra.Command, sets []*sampleFile) ([]fitPart, error) {
	switch {
	case o.use != "":
		return o.saved(cmd.Context(), sets)
	case o.fit == "":
		return o.halves(cmd.Context(), sets)
	}
	return o.other(cmd, sets)
}

// halves fits on one half of the samples of a file, and leaves the other to judge.
func (o *recalibrateOptions) halves(ctx context.Context, sets []*sampleFile) ([]fitPart, error) {
	parts := make([]fitPart, len(sets))
	place := map[int]int{} // of a ledger's labelled images, by id
	var data *labelled.Images
	odd := 0
	if o.ledger != "" {
		run, err := rs.Open(o.ledger)
		if err != nil {
			return nil, err
		}
		data = labelled.Of(run)
		first := make([]int, len(data.Images))
		for i := range first {
			first[i] = i
		}
		if o.population {
			if first, err = data.FirstEqual(ctx); err != nil {
				return nil, fmt.Errorf("--population: %w", err)
			}
		}
		all := data.Images
		data.Images = nil
		for i, id := range all {
			if place[id] = first[i]; first[i]%2 == 1 {
				odd++
			} else {
				data.Images = append(data.Images, id)
			}
		}
	}
	for i, s := range sets {
		var group, judged []int
		if s.at != nil {
			s.at.of = odd
			for _, image := range s.images {
				group = append(group, place[image])
				if place[image]%2 == 1 {
					judged = append(judged, image)
				}
			}
		}
		table, rest := s.Halves(group)
		parts[i] = fitPart{table: table, from: "the samples at even places of " + o.source(),
			source: sourceOf(o.source()), data: data}
		s.Table, s.images = rest, judged
	}
	return parts, nil
}

// other fits on another file.
func (o *recalibrateOptions) other(cmd *cobra.Command, sets []*sampleFile) ([]fitPart, error) {
	if a, err := filepath.Abs(o.fit); err == nil {
		if b, err := filepath.Abs(o.source()); err == nil && a == b {
			return nil, cli.Usagef("--fit names the samples that are judged: leave --fit out to fit on one half of " +
				"them and judge the other")
		}
	}
	fits, err := tableSets(cmd, o.fit, &o.confidences)
	if err != nil {
		return nil, err
	}
	if len(fits) != len(sets) {
		return nil, cli.Usagef("--fit has %d sets of samples, there are %d to judge: name the radii with --radii, "+
			"and fit a ledger with a ledger", len(fits), len(sets))
	}
	var data *labelled.Images
	if o.ledger != "" && fits[0].at != nil {
		run, err := rs.Open(o.fit)
		if err != nil {
			return nil, err
		}
		data = labelled.Of(run)
	}
	if err := o.apart(cmd.Context(), o.fit, data); err != nil {
		return nil, err
	}
	parts := make([]fitPart, len(sets))
	for i := range sets {
		parts[i] = fitPart{table: fits[i].Table, from: o.fit, source: sourceOf(o.fit), data: data}
	}
	return parts, nil
}

// saved takes the maps of a file of --save.
func (o *recalibrateOptions) saved(ctx context.Context, sets []*sampleFile) ([]fitPart, error) {
	text, err := textfile.Read(o.use)
	if err != nil {
		return nil, err
	}
	var saved []recalibrated
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields() // a mistyped key must not leave a map of other numbers
	if err := decoder.Decode(&saved); err != nil {
		return nil, fmt.Errorf("%s: expected the list of maps that --save writes: %w", o.use, err)
	}
	if len(saved) != len(sets) {
		return nil, cli.Usagef("%s has %d maps, for as many radii; there are %d to judge at", o.use, len(saved),
			len(sets))
	}
	parts := make([]fitPart, len(sets))
	for i, one := range saved {
		if one.Map == nil {
			return nil, fmt.Errorf("%s: entry %d has no map", o.use, i+1)
		}
		if err := one.Map.Check(); err != nil {
			return nil, fmt.Errorf("%s: entry %d: %w", o.use, i+1, err)
		}
		if one.Source == sourceOf(o.source()) {
			return nil, fmt.Errorf("%s was fitted on %s: what is judged must not have been fitted on; expected "+
				"other samples", o.use, o.source())
		}
		parts[i] = fitPart{from: one.FittedOn, source: one.Source, data: one.Data, saved: one.Map}
	}
	if len(saved) == 0 {
		return parts, nil
	}
	return parts, o.apart(ctx, o.use, saved[0].Data) // all of a file are of one ledger
}

// apart refuses a map that was fitted on images that are judged, and for claims on the population
// on images that are equal to one. data is nil where it is not known what a map was fitted on.
func (o *recalibrateOptions) apart(ctx context.Context, name string, data *labelled.Images) error {
	if o.ledger == "" {
		return nil
	}
	if data == nil {
		if o.population {
			return cli.Usagef("--population: it is not known on which images the map of %s was fitted; expected one "+
				"that was fitted on a ledger", name)
		}
		return nil
	}
	run, err := rs.Open(o.ledger)
	if err != nil {
		return err
	}
	judged := labelled.Of(run)
	if image, found := data.Shared(judged); found {
		return fmt.Errorf("image %d of %s was fitted on in %s and is judged in %s: what is judged must not have "+
			"been fitted on; expected other images, or leave --fit out", image, judged.Name, name, o.ledger)
	}
	if !o.population {
		return nil
	}
	a, b, equal, err := data.Equal(ctx, judged)
	if err != nil {
		return fmt.Errorf("--population: %w", err)
	}
	if equal {
		return fmt.Errorf("image %d of %s, which was fitted on, equals image %d of %s, which is judged: nothing is "+
			"claimed for the population; leave --population out", a, data.Name, b, judged.Name)
	}
	return nil
}

func (o *recalibrateOptions) source() string {
	if o.ledger != "" {
		return o.ledger
	}
	return o.in
}

// sourceOf names a file of samples: a closed ledger by its digest, others by their path.
func sourceOf(path string) string {
	if l, err := ledgerio.Read(path); err == nil && l.Digest != "" {
		return l.Digest
	}
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}
