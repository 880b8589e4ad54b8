package spectral

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pixel"
)

// exchange is a path on which two of the classes exchange the probability q.
func exchange(n, classes int, q func(j int) float64) []float64 {
	p := make([]float64, n*classes)
	for j := range n {
		p[j*classes+1], p[j*classes] = q(j), 1-q(j)
	}
	return p
}

func step(at int) func(int) float64 {
	return func(j int) float64 {
		if j < at {
			return 1
		}
		return 0
	}
}

func wave(middle, size, periods float64) func(int) float64 {
	return func(j int) float64 { return middle + size*math.Cos(2*math.Pi*periods*float64(j)/100) }
}

// The table of section 14 of the specification of the Fourier lens.
func TestHighFrequencyFraction(t *testing.T) {
	logistic := func(width float64) func(int) float64 {
		return func(j int) float64 { return 1 / (1 + math.Exp((float64(j)-49.5)/width)) }
	}
	for _, c := range []struct {
		name       string
		q          func(int) float64
		drop, keep float64
	}{
		{"constant", func(int) float64 { return .3 }, 0, 0},
		{"step at 50", step(50), .274861, .274861},
		{"step at 25", step(25), .319844, .326547},
		{"step at 1", step(1), .44, .45},
		{"step at 99", step(99), .44, .45},
		{"dip at 50", func(j int) float64 { return 1 - step(1)(max(j-50, 50-j)) }, .44, .45},
		{"ramp", func(j int) float64 { return 1 - float64(j)/99 }, .309199, .313198},
		{"logistic of width 5", logistic(5), .284072, .287752},
		{"logistic of width 1", logistic(1), .274468, .278125},
		{"five waves", wave(.5, .5, 5), 0, 0},
		{"six waves", wave(.5, .5, 6), 1. / 3, 1. / 3},
		{"six small waves", wave(.9, .1, 6), 1. / 11, 1. / 11},
		{"alternating", func(j int) float64 { return float64(1 - j%2) }, 0, .5},
	} {
		for _, classes := range []int{2, 10} {
			for _, keep := range []bool{false, true} {
				want := map[bool]float64{false: c.drop, true: c.keep}[keep]
				got, err := highFrequencyFraction(exchange(100, classes, c.q), classes, keep)
				if err != nil || math.Abs(got-want) > 6e-7 {
					t.Errorf("%s, %d classes, last bin kept %v: %v, %v; want %v", c.name, classes, keep, got, err, want)
				}
			}
		}
	}
}

