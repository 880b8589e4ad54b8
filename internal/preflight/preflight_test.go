package preflight

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/noise"
)

var shape = pixel.Shape{Height: 4, Width: 4, Channels: 3}

// colours is a data set of 90 images in which red, green or blue is the brightest; label gives the
// label of a colour, -1 for none.
func colours(t *testing.T, label func(colour int) int) *dataset.Dataset {
	t.Helper()
	const n = 90
	random := rand.New(rand.NewPCG(1, 2))
	var pixels, labels []byte
	unlabelled := false
	for i := range n {
		colour := i % 3
		unlabelled = unlabelled || label(colour) < 0
		labels = append(labels, byte(max(0, label(colour))))
		for j := range shape.Len() {
			v := 60 + random.IntN(20)
			if j%3 == colour {
				v += 120
			}
			pixels = append(pixels, byte(v))
		}
	}
	dir := t.TempDir()
	write := func(name, dims string, data []byte) string {
		header := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%s), }", dims)
		header += strings.Repeat(" ", 117-len(header)) + "\n"
		return testkit.Write(t, append([]byte("\x93NUMPY\x01\x00\x76\x00"+header), data...), dir, name)
	}
	d, err := dataset.Open("npy:" + write("images.npy", "90, 4, 4, 3", pixels) + "," + write("labels.npy", "90,", labels))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func same(colour int) int { return colour }

// toy answers from the channel means of an image, in units of the full range.
type toy struct {
	shape   pixel.Shape
	classes int
	logits  func(mean [3]float64, batch float64) []float64 // batch is the mean of red over the batch
	scores  bool                                           // can give scores
	calls   func() float64                                 // is added to logit 0
	fail    error
	grid    bool // takes grid images alone
}

func (m toy) Info() (classifier.Info, error) {
	return classifier.Info{Name: "toy", Shape: m.shape, Classes: m.classes, Identity: classifier.Identity{Weights: "toy", Engine: "toy", Threads: 1}}, nil
}

func (m toy) Classify(_ context.Context, batch classifier.Batch, result *classifier.Result) error {
	info, _ := m.Info()
	if err := classifier.Check(info, batch, result); err != nil {
		return err
	}
	if m.fail != nil {
		return m.fail
	}
	if m.grid && batch.Real != nil {
		return errors.New("grid images alone")
	}
	if result.Scores != nil && !m.scores {
		return errors.New("no scores")
	}
	size := m.shape.Len()
	value := func(i int) float64 {
		if batch.Grid != nil {
			return float64(batch.Grid[i]) / pixel.Steps
		}
		return float64(batch.Real[i])
	}
	all := 0.0
	for i := 0; i < batch.N*size; i += 3 {
		all += value(i) / float64(batch.N*size/3)
	}
	extra := 0.0
	if m.calls != nil {
		extra = m.calls()
	}
	var logits []float32
	for i := range batch.N {
		var mean [3]float64
		for j := range size {
			mean[j%3] += value(i*size+j) / float64(size/3)
		}
		row := m.logits(mean, all)
		row[0] += extra
		for _, v := range row {
			logits = append(logits, float32(v))
		}
	}
	classifier.Decide(info, batch, logits, result)
	return nil
}

// good gives the brightest channel, sharply.
func good(mean [3]float64, _ float64) []float64 {
	return []float64{20 * mean[0], 20 * mean[1], 20 * mean[2]}
}

// guess answers at random, as a function of the image.
func guess(seed uint64) func([3]float64, float64) []float64 {
	return func(m [3]float64, _ float64) []float64 {
		random := rand.New(rand.NewPCG(seed, math.Float64bits(m[0])^math.Float64bits(m[1])<<7^math.Float64bits(m[2])<<13))
		return []float64{random.Float64(), random.Float64(), random.Float64()}
	}
}

func model(logits func([3]float64, float64) []float64) toy {
	return toy{shape: shape, classes: 3, logits: logits, scores: true}
}

// clock moves a second at each look.
func clock() func() time.Time {
	var mu sync.Mutex
	at := time.Unix(0, 0)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		at = at.Add(time.Second)
		return at
	}
}

func look(t *testing.T, m classifier.Classifier, d *dataset.Dataset, opt Options) *Report {
	t.Helper()
	if opt.Run.Sigma == 0 {
		opt.Run.Sigma = 0.1
	}
	r, err := run(t.Context(), m, d, opt, clock())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func find(t *testing.T, r *Report, name string) Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %q in %+v", name, r.Checks)
	return Check{}
}

