package spectral

import (
	"context"
	"fmt"
	"slices"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/progress"
)

// PathKind is a kind of paths between images.
type PathKind string

const (
	amplitudeKind PathKind = "amplitude" // NewAmplitude
	phaseKind     PathKind = "phase"     // NewPhase
	pixelPaths    PathKind = "pixel"     // NewPixel, within classes and between them
)

// PathKinds are all kinds.
var PathKinds = []PathKind{amplitudeKind, phaseKind, pixelPaths}

// releasedPairs are the numbers of pairs of the released code of Fridovich-Keil et al. (2022): of
// all images; of pixel paths, of each class and of each two classes.
var releasedPairs = map[PathKind]int{amplitudeKind: 5000, phaseKind: 5000, pixelPaths: 200}

// PathSet is paths of a kind between pairs of images.
type PathSet struct {
	Name  string // amplitude, phase, pixel within, pixel between
	Path  Path
	Pairs []Pair
}

// PathSets lists the paths of a kind between images; pixel paths have two sets, within classes and between them. pairs
// is the number of paths (pixel: of each class and of each two classes). 0 is the number of the released code, or half
// of the images where that is fewer. Of the options, pixel paths take the normalisation alone.
//
// Errors: an unknown kind, more pairs than half of the images (pixel: of the smallest class), options out of range, as
// *InputError.
func PathSets(kind PathKind, images *imageset.Images, pairs int, o FourierOptions) ([]PathSet, error) {
	most, known := releasedPairs[kind]
	if !known {
		return nil, &InputError{Argument: "kind of paths", Value: string(kind), Expected: fmt.Sprintf("one of %q",
			PathKinds)}
	}
	of := images.Len()
	if kind == pixelPaths {
		of = slices.Min(images.ClassCounts())
	}
	if pairs == 0 {
		pairs = max(min(most, of/2), 1)
	}
	var path Path
	var err error
	switch kind {
	case amplitudeKind:
		path, err = NewAmplitude(images.Shape, o)
	case phaseKind:
		path, err = NewPhase(images.Shape, o)
	default:
		path, err = NewPixel(images.Shape, o.Normalization)
	}
	if err != nil {
		return nil, err
	}
	if kind == pixelPaths {
		within, between, err := pixelPairs(images.Labels, len(images.Classes), pairs)
		return []PathSet{{"pixel within", path, within}, {"pixel between", path, between}}, err
	}
	list, err := FourierPairs(images.Len(), pairs)
	return []PathSet{{string(kind), path, list}}, err
}

// Measure is MeasurePaths of the set, whose name stands in reports; images are read as the paths need them.
func (s PathSet) Measure(ctx context.Context, model classifier.Classifier, images *imageset.Index,
	o PathOptions) (*PathMetrics, error) {
	if report := o.Progress; report != nil {
		o.Progress = func(p progress.State) {
			p.Task = s.Name + " " + p.Task
			report(p)
		}
	}
	return measurePaths(ctx, model, s.Path, func(i int) ([]uint8, error) {
		one, err := images.Read(ctx, i)
		if err != nil {
			return nil, err
		}
		return one.Pixels, nil
	}, s.Pairs, o)
}
