package rs_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
)

// pausing answers some calls, and then waits until it may go on.
type pausing struct {
	classifier.Classifier
	calls *atomic.Int32
	goOn  chan struct{}
}

func (m pausing) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	if m.calls.Add(1) > 4 {
		<-m.goOn
	}
	return m.Classifier.Classify(ctx, batch, result)
}

// Where all images take as many noise samples, the time left is known before the first image is done.
func TestTimeLeftBeforeTheFirstImage(t *testing.T) {
	var first atomic.Pointer[progress.State]
	model := pausing{classifier.Step{Shape: oneGrey, Thresholds: []float64{.2}}, &atomic.Int32{}, make(chan struct{})}
	var once sync.Once
	o := rs.Options{Sigma: .25, Rule: rs.Fixed, MaxSamples: 2000, Workers: 1, Progress: func(s progress.State) {
		if s.Rate > 0 {
			once.Do(func() {
				first.Store(&s)
				close(model.goOn)
			})
		}
	}}
	if _, err := rs.Certify(t.Context(), model, greys(oneGrey, always(1), 100, 120, 140), o); err != nil {
		t.Fatal(err)
	}
	s := first.Load()
	if s == nil || s.Done != 0 || s.Left <= 0 {
		t.Fatalf("the first report with a rate: %+v", s)
	}
	// At most 4 of 3 × 21 blocks are done at this rate.
	if least := float64(3*2100-4*100) / s.Rate; s.Left.Seconds() < least*(1-1e-9) || s.Left.Seconds() > 3*2100/s.Rate {
		t.Errorf("%v left at %v noise samples/s; expected at least %v s", s.Left, s.Rate, least)
	}
}