const (
	checkForm   = "channel order, scale and normalisation"
	checkRepeat = "same input, same answer"
)

func TestGoodModel(t *testing.T) {
	for _, law := range []noise.Law{noise.LawGrid, noise.LawGaussian} {
		r := look(t, model(good), colours(t, same), Options{Run: rs.Options{Noise: law}})
		for _, c := range r.Checks {
			if c.Verdict != OK || c.Advice != "" || c.Found == "" {
				t.Errorf("%s: %+v", law, c)
			}
		}
		if r.Count(OK) != 9 || len(r.Checks) != 9 || r.Images != 90 || r.Samples != 100 {
			t.Errorf("%s: %+v", law, r)
		}
		if *r.CleanAccuracy != 1 || *r.NoisyAccuracy < 0.999 || r.Agreement < 0.999 {
			t.Errorf("%s: accuracies %v and %v, agreement %v", law, *r.CleanAccuracy, *r.NoisyAccuracy, r.Agreement)
		}
	}
}

// Each model has one thing wrong with it; the check that names it has the verdict, with the words.
func TestVerdicts(t *testing.T) {
	nan := math.NaN()
	var odd float64
	for name, c := range map[string]struct {
		model   toy
		label   func(int) int
		opt     Options
		check   string
		verdict Verdict
		says    []string
	}{
		"channels swapped": {model(func(m [3]float64, b float64) []float64 { return good([3]float64{m[2], m[1], m[0]}, b) }), same,
			Options{}, checkForm, Failure, []string{"33 % are right as it is now, and up to 100 %", "cannot tell apart: its channels in the order blue, green, red (100 %)", "bgr", "interval"}},
		"0 to 255": {model(func(m [3]float64, b float64) []float64 {
			if m[0]+m[1]+m[2] < 10 {
				return []float64{1, 0, 0}
			}
			return good(m, b)
		}), same, Options{}, checkForm, Failure, []string{"0 to 255", "\"scale\": 255"}},
		"scaled twice": {model(func(m [3]float64, b float64) []float64 {
			if m[0]+m[1]+m[2] > 0.1 {
				return []float64{1, 0, 0}
			}
			return good([3]float64{255 * m[0], 255 * m[1], 255 * m[2]}, b)
		}), same, Options{}, checkForm, Failure, []string{"255 times smaller"}},
		"from −1": {model(func(m [3]float64, b float64) []float64 {
			if min(m[0], m[1], m[2]) > 0 {
				return []float64{1, 0, 0}
			}
			if min(m[0], m[1], m[2]) < -0.6 { // normalised by deviations
				return []float64{0, 0, 1}
			}
			return good(m, b)
		}), same, Options{}, checkForm, Failure, []string{"−1 to 1"}},
		"inverted": {model(func(m [3]float64, b float64) []float64 { return good([3]float64{-m[0], -m[1], -m[2]}, b) }), same,
			Options{}, checkForm, Failure, []string{"black and white"}},
		"labels moved": {model(good), func(c int) int { return (c + 1) % 3 }, Options{}, "labels", Failure,
			[]string{"0 for 1 (1), 1 for 2 (2), 2 for 0 (0)", "100 % are right, and 0 %"}},
		"two labels swapped": {model(good), func(c int) int { return []int{0, 2, 1}[c] }, Options{}, "labels", Failure,
			[]string{"class 1 for 2 (2), 2 for 1 (1)", "100 % are right, and 33 %"}},
		"constant": {model(func([3]float64, float64) []float64 { return []float64{0, 1, 0} }), same,
			Options{}, "different answers", Failure, []string{"class 1 (1) to every image"}},
		"one class without noise": {model(func(m [3]float64, b float64) []float64 {
			for i := range m {
				if math.Abs(m[i]-0.27) > 0.02 && math.Abs(m[i]-0.74) > 0.02 {
					return good(m, b)
				}
			}
			return []float64{0, 1, 0}
		}), same, Options{}, "different answers", Warning, []string{"one class to all 90 images as they are"}},
		"guessing": {model(guess(0)), same, Options{}, "accuracy", Failure, []string{"no better than guessing (33 %)"}},
		"NaN": {model(func(m [3]float64, _ float64) []float64 { return []float64{nan, m[1], m[2]} }), same,
			Options{}, "finite outputs", Failure, []string{"90 of 90 images and 9,000 of 9,000"}},
		"NaN under noise": {model(func(m [3]float64, b float64) []float64 {
			row := good(m, b)
			if m[0]+m[1]+m[2] > 1.395 {
				row[0] = nan
			}
			return row
		}), same, Options{}, "finite outputs", Warning, []string{"0 of 90 images"}},
		"not trained for noise": {model(func(m [3]float64, b float64) []float64 {
			for i := range m { // right on an image's own values only
				if math.Abs(m[i]-0.27) > 0.02 && math.Abs(m[i]-0.74) > 0.02 {
					return []float64{0, 0, 1}
				}
			}
			return good(m, b)
		}), same, Options{}, "noise", Failure, []string{"100 % of images", "does not seem to be trained", "certspec train --sigma 0.1"}},
		"trained for less noise": {model(good), same, Options{Run: rs.Options{Sigma: 2}}, "noise", Warning, []string{"100 % of images"}},
		"batch dependent": {model(func(m [3]float64, b float64) []float64 { // normalised by the batch
			return []float64{5 * (m[0] - b), 0, 5 * (m[2] - b)}
		}), same, Options{}, checkRepeat, Failure, []string{"beside", "evaluation"}},
		"batch dependent with classes alone": {toy{shape: shape, classes: 3, logits: func(m [3]float64, b float64) []float64 {
			return []float64{m[0] - 1.5*b, 0, m[2] - 1.5*b}
		}}, same, Options{}, checkRepeat, Failure, []string{"beside"}},
		"random": {toy{shape: shape, classes: 3, logits: good, scores: true, calls: func() float64 { odd = 20 - odd; return odd }}, same,
			Options{}, checkRepeat, Failure, []string{"by more than rounding", "dropout"}},
		"rounding": {toy{shape: shape, classes: 3, logits: good, scores: true, calls: func() float64 { odd += 1e-4; return odd }}, same,
			Options{}, checkRepeat, Warning, []string{"by rounding"}},
		"too few classes": {toy{shape: shape, classes: 2, logits: func(m [3]float64, b float64) []float64 { return good(m, b)[:2] }, scores: true}, same,
			Options{}, "classes", Failure, []string{"label 2", "classes 0 to 1"}},
		"more classes": {toy{shape: shape, classes: 4, logits: func(m [3]float64, b float64) []float64 { return append(good(m, b), -9) }, scores: true}, same,
			Options{}, "classes", Warning, []string{"4 classes, the data 3"}},
		"other names": {model(good), same, Options{ClassNames: []string{"0", "two", "1"}}, "classes", Warning, []string{`1 is "two" in the model and "1" in the data`}},
	} {
		t.Run(name, func(t *testing.T) {
			odd = 0
			r := look(t, c.model, colours(t, c.label), c.opt)
			got := find(t, r, c.check)
			if got.Verdict != c.verdict {
				t.Errorf("%+v, want the verdict %s", got, c.verdict)
			}
			for _, words := range c.says {
				if !strings.Contains(got.Found+" "+got.Advice, words) {
					t.Errorf("%+v does not say %q", got, words)
				}
			}
			if got.Verdict != OK && got.Advice == "" {
				t.Errorf("%+v has no advice", got)
			}
		})
	}
}

