package conformal

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/pixel"
)

// grey are n images of one pixel, whose label is 1 for every third one.
func grey(n int) *imageset.Images {
	im := &imageset.Images{Name: "grey", Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Classes: []string{"a", "b", "c"}}
	for i := range n {
		im.IDs, im.Pixels = append(im.IDs, i), append(im.Pixels, 128)
		im.Labels = append(im.Labels, map[bool]int{true: 1}[i%3 == 0])
	}
	return im
}

// always answers the probabilities .7, .2 and .1 whatever it sees.
func always() classifier.Classifier {
	return classifier.Func(pixel.Shape{Height: 1, Width: 1, Channels: 1}, 3, func([]float32) []float32 {
		return []float32{float32(math.Log(.7)), float32(math.Log(.2)), float32(math.Log(.1))}
	})
}

// A model that answers always the same has known thresholds: the strangeness of label 0 is .3, of label 1 .8. With a third of labels 1, a level
// above ⅔ takes in both classes, and one below only the first.
func TestMeasureKnownSets(t *testing.T) {
	all := grey(300)
	calibration, test, err := Split(all.Indexed(), 150, nil, 3)
	if err != nil {
		t.Fatal(err)
	}
	ones := func(im *imageset.Index) (n float64) {
		for _, label := range im.Labels {
			n += float64(label)
		}
		return n / float64(im.Len())
	}
	places := make([]int, test.Len())
	for i := range places {
		places[i] = i
	}
	loaded, err := test.Load(t.Context(), places)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Sigma: .5, Radii: []float64{0, .25, 1.5}, Miscoverage: .5}
	s, err := Measure(t.Context(), always(), calibration, test, map[float64]*imageset.Images{.25: loaded}, o)
	if err != nil {
		t.Fatal(err)
	}
	if s.Calibration != 150 || s.Test != 150 || s.Classes != 3 || s.Data != "grey" || len(s.Radii) != 3 {
		t.Errorf("%+v", s)
	}
	// Levels ½, Φ(½) = .6915 and Φ(3) = .99865: sets {0}, {0, 1}, and for too few images {0, 1, 2}.
	for i, want := range []struct{ size, coverage, threshold float64 }{{1, 1 - ones(test), .3}, {2, 1, .8}, {3, 1, 0}} {
		row := s.Radii[i]
		if row.Clean.Size != want.size || math.Abs(row.Clean.Coverage-want.coverage) > 1e-12 {
			t.Errorf("radius %v: %+v; expected %+v", row.Radius, row.Clean, want)
		}
		if (row.Threshold == nil) != (want.threshold == 0) || row.Threshold != nil && math.Abs(*row.Threshold-want.threshold) > 1e-6 {
			t.Errorf("radius %v: threshold %v; expected %v", row.Radius, row.Threshold, want.threshold)
		}
	}
	// 150 of 150: Clopper and Pearson's interval begins at .025^(1/150) and ends at 1.
	a := s.Radii[1].Attacked
	if a == nil || a.Coverage != 1 || math.Abs(a.Range[0]-math.Pow(.025, 1./150)) > 1e-9 || a.Range[1] != 1 || s.Radii[0].Attacked != nil {
		t.Errorf("attacked: %+v", a)
	}
	all.Labels[5] = -1
	if _, err := Measure(t.Context(), always(), all.Indexed(), test, nil, o); err == nil || !strings.Contains(err.Error(), "image 5 of grey has the label -1") {
		t.Errorf("an image without a label: %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Measure(stopped, always(), calibration, test, nil, o); err == nil {
		t.Error("it goes on after its context has ended")
	}
}

func TestSplit(t *testing.T) {
	all := grey(10)
	attacked := &Attacked{Images: []AttackedImage{{Image: 2}, {Image: 7}}}
	calibration, test, err := Split(all.Indexed(), 0, attacked, 1)
	if err != nil || calibration.Len() != 8 || test.Len() != 2 || slices.Contains(calibration.IDs, 2) || slices.Contains(calibration.IDs, 7) {
		t.Errorf("%v: %v calibrate, %v are tested", err, calibration.IDs, test.IDs)
	}
	calibration, test, err = Split(all.Indexed(), 0, nil, 1)
	both := append(slices.Clone(calibration.IDs), test.IDs...)
	slices.Sort(both)
	if err != nil || calibration.Len() != 5 || !slices.Equal(both, all.IDs) {
		t.Errorf("%v: %v", err, both)
	}
	for _, n := range []int{-1, 10, 11} {
		if _, _, err := Split(all.Indexed(), n, nil, 1); err == nil {
			t.Errorf("%d of 10 calibrate, and nothing is left", n)
		}
	}
}

func TestCheckLabels(t *testing.T) {
	all := grey(3).Indexed()
	if err := CheckLabels(all); err != nil {
		t.Error(err)
	}
	all.Labels = []int{1, -1, -1}
	if err := CheckLabels(all); err == nil || !strings.Contains(err.Error(), "2 of 3 images have no label") {
		t.Error(err)
	}
}

func TestAttacked(t *testing.T) {
	all := grey(4)
	path := filepath.Join(t.TempDir(), "attacked.json")
	for want, images := range map[string][]AttackedImage{
		"":                                  {{Image: 1, Radius: .5, Norm: .4, Pixels: []uint8{9}}, {Image: 2, Radius: .5, Norm: .5, Pixels: []uint8{8}}, {Image: 2, Radius: 1, Pixels: []uint8{7}}},
		"no attacked images":                nil,
		"moved by 0.6":                      {{Image: 1, Radius: .5, Norm: .6, Pixels: []uint8{9}}},
		"image 1 with label 2":              {{Image: 1, Label: 2, Radius: .5, Pixels: []uint8{9}}},
		"label 0 and 2 values":              {{Image: 1, Radius: .5, Pixels: []uint8{9, 9}}},
		"image 9 with label 0 and 1 values": {{Image: 9, Radius: .5, Pixels: []uint8{9}}},
	} {
		text, err := json.Marshal(Attacked{Data: "grey", Sigma: .25, Images: images})
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		f.Write(text)
		f.Close()
		a, err := ReadAttacked(path)
		var by map[float64]*imageset.Images
		if err == nil {
			by, err = a.ByRadius(all)
		}
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%v; expected an error with %q", err, want)
		case want == "" && (err != nil || len(by) != 2 || !slices.Equal(by[.5].Pixels, []uint8{9, 8}) || !slices.Equal(by[1].IDs, []int{2})):
			t.Errorf("%v, %+v", err, by)
		}
	}
}
