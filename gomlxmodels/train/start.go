package train

import (
	"fmt"

	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/pixel"
)

// startTensors gives tensors the first values that the method makes of the images.
func (p *plan) startTensors(s *state) error {
	starter, ok := p.method.(method.Starter)
	if !ok || p.start != nil {
		return nil
	}
	shape, why := p.images.Shape, "method "+p.method.Name()
	own, err := rows(p.images, shape, why)
	if err != nil {
		return err
	}
	more := map[string][][]float64{}
	for _, f := range p.more {
		if more[f.name], err = rows(f.images, shape, why); err != nil {
			return err
		}
	}
	values, err := starter.Start(shape, own, more)
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
func rows(images *pictureSet, shape pixel.Shape, why string) ([][]float64, error) {
	if err := images.needsMemory(why); err != nil {
		return nil, err
	}
	top, left := (images.Shape.Height-shape.Height)/2, (images.Shape.Width-shape.Width)/2
	out := make([][]float64, images.Len())
	for i := range out {
		pixels, err := images.image(i)
		if err != nil {
			return nil, err
		}
		row := make([]float64, 0, shape.Len())
		for y := range shape.Height {
			at := ((top+y)*images.Shape.Width + left) * shape.Channels
			for _, b := range pixels[at : at+shape.Width*shape.Channels] {
				row = append(row, float64(b)/255)
			}
		}
		out[i] = row
	}
	return out, nil
}