// A model that guesses must not be taken for one of permuted labels or another form, whatever
// the draw: 20 of them, where chance alone brings one of 1,000 over the level of a sign test.
func TestGuessingHasNoExplanation(t *testing.T) {
	d := colours(t, same)
	for seed := range 20 {
		r := look(t, model(guess(uint64(seed))), d, Options{Run: rs.Options{Block: 10}})
		for _, name := range []string{checkForm, "labels"} {
			if c := find(t, r, name); c.Verdict != OK {
				t.Errorf("%d: %+v", seed, c)
			}
		}
	}
}

// Among many classes an order can be found that fits the images it is made from, whatever the answers.
func TestManyClassesHaveNoOrder(t *testing.T) {
	const classes = 45
	random := rand.New(rand.NewPCG(8, 9))
	p := &pilot{info: classifier.Info{Classes: classes}, images: &dataset.Images{}}
	for i := range 2 * classes {
		p.images.Labels = append(p.images.Labels, i%classes)
		p.classes = append(p.classes, int32(random.IntN(classes)))
	}
	if c := p.checkLabels(); c.Verdict != OK {
		t.Errorf("%+v", c)
	}
	for i, label := range p.images.Labels { // a true shift is found
		p.classes[i] = int32((label + 1) % classes)
	}
	if c := p.checkLabels(); c.Verdict != Failure || !strings.Contains(c.Found, "100 % are right, and 0 %") {
		t.Errorf("%+v", c)
	}
}

