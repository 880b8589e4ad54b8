// Package labelled says whether two runs share images, by their ids or their pixels.
package labelled

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/rs"
)

// Images names the images of a run that have labels: those that a map of confidences is fitted on, or judged on.
type Images struct {
	Name   string `json:"name"`
	Digest string `json:"digest"` // of all images of the name
	Images []int  `json:"images"`
}

// Of are the labelled images of a run.
func Of(run *rs.Run) *Images {
	l := &Images{Name: run.Header.Data.Name, Digest: run.Header.Data.Digest}
	for _, row := range run.Rows {
		if row.Label >= 0 {
			l.Images = append(l.Images, row.Image)
		}
	}
	return l
}

// base names the data set that the images are part of.
func (l *Images) base() string {
	name, _, _ := strings.Cut(l.Name, "[")
	return name
}

// values reads the images one after the other, and gives a SHA-256 of what each holds: its pixels, with its offsets.
// Errors: those of dataset.Open; another set under that name.
func (l *Images) values(ctx context.Context) (sums [][sha256.Size]byte, err error) {
	set, err := dataset.OpenLike(l.Name, l.Name)
	if err != nil {
		return nil, err
	}
	all, err := set.Index(ctx, nil)
	if err != nil {
		return nil, err
	}
	if all.Digest != l.Digest {
		return nil, fmt.Errorf("%s has the digest %s, the ledger's images had %s: expected the same images", l.Name,
			all.Digest, l.Digest)
	}
	var at []int
	for _, id := range l.Images {
		i := all.Index(id)
		if i < 0 {
			return nil, fmt.Errorf("%s has no image %d", l.Name, id)
		}
		at = append(at, i)
	}
	for one, err := range all.Take(at).Ahead(ctx, 0, len(at)) {
		if err != nil {
			return nil, err
		}
		content := slices.Clip(one.Pixels)
		for _, v := range one.Offsets {
			content = binary.LittleEndian.AppendUint16(content, uint16(v))
		}
		sums = append(sums, sha256.Sum256(content))
	}
	return sums, nil
}

// FirstEqual reads the images, and returns for each the place of the first one with the same values, its own if none
// before it has. So it finds duplicates, whatever their ids and labels.
func (l *Images) FirstEqual(ctx context.Context) ([]int, error) {
	sums, err := l.values(ctx)
	seen, first := map[[sha256.Size]byte]int{}, make([]int, len(sums))
	for i, sum := range sums {
		if _, known := seen[sum]; !known {
			seen[sum] = i
		}
		first[i] = seen[sum]
	}
	return first, err
}

// Equal reads both, and returns the ids of an image here and of one there that have the same values.
func (l *Images) Equal(ctx context.Context, other *Images) (here, there int, found bool, err error) {
	sums, err := l.values(ctx)
	if err != nil {
		return 0, 0, false, err
	}
	seen := map[[sha256.Size]byte]int{}
	for i, sum := range sums {
		seen[sum] = l.Images[i]
	}
	others, err := other.values(ctx)
	for k, sum := range others {
		if image, known := seen[sum]; known {
			return image, other.Images[k], true, nil
		}
	}
	return 0, 0, false, err
}

// Shared returns an image of judged that l, of the same data set, has, too. Maps fitted on l may judge only where there
// is none.
func (l *Images) Shared(judged *Images) (image int, found bool) {
	if l.base() != judged.base() {
		return 0, false
	}
	for _, image := range judged.Images {
		if slices.Contains(l.Images, image) {
			return image, true
		}
	}
	return 0, false
}
