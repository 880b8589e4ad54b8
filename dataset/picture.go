package dataset

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/certspec/certspec/internal/picture"
)

// encoded is the file of a picture and its path below the folder, with slashes.
type encoded struct {
	path string
	data []byte
}

// decodePictures decodes and prepares pictures, which must then all have one size and number of channels.
func decodePictures(ctx context.Context, files []encoded, p Preparation) (*records, error) {
	if len(files) == 0 {
		return nil, errors.New("no .png, .jpg or .jpeg files")
	}
	r := new(records)
	if err := r.label(files, p.Classes); err != nil {
		return nil, err
	}
	background, err := parseColor(p.Background)
	if err != nil {
		return nil, err
	}
	decode := func(file encoded) (im picture.Image, warning string, err error) {
		im, warning, err = picture.Decode(file.data, picture.Options{Background: background, Reduce16: p.Reduce16})
		if err == nil {
			im, err = p.image(im)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", file.path, err)
		}
		return im, warning, err
	}
	first, _, err := decode(files[0])
	if err != nil {
		return nil, err
	}
	r.shape = first.Shape
	if p.RGB {
		r.shape.Channels = 3
	}
	if err := checkRoom(len(files), r.shape); err != nil {
		return nil, err
	}
	size := r.shape.Len()
	r.pixels = make([]uint8, len(files)*size)
	failed := make([]error, len(files))
	warnings := make([]string, len(files))
	var workers sync.WaitGroup
	count := min(runtime.GOMAXPROCS(0), len(files))
	for w := range count {
		workers.Go(func() {
			for i := w; i < len(files) && ctx.Err() == nil; i += count {
				im, warning, err := decode(files[i])
				if err == nil {
					err = sameKind(files[0].path, first, files[i].path, im, p)
				}
				if err != nil {
					failed[i] = err
					return
				}
				warnings[i] = warning
				appendImage(r.pixels[i*size:i*size], im.Pixels, len(im.Pixels) < size)
			}
		})
	}
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	damaged := 0
	example := ""
	for i, warning := range warnings {
		if warning != "" {
			if damaged == 0 {
				example = files[i].path + ": " + warning
			}
			damaged++
		}
	}
	if damaged > 0 {
		r.warnings = append(r.warnings, fmt.Sprintf(
			"%d pictures have an orientation that cannot be read, and are taken as they are stored, e.g. %s", damaged, example))
	}
	return r, nil
}

// sameKind compares two prepared pictures.
func sameKind(nameA string, a picture.Image, nameB string, b picture.Image, p Preparation) error {
	if a.Shape.Height != b.Shape.Height || a.Shape.Width != b.Shape.Width {
		advice := "a resize and a crop bring them to one size"
		if p.Resize != (Size{}) {
			advice = "a crop brings them to one size"
		}
		return fmt.Errorf("%s: %d×%d pixels; expected %d×%d as in %s (%s)",
			nameB, b.Shape.Height, b.Shape.Width, a.Shape.Height, a.Shape.Width, nameA, advice)
	}
	if a.Shape.Channels != b.Shape.Channels && !p.RGB {
		if a.Shape.Channels == 1 {
			nameA, nameB = nameB, nameA
		}
		return fmt.Errorf("%s is grey and %s has colours; expected one kind (channels=rgb makes both RGB)", nameB, nameA)
	}
	return nil
}
