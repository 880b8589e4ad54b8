package train

import (
	"fmt"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/pixel"
)

// startTensors gives tensors the first values that the method makes of the images.
func (p *plan) startTensors(s *state) error {
	starter, ok := p.method.(method.Starter)
	if !ok || p.start != nil {
		return nil
	}
	shape := p.images.Shape
	more := map[string][][]float64{}
	for _, f := range p.more {
		more[f.name] = rows(f.images, shape)
	}
	values, err := starter.Start(shape, rows(p.images, shape), more)
	if err != nil {
		return fmt.Errorf("train: method %s: %w", p.method.Name(), err)
	}
	for name, v := range values {
		i := indexOf(p.tensors, name)
		if len(v) != len(s.weights[i]) {
			return fmt.Errorf("train: method %s: %d first values of %s; expected %d", p.method.Name(), len(v), name,
				len(s.weights[i]))
		}
		s.weights[i] = v
	}
	return nil
}

// rows are images with values in [0, 1], their middle of a shape.
func rows(images *dataset.Images, shape pixel.Shape) [][]float64 {
	top, left := (images.Shape.Height-shape.Height)/2, (images.Shape.Width-shape.Width)/2
	out := make([][]float64, images.Len())
	for i := range out {
		pixels, row := images.Image(i), make([]float64, 0, shape.Len())
		for y := range shape.Height {
			at := ((top+y)*images.Shape.Width + left) * shape.Channels
			for _, b := range pixels[at : at+shape.Width*shape.Channels] {
				row = append(row, float64(b)/255)
			}
		}
		out[i] = row
	}
	return out
}
