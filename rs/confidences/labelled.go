package confidences

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/rs"
)

// Labelled names the images of a run that have labels: those that a map of confidences is fitted on, or judged on.
type Labelled struct {
	Name   string `json:"name"`
	Digest string `json:"digest"` // of all images of the name
	Images []int  `json:"images"`
}

// LabelledOf are those of a run.
func LabelledOf(run *rs.Run) *Labelled {
	l := &Labelled{Name: run.Header.Data.Name, Digest: run.Header.Data.Digest}
	for _, row := range run.Rows {
		if row.Label >= 0 {
			l.Images = append(l.Images, row.Image)
		}
	}
	return l
}

// base names the data set that the images are part of.
func (l *Labelled) base() string {
	name, _, _ := strings.Cut(l.Name, "[")
	return name
}

// Load reads the images. Errors: those of dataset.Open; another set under that name.
func (l *Labelled) Load(ctx context.Context) (*dataset.Images, error) {
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
	return all.Load(ctx, at)
}

// Shared returns an image of judged that l, of the same data set, has, too. Maps fitted on l may judge only where there
// is none.
func (l *Labelled) Shared(judged *Labelled) (image int, found bool) {
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
