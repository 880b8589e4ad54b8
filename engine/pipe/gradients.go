package pipe

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
)

// asksGradients marks the number of a request for gradients.
const asksGradients = 1 << 63

// ConfidenceGradients gives, at each point, the probability of a class and its gradient by the values of
// the point. A point is an image, channels last, where white is 1. An error tells that the program's
// hello offers no gradients, or that an answer is not finite.
func (m *Model) ConfidenceGradients(ctx context.Context, points [][]float64, classes []int32) (
	confidences []float64, gradients [][]float64, err error) {
	info, err := m.Info()
	if err != nil {
		return nil, nil, err
	}
	if h, _ := m.known(); !h.Gradients {
		return nil, nil, fmt.Errorf("pipe: %s gives no gradients: its hello does not say that it does", m)
	}
	size := info.Shape.Len()
	content := make([]byte, 0, 4*len(points)*(size+1))
	for i, point := range points {
		if len(point) != size {
			return nil, nil, fmt.Errorf("pipe: point %d has %d values; expected %d", i, len(point), size)
		}
		for _, v := range point {
			content = binary.LittleEndian.AppendUint32(content, math.Float32bits(float32(v)))
		}
	}
	for _, class := range classes {
		content = binary.LittleEndian.AppendUint32(content, uint32(class))
	}
	err = m.exchange(ctx, func(*slot) (question, error) {
		return question{asksGradients, len(points), content, 4 * len(points) * (size + 1)}, nil
	}, func(answer []byte) error {
		next := func() float64 {
			v := math.Float32frombits(binary.LittleEndian.Uint32(answer))
			answer = answer[4:]
			return float64(v)
		}
		for i := range points {
			p, gradient := next(), make([]float64, size)
			for j := range gradient {
				gradient[j] = next()
				if gradient[j]-gradient[j] != 0 || !(p >= 0 && p <= 1.001) {
					return fmt.Errorf("its gradient at image %d of a batch is %v for the probability %v", i,
						gradient[j], p)
				}
			}
			confidences, gradients = append(confidences, p), append(gradients, gradient)
		}
		return nil
	})
	return confidences, gradients, err
}