// Number 13 of section 14: a wave of T periods counts, one of T − 1 does not.
func TestHFFThreshold(t *testing.T) {
	for _, c := range []struct{ n, k, threshold int }{{10, 6, 1}, {11, 6, 1}, {20, 11, 2}, {49, 25, 3}, {50, 26, 3}, {55, 28, 3}, {100, 51, 6}, {101, 51, 6}} {
		for periods := 1; periods < c.k-1; periods++ {
			p := exchange(c.n, 3, func(j int) float64 { return .5 + .5*math.Cos(2*math.Pi*float64(periods*j)/float64(c.n)) })
			got, err := highFrequencyFraction(p, 3, false)
			want := 0.0
			if periods >= c.threshold {
				want = 1. / 3
			}
			if err != nil || math.Abs(got-want) > 1e-12 {
				t.Errorf("%d points, %d periods: %v, %v; want %v", c.n, periods, got, err, want)
			}
		}
	}
	for _, bad := range []struct{ values, classes int }{{30, 10}, {0, 1}, {41, 4}, {4, 0}} {
		if _, err := highFrequencyFraction(make([]float64, bad.values), bad.classes, false); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
	if _, err := highFrequencyFraction(make([]float64, 40), 4, false); err == nil {
		t.Error("zeros: no error")
	}
}

// Number 12 of section 14.
func TestHFFInvariances(t *testing.T) {
	p := exchange(100, 3, wave(.4, .3, 8.3))
	for j := range 100 {
		p[3*j+2], p[3*j] = p[3*j]*.25, p[3*j]*.75
	}
	want, err := highFrequencyFraction(p, 3, false)
	if err != nil || want <= 0 || want >= 1 {
		t.Fatalf("%v, %v", want, err)
	}
	reversed, shifted, permuted, padded := make([]float64, 300), make([]float64, 300), make([]float64, 300), make([]float64, 500)
	for j := range 100 {
		for c := range 3 {
			v := p[3*j+c]
			reversed[3*(99-j)+c], shifted[3*((j+37)%100)+c], permuted[3*j+(c+1)%3], padded[5*j+c] = v, v, v, v
		}
	}
	for name, q := range map[string][]float64{"reversed": reversed, "shifted": shifted, "permuted": permuted, "padded": padded} {
		if got, err := highFrequencyFraction(q, len(q)/100, false); err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
}

// Number 15 of section 14.
func TestConsistentDistance(t *testing.T) {
	path := func(changes ...int) []int32 {
		classes := make([]int32, 100)
		for _, j := range changes {
			classes[j] = 1
		}
		return classes
	}
	later := path()
	for j := 50; j < 100; j++ {
		later[j] = 3
	}
	for _, c := range []struct {
		classes []int32
		want    int
	}{{path(), 100}, {path(1), 1}, {path(37), 37}, {later, 50}} {
		if got := consistentDistance(c.classes); got != c.want {
			t.Errorf("distance %d, want %d", got, c.want)
		}
	}
}

// meanModel has the class 1 with the mean of an image as probability, and class 0 where that is below one half. It
// misses where an image is brighter than the limit.
type meanModel struct {
	shape pixel.Shape
	limit float32
	calls []int // sizes of the batches
	err   error
}

func (m *meanModel) Info() (classifier.Info, error) {
	return classifier.Info{Name: "mean", Shape: m.shape, Classes: 2}, nil
}

func (m *meanModel) Classify(_ context.Context, b classifier.Batch, r *classifier.Result) error {
	info, _ := m.Info()
	if err := classifier.Check(info, b, r); err != nil {
		return err
	}
	m.calls = append(m.calls, b.N)
	n := m.shape.Len()
	for i := range b.N {
		mean, brightest := float32(0), float32(0)
		for _, v := range b.Real[i*n : (i+1)*n] {
			mean, brightest = mean+v/float32(n), max(brightest, v)
		}
		r.Scores[2*i], r.Scores[2*i+1] = 1-mean, mean
		if r.Classes[i] = 0; mean >= .5 {
			r.Classes[i] = 1
		}
		if brightest > m.limit {
			r.Classes[i] = classifier.Miss
			r.Scores[2*i], r.Scores[2*i+1] = 0, 0
		}
	}
	return m.err
}

// Along pixel paths in normalized space, the mean model sees a ramp whose metrics can be computed apart.
func TestMeasurePaths(t *testing.T) {
	shape := pixel.Shape{Height: 5, Width: 7, Channels: 1}
	images := [][]uint8{slices.Repeat([]uint8{20}, 35), slices.Repeat([]uint8{200}, 35), slices.Repeat([]uint8{120}, 35), slices.Repeat([]uint8{22}, 35)}
	image := func(i int) []uint8 { return images[i] }
	path, err := NewPixel(shape, Normalization{[]float64{0}, []float64{.05}})
	if err != nil {
		t.Fatal(err)
	}
	pairs := []Pair{{0, 1}, {1, 1}, {0, 3}, {0, 2}, {2, 1}, {1, 0}}
	var hff []float64
	for _, pair := range pairs {
		x, y := float64(images[pair[0]][0])/255, float64(images[pair[1]][0])/255
		d := math.Abs(y-x) / .05 * math.Sqrt(35)
		n := int(math.Ceil(d))
		if n < 4 {
			continue
		}
		h, err := highFrequencyFraction(exchange(n, 2, func(j int) float64 { return x + (y-x)*float64(j)/d }), 2, false)
		if err != nil {
			t.Fatal(err)
		}
		hff = append(hff, h)
	}
	want := 0.0
	for _, h := range hff {
		want += h / 4
	}
	sum := 0.0
	for _, h := range hff {
		sum += (h - want) * (h - want)
	}
	margin := 1.96 * math.Sqrt(sum/3) / 2
	for _, batch := range []int{0, 1, 7, 1000} {
		model := &meanModel{shape: shape, limit: 2}
		m, err := MeasurePaths(t.Context(), model, path, image, pairs, PathOptions{Batch: batch})
		if err != nil {
			t.Fatal(err)
		}
		if m.Paths != 4 || m.Skipped != 2 || m.Missed != 0 || m.CD != nil || math.Abs(m.HFF.Mean-want) > 1e-6 ||
			math.Abs(m.HFF.Interval[0]-(want-margin)) > 1e-6 || math.Abs(m.HFF.Interval[1]-(want+margin)) > 1e-6 {
			t.Errorf("batch %d: %+v, want 4 paths of mean %v ± %v, and 2 skipped", batch, m, want, margin)
		}
		for k, n := range model.calls {
			if full := max(batch, 1); batch > 0 && n != full && k != len(model.calls)-1 {
				t.Errorf("batch %d: call %d with %d images", batch, k, n)
			}
		}
	}
}

// On amplitude paths between grey images, the mean goes straight from one to the other.
func TestMeasureAmplitudePaths(t *testing.T) {
	shape := pixel.Shape{Height: 4, Width: 4, Channels: 1}
	images := [][]uint8{slices.Repeat([]uint8{0}, 16), slices.Repeat([]uint8{255}, 16), slices.Repeat([]uint8{51}, 16)}
	image := func(i int) []uint8 { return images[i] }
	path := mustAmplitude(t, shape, FourierOptions{})
	m, err := MeasurePaths(t.Context(), &meanModel{shape: shape, limit: 2}, path, image, []Pair{{0, 1}, {2, 0}}, PathOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// 0 → 1 crosses one half at λ = 1/2, between the points 49 and 50; the other never does.
	if m.CD == nil || m.CD.Mean != 75 || m.CD.Interval[0] != 75-1.96*math.Sqrt(1250)/math.Sqrt(2) {
		t.Errorf("%+v; want a mean consistent distance of 75", m.CD)
	}
	// A path through a miss does not count.
	m, err = MeasurePaths(t.Context(), &meanModel{shape: shape, limit: .7}, path, image, []Pair{{0, 1}, {2, 0}}, PathOptions{})
	if err != nil || m.Missed != 1 || m.Paths != 1 || m.CD.Mean != 100 || m.HFF.Interval != nil {
		t.Errorf("%+v, %v; want one path, one missed", m, err)
	}
	if _, err := MeasurePaths(t.Context(), &meanModel{shape: shape, limit: -1}, path, image, []Pair{{0, 1}}, PathOptions{}); err == nil {
		t.Error("only misses: no error")
	}
	failure := errors.New("out of order")
	if _, err := MeasurePaths(t.Context(), &meanModel{shape: shape, err: failure}, path, image, []Pair{{0, 1}}, PathOptions{Batch: 3}); !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
	if _, err := MeasurePaths(t.Context(), &meanModel{shape: pixel.Shape{Height: 4, Width: 4, Channels: 3}}, path, image, []Pair{{0, 1}}, PathOptions{}); err == nil {
		t.Error("a model of another shape: no error")
	}
	images[1] = images[1][:5]
	if _, err := MeasurePaths(t.Context(), &meanModel{shape: shape, limit: 2}, path, image, []Pair{{0, 1}}, PathOptions{}); err == nil {
		t.Error("a short image: no error")
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	images[1] = slices.Repeat([]uint8{255}, 16)
	if _, err := MeasurePaths(stopped, &meanModel{shape: shape, limit: 2}, path, image, []Pair{{0, 1}}, PathOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

func highFrequencyFraction(predictions []float64, classes int, keepLast bool) (float64, error) {
	if classes < 1 || len(predictions)%max(classes, 1) != 0 || len(predictions) < 4*classes {
		return 0, &InputError{"path", fmt.Sprintf("%d predictions of %d classes", len(predictions), classes),
			"at least 4 points, of all classes each"}
	}
	return newFractions(classes, keepLast).of(predictions)
}
