package corrupt

// frost lays frost F over the image: a·x + b·F on the scale of bytes; (a, b) = (1, 0.2), (1, 0.3),
// (0.9, 0.4), (0.85, 0.4), (0.75, 0.45). F is cut from photographs, where the setting names a
// folder of them, else drawn; see photographs and ice.
func frost(j job) (func() operator, error) {
	c := [...][2]float64{{1, .2}, {1, .3}, {.9, .4}, {.85, .4}, {.75, .45}}[j.Severity-1]
	var photos *photographs
	if j.Photographs != "" {
		var err error
		if photos, err = readPhotographs(j.Photographs, min(1, j.pixels(0.2)), j.shape); err != nil {
			return nil, err
		}
	}
	channels := j.shape.Channels
	return func() operator {
		layer := make([]float64, j.shape.Height*j.shape.Width*3)
		cut := func(r *stream) { photos.cut(layer, r) }
		if photos == nil {
			ice := newIce(j.shape)
			cut = func(r *stream) { ice.draw(layer, r) }
		}
		return func(dst, src []uint8, r *stream) {
			cut(r)
			for i, b := range src {
				f := 0.0
				if channels == 3 {
					f = layer[i]
				} else {
					f = luminance(layer[3*i], layer[3*i+1], layer[3*i+2])
				}
				dst[i] = truncatedSteps(float64(c[0]*float64(b)) + float64(c[1]*f))
			}
		}
	}, nil
}
