package classifiertest_test

import (
	"context"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/classifier/classifiertest"
	"github.com/certspec/certspec/pixel"
)

// wrong is a good engine with one fault.
type wrong struct {
	classifier.Step
	fault string
	calls *atomic.Int64
}

// faults that the suite must find.
var faults = []string{
	"ties to the last", "no scores", "scores of another row", "neighbours matter", "place matters",
	"drifts", "forms differ", "logits of another row", "logits though it has none", "ignores cancellation", "trusts lengths", "NaN is a class", "writes behind",
}

func (w wrong) Info() (classifier.Info, error) {
	info, err := w.Step.Info()
	info.Logits = w.fault != "logits though it has none"
	return info, err
}

func (w wrong) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	calls := w.calls.Add(1)
	info, _ := w.Info()
	if w.fault == "ignores cancellation" {
		ctx = context.WithoutCancel(ctx)
	}
	if w.fault == "NaN is a class" && batch.Real != nil {
		clean := append([]float32(nil), batch.Real...)
		for i, v := range clean {
			if v-v != 0 {
				clean[i] = 0
			}
		}
		batch.Real = clean
	}
	if err := w.Step.Classify(ctx, batch, result); err != nil {
		if w.fault == "trusts lengths" && ctx.Err() == nil {
			return nil
		}
		return err
	}
	k, n := info.Classes, batch.N
	if w.fault == "logits of another row" && result.Logits != nil {
		copy(result.Logits, result.Logits[k:n*k])
	}
	switch w.fault {
	case "ties to the last":
		for i := range n {
			result.Classes[i] = int32(k - 1)
		}
	case "no scores":
		clear(result.Scores)
	case "scores of another row":
		if result.Scores != nil && n > 1 {
			first := append([]float32(nil), result.Scores[:k]...)
			copy(result.Scores, result.Scores[k:n*k])
			copy(result.Scores[(n-1)*k:], first)
		}
	case "neighbours matter":
		if n%7 == 0 {
			swap(result, 0, k)
		}
	case "place matters":
		swap(result, n-1, k)
	case "drifts":
		if calls%2 == 0 {
			swap(result, n/2, k)
		}
	case "forms differ":
		if batch.Real != nil {
			swap(result, 0, k)
		}
	case "writes behind":
		if len(result.Classes) > n {
			result.Classes[n] = 0
		}
	}
	return nil
}

// swap exchanges the class of one image for another, consistently with its scores.
func swap(result *classifier.Result, i, k int) {
	old := result.Classes[i]
	if old == classifier.Miss {
		return
	}
	class := (int(old) + 1) % k
	result.Classes[i] = int32(class)
	if result.Scores != nil {
		row := result.Scores[i*k : (i+1)*k]
		row[old], row[class] = row[class], row[old]
	}
}

// TestSuiteFindsFaults runs the suite on each wrong engine in a process of its own, which
// must fail.
func TestSuiteFindsFaults(t *testing.T) {
	const variable = "CERTSPEC_TEST_FAULT"
	if fault := os.Getenv(variable); fault != "" {
		var calls atomic.Int64
		classifiertest.Run(t, func(*testing.T) classifier.Classifier {
			return wrong{classifier.Step{Shape: pixel.Shape{Height: 1, Width: 2, Channels: 1}, Thresholds: []float64{.2, .6}}, fault, &calls}
		}, classifiertest.Options{ArrangementFree: true})
		return
	}
	for _, fault := range append(faults, "none") {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSuiteFindsFaults$")
		cmd.Env = append(os.Environ(), variable+"="+fault)
		output, err := cmd.CombinedOutput()
		if _, failed := err.(*exec.ExitError); failed == (fault == "none") {
			t.Errorf("fault %q: %v\n%s", fault, err, output)
		}
	}
}
