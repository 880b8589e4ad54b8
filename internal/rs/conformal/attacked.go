package conformal

import (
	"encoding/json"
	"fmt"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/textfile"
)

// Attacked are attacked images of a data set, as "certspec attack --save" writes them.
type Attacked struct {
	Data   string          `json:"data"`
	Sigma  float64         `json:"sigma"` // of the smoothed classifier that was attacked
	Images []AttackedImage `json:"images"`
}

// AttackedImage is an image as an attack left it.
type AttackedImage struct {
	Image  int     `json:"image"` // id
	Label  int     `json:"label"`
	Radius float64 `json:"radius"` // of the ball in which it was attacked
	Norm   float64 `json:"norm"`   // how far it was moved
	Class  int     `json:"class"`  // that the smoothed classifier answers there
	Pixels []uint8 `json:"pixels"` // HWC, in base64
}

// ReadAttacked reads such a file.
func ReadAttacked(path string) (*Attacked, error) {
	text, err := textfile.Read(path)
	if err != nil {
		return nil, err
	}
	a := &Attacked{}
	if err := json.Unmarshal(text, a); err != nil {
		return nil, fmt.Errorf("%s: %w; expected a file of certspec attack --save", path, err)
	}
	if len(a.Images) == 0 {
		return nil, fmt.Errorf("%s has no attacked images; expected a file of certspec attack --save", path)
	}
	return a, nil
}

// ByRadius returns the attacked images of each radius. Errors: an image that is not in all, or that was moved further
// than its radius.
func (a *Attacked) ByRadius(all *imageset.Images) (map[float64]*imageset.Images, error) {
	attacked := map[float64]*imageset.Images{}
	for _, image := range a.Images {
		at := all.Index(image.Image)
		if at < 0 || all.Labels[at] != image.Label || len(image.Pixels) != all.Shape.Len() {
			return nil, fmt.Errorf("conformal: attacked image %d with label %d and %d values is none of %s",
				image.Image, image.Label, len(image.Pixels), all.Name)
		}
		if image.Norm > image.Radius*(1+1e-9) {
			return nil, fmt.Errorf("conformal: image %d was moved by %v, expected at most its radius %v", image.Image,
				image.Norm, image.Radius)
		}
		im := attacked[image.Radius]
		if im == nil {
			im = &imageset.Images{Name: a.Data, Shape: all.Shape, Classes: all.Classes}
			attacked[image.Radius] = im
		}
		im.IDs, im.Labels, im.Pixels = append(im.IDs, image.Image), append(im.Labels, image.Label),
			append(im.Pixels, image.Pixels...)
	}
	return attacked, nil
}
