// Package spectral looks at images and classifiers by frequency.
//
//	s, err := spectral.MeanSpectrum(ctx, spectral.Bytes(shape, pixels), nil)
//	amplitude, ok := s.Amplitude.At(0, 1) // one period over the width
//
// In the order of use:
//
//   - [Bytes] and [Real] are images, [Difference] the changes that a corruption makes in them.
//   - [MeanSpectrum] gives their mean amplitudes as a [Spectrum], with radial profile, centroid and slope.
//   - A [Probe] adds one Fourier basis image to each image; [HeatMap] makes a [Map] of the errors of a classifier
//     under the probes of all frequencies.
//   - A [Path] leads from one image to another in amplitude, phase or pixels; [MeasurePaths] asks a classifier along
//     it.
//
// The transform is that of package fourier, unnormalised, of images in units of the full range [0, 1]. Frequencies
// count periods over the height (u) and the width (v) of an image.
package spectral

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/certspec/certspec/internal/spectral/fourier"
)

// Map is a real number for each of a grid of frequencies of H×W images.
type Map struct {
	Height int       `json:"height"` // of the images
	Width  int       `json:"width"`
	U      []int     `json:"u"`      // frequency of each row, ascending
	V      []int     `json:"v"`      // frequency of each column, ascending
	Values []float64 `json:"values"` // row by row, len(U)*len(V)

	Measure string       `json:"-"` // of the values, for people; "": not known
	Ends    [][2]float64 `json:"-"` // of the interval of each ring of Profile; nil: none is known
}

// Frequencies lists all frequencies of a side, −⌊n/2⌋ … ⌈n/2⌉−1.
func Frequencies(n int) []int {
	list := make([]int, n)
	for k := range list {
		list[k] = k - n/2
	}
	return list
}

// Window lists the frequencies −n … n.
func Window(n int) []int {
	list := make([]int, 2*n+1)
	for k := range list {
		list[k] = k - n
	}
	return list
}

// half is the geometry of the images.
func (m *Map) half() fourier.Half { return fourier.Half{Height: m.Height, Width: m.Width} }

// At is the value of a frequency; found is false where the grid does not have it.
func (m *Map) At(u, v int) (value float64, found bool) {
	i, has := slices.BinarySearch(m.U, u)
	j, hasToo := slices.BinarySearch(m.V, v)
	if !has || !hasToo {
		return 0, false
	}
	return m.Values[i*len(m.V)+j], true
}

// radii calls f with the azimuthal frequency and the value of each frequency; see fourier.Half.Radius.
func (m *Map) radii(f func(radius, value float64)) {
	h := m.half()
	for i, u := range m.U {
		for j, v := range m.V {
			k, _ := h.Bin(u, v)
			f(h.Radius(k), m.Values[i*len(m.V)+j])
		}
	}
}

// WriteCSV writes the values as a matrix, one line for each u and no header; zero frequency stands in the middle, or
// just behind it.
func (m *Map) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	fields := make([]string, len(m.V))
	for i := range m.U {
		for j := range m.V {
			fields[j] = strconv.FormatFloat(m.Values[i*len(m.V)+j], 'g', -1, 64)
		}
		if err := out.Write(fields); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// WriteTSV writes a line u, v, value, images for each frequency, with tabs between and one line of names first. The
// value has the name of the metric; all come from the same number of images. ReadMap reads it again.
func (m *Map) WriteTSV(w io.Writer, metric string, images int) error {
	if _, err := fmt.Fprintf(w, "i\tj\t%s\tn_images\n", metric); err != nil {
		return err
	}
	for i, u := range m.U {
		for j, v := range m.V {
			value := strconv.FormatFloat(m.Values[i*len(m.V)+j], 'g', -1, 64)
			if _, err := fmt.Fprintf(w, "%d\t%d\t%s\t%d\n", u, v, value, images); err != nil {
				return err
			}
		}
	}
	return nil
}

// fromHalf spreads the values of a half spectrum, equal at (u, v) and −(u, v), over all frequencies.
func fromHalf(h fourier.Half, values []float64) Map {
	m := Map{Height: h.Height, Width: h.Width, U: Frequencies(h.Height), V: Frequencies(h.Width)}
	for _, u := range m.U {
		for _, v := range m.V {
			k, _ := h.Bin(u, v)
			m.Values = append(m.Values, values[k])
		}
	}
	return m
}

// InputError reports a value outside its range.
type InputError struct {
	Argument string // name, e.g. "window"
	Value    string // the offending value
	Expected string // what was expected
}

func (e *InputError) Error() string {
	return fmt.Sprintf("spectral: %s is %s; expected %s", e.Argument, e.Value, e.Expected)
}