// What cannot be checked is said, and fails nothing: no labels, a model of grid images and classes alone.
func TestNotChecked(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.png", "b.png"} {
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(file, image.NewRGBA(image.Rect(0, 0, 4, 4))); err != nil {
			t.Fatal(err)
		}
		file.Close()
	}
	d, err := dataset.Open("folder:" + dir + "[background=black]")
	if err != nil {
		t.Fatal(err)
	}
	r := look(t, model(good), d, Options{})
	if r.CleanAccuracy != nil || r.NoisyAccuracy != nil || r.Images != 2 {
		t.Errorf("%+v", r)
	}
	for _, name := range []string{"accuracy", checkForm, "labels"} {
		if c := find(t, r, name); c.Verdict != OK || !strings.Contains(c.Found, "Not checked") {
			t.Errorf("%+v", c)
		}
	}
	if c := find(t, r, "noise"); !strings.Contains(c.Found, "the class of their image without noise") {
		t.Errorf("%+v", c)
	}

	m := toy{shape: shape, classes: 3, logits: good, grid: true}
	r = look(t, m, colours(t, same), Options{})
	if c := find(t, r, checkForm); r.Count(OK) != 9 || !strings.Contains(c.Found, "Not checked: the model refuses") {
		t.Errorf("%+v", r.Checks)
	}
}

// Of a large folder only the images that are looked at are decoded: the others are no pictures here.
func TestDecodesWhatIsLookedAt(t *testing.T) {
	dir := t.TempDir()
	write := func(i int, data []byte) {
		testkit.Write(t, data, dir, fmt.Sprintf("%02d.png", i))
	}
	const all, some = 40, 8
	for i := range all {
		write(i, nil)
	}
	d, err := dataset.Open("folder:" + dir + "[channels=rgb]")
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := d.Subset(dataset.Count(some)).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	for _, id := range chosen.IDs {
		write(id, picture.Bytes())
	}
	opt := Options{Images: some}
	opt.Run.Sigma = 0.25
	if r := look(t, model(good), d, opt); r.Images != some || !strings.Contains(find(t, r, "time").Found, "40 images") {
		t.Errorf("%d images are looked at; %+v", r.Images, r.Checks)
	}
}

func TestPlans(t *testing.T) {
	d := colours(t, same)
	opt := Options{Run: rs.Options{Sigma: 0.1, Rule: rs.Fixed, MaxSamples: 5000, Workers: 1}, Images: 30}
	r := look(t, model(good), d, opt)
	if r.Images != 30 {
		t.Fatalf("%d images", r.Images)
	}
	// The clock of the test is looked at once at the start, and once at the end: a second.
	if r.Rate != 3000 {
		t.Errorf("rate %v, want 3000 noise samples in a second", r.Rate)
	}
	first := r.Plans[0]
	if first.Rule != rs.Fixed || first.MaxSamples != 5000 || first.Samples != 90*5100 || first.Seconds != 90*5100/3000. || first.Fits != nil {
		t.Errorf("plan %+v", first)
	}
	run, err := opt.Run.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if want := run.RadiusCap(); first.RadiusCap != want || first.MeanRadius > want || first.MeanRadius < 0.7*want {
		t.Errorf("plan %+v, largest radius %v", first, want)
	}
	for _, p := range r.Plans {
		if p.Rule == rs.Staged && p.MaxSamples == 100_000 && !(p.Samples > 90*1000 && p.Samples < 90*100_100) {
			t.Errorf("plan %+v", p)
		}
	}
	if len(r.Plans) != 15 {
		t.Errorf("%d plans", len(r.Plans))
	}

	opt.Budget = 100 * time.Second
	r = look(t, model(good), d, opt)
	c := find(t, r, "time")
	if c.Verdict != Warning || !strings.Contains(c.Advice, "Into 2 min fits --rule fixed --n 3000") {
		t.Errorf("%+v of %+v", c, r.Plans)
	}
	for _, p := range r.Plans {
		if *p.Fits != (p.Seconds <= 100) {
			t.Errorf("plan %+v in 100 s", p)
		}
	}
	opt.Budget = time.Second
	if c = find(t, look(t, model(good), d, opt), "time"); c.Verdict != Warning || !strings.Contains(c.Advice, "--count 1") {
		t.Errorf("%+v", c)
	}
	opt.Budget = time.Hour
	if c = find(t, look(t, model(good), d, opt), "time"); c.Verdict != OK {
		t.Errorf("%+v", c)
	}
	// 90 images at 3,000 samples a second: 200,000 each take 1.7 h.
	opt.Budget, opt.Run.MaxSamples = 0, 200_000
	if c = find(t, look(t, model(good), d, opt), "time"); c.Verdict != Warning || !strings.Contains(c.Advice, "fits --rule ") || !strings.Contains(c.Advice, "fewer images (--count)") {
		t.Errorf("%+v", c)
	}
}

