package train

import (
	"context"
	"fmt"
	"iter"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
)

// evaluator measures the accuracy of a state on the test images.
type evaluator struct {
	plan    *plan
	exec    *Exec
	weights []*tensors.Tensor
}

func newEvaluator(b *backend.Backend, p *plan, s *state) (*evaluator, error) {
	e := &evaluator{plan: p}
	for i, info := range p.tensors {
		e.weights = append(e.weights, tensors.FromFlatDataAndDimensions(s.weights[i], info.Shape...))
	}
	exec, err := NewExec(b.Backend, func(inputs []*Node) *Node {
		return p.net.Forward(inputs[0], func(name string) *Node { return inputs[1+indexOf(p.tensors, name)] })
	})
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	e.exec = exec
	return e, nil
}

// accuracy is the share of test images classified right with one draw of noise each.
func (e *evaluator) accuracy(ctx context.Context, sigma float64) (float64, error) {
	test, n := e.plan.test, e.plan.run.Recipe.BatchSize
	size := test.Shape.Len()
	info := classifier.Info{Name: e.plan.run.Architecture.Name, Shape: test.Shape, Classes: len(test.Classes)}
	result := classifier.Result{Classes: make([]int32, n)}
	images := make([]float32, n*size) // the last batch is filled up with what was there
	right := 0
	next, stop := iter.Pull2(test.Ahead(ctx, 0, test.Len()))
	defer stop()
	for start := 0; start < test.Len(); start += n {
		if err := ctx.Err(); err != nil {
			return 0, fmt.Errorf("train: stopped while measuring the accuracy: %w", context.Cause(ctx))
		}
		end := min(start+n, test.Len())
		for i := start; i < end; i++ {
			out := images[(i-start)*size : (i-start+1)*size]
			one, err, _ := next()
			if err != nil {
				return 0, fmt.Errorf("train: %w", err)
			}
			scale(one.Pixels, out)
			e.plan.noiseOf(sigma).to(out, stream(e.plan.run.Recipe.Seed, testStream, 0, i, 0))
		}
		input := tensors.FromFlatDataAndDimensions(images, n, test.Shape.Height, test.Shape.Width, test.Shape.Channels)
		args := []any{input}
		for _, w := range e.weights {
			args = append(args, w)
		}
		outputs, err := e.exec.Call(args...)
		if err != nil {
			return 0, fmt.Errorf("train: %w", err)
		}
		logits, err := tensors.CopyFlatData[float32](outputs[0])
		if err != nil {
			return 0, fmt.Errorf("train: %w", err)
		}
		if err := free(append(outputs, input)); err != nil {
			return 0, err
		}
		classifier.Decide(info, classifier.Batch{N: n, Real: images}, logits, &result)
		for i := start; i < end; i++ {
			if int(result.Classes[i-start]) == test.Labels[i] {
				right++
			}
		}
	}
	return float64(right) / float64(test.Len()), nil
}

func (e *evaluator) close() {
	free(e.weights)
	e.exec.Finalize()
}
