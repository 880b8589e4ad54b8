package nb

import (
	"fmt"
	"math"
	"strings"
)

// HalfSpace shows the proof of the radius σ·Φ⁻¹(p). An image meets the half space of class A with probability p
// under noise; a slider moves the image towards the boundary. The static form compares two other regions of the
// same p. Lengths are in units of σ; p is above ½ and below 1, else an error ends the cell.
func HalfSpace(p float64) *Widget {
	if !(p > 0.5 && p < 1) {
		end(fmt.Errorf("nb.HalfSpace: p is %v; expected a probability above ½ and below 1", p))
		return nil
	}
	radius := quantile(p)
	const steps = 12 // ten of them to the boundary
	w := &Widget{Caption: "the worst region of class A, and an image that moves towards its boundary"}
	slider := Slider{Name: "move"}
	for k := range steps + 1 {
		slider.Values = append(slider.Values, fmt.Sprintf("%.2f σ", radius*float64(k)/10))
	}
	w.Sliders = []Slider{slider}
	w.Frame = func(at []int) []string { return halfSpaceFrame(radius, radius*float64(at[0])/10) }
	w.Static = []any{Lines(Axes{
		Title: fmt.Sprintf("Three regions with p = %g at the image", p),
		X:     "move in units of σ", Y: "probability of class A",
		Caption: "probability of class A against the move: half space, slab, and a stripe of another class",
	}, regions(p)...)}
	return w
}

// regions are the probabilities of class A against the move of an image, in units of σ. All three regions have the
// probability p before it: a half space, a slab around the image, and all but a stripe in the way. The last line
// is ½.
func regions(p float64) []Line {
	radius := quantile(p)
	half := quantile((1 + p) / 2) // of the slab
	from := 0.8 * radius          // of the stripe, which has the probability 1 − p
	to := quantile(phi(from) + 1 - p)
	kinds := []struct {
		name string
		of   func(move float64) float64
	}{
		{"half space", func(t float64) float64 { return phi(radius - t) }},
		{"slab around the image", func(t float64) float64 { return phi(half-t) - phi(-half-t) }},
		{"all but a stripe", func(t float64) float64 { return 1 - phi(to-t) + phi(from-t) }},
		{"½", func(float64) float64 { return 0.5 }},
	}
	var lines []Line
	for _, region := range kinds {
		line := Line{Name: region.name}
		for k := range 61 {
			t := 1.2 * radius * float64(k) / 60
			line.X, line.Y = append(line.X, t), append(line.Y, region.of(t))
		}
		lines = append(lines, line)
	}
	return lines
}

func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

func quantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// halfSpaceFrame is the picture after a move.
func halfSpaceFrame(radius, move float64) []string {
	const width, height, scale, boundary = 380, 220, 62., 250. // points, and points for σ
	var b strings.Builder
	at := boundary - scale*(radius-move)
	for _, r := range []float64{1, 2} {
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="110" r="%.1f" fill="none" stroke="#777" stroke-dasharray="2 3"/>`,
			at, r*scale)
	}
	fmt.Fprintf(&b, `<circle cx="%.1f" cy="110" r="5"/></svg>`, at)
	p, vote := phi(radius-move), "A"
	switch {
	case math.Abs(p-0.5) < 1e-9:
		vote = "turns here"
	case p < 0.5:
		vote = "B"
	}
	return []string{
		fmt.Sprintf(`<div style="display:flex;flex-wrap:wrap;align-items:center">`+
			`<svg viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" `+
			`aria-label="a half space, an image with its noise, and the certified ball">`+
			`<rect width="%.0[3]f" height="%[2]d" fill="#f5c5a0"/>`+
			`<rect x="%.0[3]f" width="%.0[4]f" height="%[2]d" fill="#d6e8f2"/>`+
			`<text x="12" y="24">class A</text><text x="%.0[5]f" y="24">class B</text>`,
			width, height, boundary, width-boundary, boundary+12),
		fmt.Sprintf(`<circle cx="%.1f" cy="110" r="%.1f" fill="none" stroke="black" stroke-width="1.5"/>`,
			boundary-scale*radius, scale*radius),
		b.String(),
		fmt.Sprintf(`<div style="margin-left:1.5em;line-height:1.7">moved by %.2f σ of R = %.2f σ`+
			`<br><i>P</i>[A] = %.3f<br>the vote: <b>%s</b><br><small>`+
			`dotted: noise within σ and 2σ<br>black: what is certified</small></div></div>`,
			move, radius, p, vote),
	}
}
