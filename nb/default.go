package nb

import (
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/spectral"
)

// shownImages are those of a data set that Show draws.
const shownImages = 12

// defaults are what Show makes of a value that is more than a word: pictures first, then a table.
func defaults(value any) ([]any, bool) {
	switch v := value.(type) {
	case *rs.Run:
		return []any{Curve(v), Table(v)}, true
	case *dataset.Dataset:
		images, err := v.Subset(dataset.Count(shownImages)).Load(Context())
		end(err)
		return []any{labelled(images)}, true
	case *dataset.Images:
		return []any{labelled(v)}, true
	case *spectral.Spectrum:
		logs := v.Amplitude
		logs.Values = nil
		for _, a := range v.Amplitude.Values {
			logs.Values = append(logs.Values, math.Log10(max(a, math.SmallestNonzeroFloat32)))
		}
		title := fmt.Sprintf("log₁₀ of the mean amplitude of %d images", v.Images)
		return []any{HeatMaps(title, slices.Min(logs.Values), slices.Max(logs.Values), []string{title}, &logs)}, true
	case *spectral.Map:
		low, high := slices.Min(v.Values), slices.Max(v.Values)
		return []any{HeatMaps("a value for each frequency", low, high, []string{""}, v)}, true
	case []calib.Bin:
		return []any{Reliability("Accuracy against confidence", v)}, true
	}
	return nil, false
}

// labelled draws the first images with their labels.
func labelled(images *dataset.Images) *Figure {
	n := min(shownImages, images.Len())
	var row Row
	for i := range n {
		row.Images = append(row.Images, images.Image(i))
		row.Words = append(row.Words, className(images, images.Labels[i]))
	}
	caption := fmt.Sprintf("%s: %d of %d images with their labels", setName(images.Name), n, images.Len())
	return Images(caption, images.Shape, row)
}