// The pilot's noise is none of the run's.
func TestPilotSeed(t *testing.T) {
	d := colours(t, same)
	images, err := d.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := model(good)
	info, _ := m.Info()
	opt := rs.Options{Sigma: 0.1, MaxSamples: 100, Rule: rs.Fixed}
	certified, err := rs.Certify(t.Context(), m, d, opt)
	if err != nil {
		t.Fatal(err)
	}
	opt.Noise = noise.LawGrid
	seed := pilotSeed(info, images, opt)
	opt.Sigma = 0.2
	if certified.Header.Seed == seed || seed == pilotSeed(info, images, opt) {
		t.Errorf("seed %d of the run, %d of the pilot, %d of another", certified.Header.Seed, seed, pilotSeed(info, images, opt))
	}
}

func TestErrors(t *testing.T) {
	d := colours(t, same)
	broken := model(good)
	broken.fail = errors.New("the engine broke")
	for want, c := range map[string]struct {
		model toy
		opt   Options
	}{
		"Sigma is 0":            {model(good), Options{}},
		"MaxSamples is 50":      {model(good), Options{Run: rs.Options{Sigma: 1, MaxSamples: 50}}},
		"Images is -1":          {model(good), Options{Run: rs.Options{Sigma: 1}, Images: -1}},
		"takes images of 2×2×3": {toy{shape: pixel.Shape{Height: 2, Width: 2, Channels: 3}, classes: 3}, Options{Run: rs.Options{Sigma: 1}}},
		"1 classes":             {toy{shape: shape, classes: 1}, Options{Run: rs.Options{Sigma: 1}}},
		"the engine broke":      {broken, Options{Run: rs.Options{Sigma: 1}}},
	} {
		if _, err := Run(t.Context(), c.model, d, c.opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Run(ctx, model(good), colours(t, same), Options{Run: rs.Options{Sigma: 1}}); !errors.Is(err, context.Canceled) {
		t.Errorf("after a cancellation: %v", err)
	}
}

// A model that is sure and wrong has no certified radius to expect, whatever its votes are.
func TestForecastCountsRightAnswers(t *testing.T) {
	o := rs.Options{Sigma: 0.25, Rule: rs.Fixed, MaxSamples: 1000}
	radius := func(known ...Votes) float64 {
		plan, err := forecast(known, o, 10, 1)
		if err != nil {
			t.Fatal(err)
		}
		return plan.MeanRadius
	}
	sure, wrong := Votes{Hits: 100, Samples: 100}, Votes{Hits: 100, Samples: 100, Wrong: true}
	if both, one := radius(sure, wrong), radius(sure); one < 0.3 || math.Abs(both-one/2) > 1e-12 || radius(wrong) != 0 {
		t.Errorf("radii %v of one right answer, %v with a wrong one, %v of that", one, both, radius(wrong))
	}
	p := &pilot{images: &dataset.Images{Labels: []int{1, 1, 0, -1}}}
	p.opt.Block = 100
	for range p.images.Labels {
		p.votes = append(p.votes, map[int32]int{0: 60, 1: 40})
	}
	p.votes[1] = map[int32]int{0: 50, 1: 50}
	for i, want := range []Votes{{60, 100, true}, {50, 100, false}, {60, 100, false}, {60, 100, false}} {
		if got := p.probabilities()[i]; got != want {
			t.Errorf("image %d: %+v, want %+v", i, got, want)
		}
	}
}
