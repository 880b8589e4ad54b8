package spectral

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/certspec/certspec/pixel"
)

// SpectrumDifference is the difference of two mean amplitude spectra, first less second.
type SpectrumDifference struct {
	Images [2]int           `json:"images"`
	Paired bool             `json:"paired"` // image by image
	Map    Map              `json:"map"`    // of the mean amplitudes
	Rings  []RingDifference `json:"rings"`
}

// RingDifference is the difference of the mean amplitudes of a ring.
type RingDifference struct {
	Frequency  int     `json:"frequency"`
	Bins       int     `json:"bins"`
	A          float64 `json:"a"`
	B          float64 `json:"b"`
	Difference float64 `json:"difference"` // A − B
	Low        float64 `json:"low"`        // ends of its interval
	High       float64 `json:"high"`
}

// Minus returns the difference of the mean amplitudes of two spectra, s less other, with an interval for each ring. All
// intervals together hold the differences of the populations, of which the images are a random sample, with
// probability 95 %: they are Student's (Welch's for two samples), each at 1 − 0.05 over the number of rings
// (Bonferroni). Where both spectra are of images of the same ids, it is paired by image.
//
// Errors: spectra of images of other sizes, or of fewer than two images, or that do not know them (Source.IDs).
func (s *Spectrum) Minus(other *Spectrum) (*SpectrumDifference, error) {
	if s.Amplitude.half() != other.Amplitude.half() {
		return nil, fmt.Errorf("spectral: images of %d×%d and of %d×%d pixels; expected one size, e.g. by [resize=…] "+
			"behind the name of a set", s.Amplitude.Height, s.Amplitude.Width, other.Amplitude.Height,
			other.Amplitude.Width)
	}
	for _, x := range []*Spectrum{s, other} {
		if len(x.rings) < 2 {
			return nil, fmt.Errorf("spectral: a difference of spectra of %d images that are known one by one; expected "+
				"two or more of each", len(x.rings))
		}
	}
	d := &SpectrumDifference{Images: [2]int{s.Images, other.Images}, Paired: slices.Equal(s.IDs, other.IDs),
		Map: s.Amplitude}
	d.Map.Values = slices.Clone(s.Amplitude.Values)
	for k, v := range other.Amplitude.Values {
		d.Map.Values[k] -= v
	}
	of := other.Amplitude.Profile()
	for k, ring := range s.Amplitude.Profile() {
		r := RingDifference{Frequency: ring.Frequency, Bins: ring.Bins, A: ring.Mean, B: of[k].Mean}
		r.Difference = r.A - r.B
		half := halfWidth(s.ring(k), other.ring(k), d.Paired, 1-0.05/float64(len(of)))
		r.Low, r.High = r.Difference-half, r.Difference+half
		d.Rings = append(d.Rings, r)
	}
	return d, nil
}

// halfWidth is that of Student's interval for the difference of two means.
func halfWidth(a, b []float64, paired bool, confidence float64) float64 {
	var squared, freedom float64
	if paired {
		apart := make([]float64, len(a))
		for i := range a {
			apart[i] = a[i] - b[i]
		}
		squared, freedom = stat.Variance(apart, nil)/float64(len(a)), float64(len(a)-1)
	} else {
		x, y := stat.Variance(a, nil)/float64(len(a)), stat.Variance(b, nil)/float64(len(b))
		squared = x + y
		freedom = squared * squared / (x*x/float64(len(a)-1) + y*y/float64(len(b)-1))
	}
	if squared == 0 {
		return 0
	}
	return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile((1+confidence)/2) * math.Sqrt(squared)
}

// ring are the mean amplitudes of the k-th ring, image by image.
func (s *Spectrum) ring(k int) []float64 {
	values := make([]float64, len(s.rings))
	for i, of := range s.rings {
		values[i] = of[k]
	}
	return values
}

// Profile is the radial profile of the difference.
func (d *SpectrumDifference) Profile() []Ring {
	var rings []Ring
	for _, r := range d.Rings {
		rings = append(rings, Ring{Frequency: r.Frequency, Bins: r.Bins, Mean: r.Difference, Low: r.Low, High: r.High})
	}
	return rings
}

// Profile is the radial profile of the mean amplitude. The ends of a ring hold the middle 90 % of the images,
// where these are known one by one (Source.IDs).
func (s *Spectrum) Profile() []Ring {
	rings := s.Amplitude.Profile()
	for k := range rings {
		if len(s.rings) == 0 {
			continue
		}
		values := s.ring(k)
		slices.Sort(values)
		rings[k].Low = stat.Quantile(0.05, stat.Empirical, values, nil)
		rings[k].High = stat.Quantile(0.95, stat.Empirical, values, nil)
	}
	return rings
}

// Outlier is an image whose amplitude at one frequency is unlike the others'.
type Outlier struct {
	Image     int     `json:"image"`     // id
	Frequency int     `json:"frequency"` // of the ring where it is most unlike the others
	Score     float64 `json:"score"`     // above 0: more than the others have; see Outliers
}

// Outliers returns the images, at most count, that are least like the others by their mean amplitude on a ring, the
// most unlike first. The score of an image on a ring is 0.6745 (x − median) / MAD (Iglewicz and Hoaglin 1993), with x
// the logarithm of its amplitude and MAD the median of |x − median| over all images: a normal sample has the standard
// deviation 1. A score beyond ±3.5 is unusual. Amplitudes below half of that of one pixel's single step count as that.
//
// Errors: a spectrum that does not know its images (Source.IDs).
func (s *Spectrum) Outliers(count int) ([]Outlier, error) {
	if len(s.rings) == 0 {
		return nil, fmt.Errorf("spectral: outliers of a spectrum whose %d images are not known one by one", s.Images)
	}
	const least = 0.5 / pixel.Steps
	profile := s.Amplitude.Profile()
	found := make([]Outlier, len(s.rings))
	for i := range found {
		found[i].Image = s.IDs[i]
	}
	for k, ring := range profile {
		x := s.ring(k)
		for i, v := range x {
			x[i] = math.Log(max(v, least))
		}
		middle := median(x)
		distances := make([]float64, len(x))
		for i, v := range x {
			distances[i] = math.Abs(v - middle)
		}
		mad := median(distances)
		if mad == 0 { // more than half of the images are equal here
			continue
		}
		for i, v := range x {
			if score := 0.6745 * (v - middle) / mad; math.Abs(score) > math.Abs(found[i].Score) {
				found[i].Score, found[i].Frequency = score, ring.Frequency
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Outlier) int { return cmp.Compare(math.Abs(b.Score), math.Abs(a.Score)) })
	return found[:min(max(count, 0), len(found))], nil
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
