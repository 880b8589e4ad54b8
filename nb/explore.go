package nb

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/bound"
)

// Exploration has the choices of the sliders of Explore. Each list begins with its least value.
type Exploration struct {
	Model   classifier.Toy
	Marks   []Mark // points of the plane, by name
	Sigmas  []float64
	Samples []int // behind the bound
	Alphas  []float64
}

// explored is a point under a noise with a number of samples: what the fixed rule counts with seed 1.
type explored struct {
	hits, class int
	shares      []float64 // by class: the probabilities that the counts estimate
}

// Explore certifies every point under every noise with every number of samples, by the fixed rule with
// seed 1, and shows the ball by sliders. The levels share their counts, since these do not depend on α.
func Explore(e Exploration) *Widget {
	if len(e.Marks) == 0 || len(e.Sigmas) == 0 || len(e.Samples) == 0 || len(e.Alphas) == 0 {
		end(fmt.Errorf("nb.Explore: a list without values"))
		return nil
	}
	counted := map[[3]int]explored{}
	for m, mark := range e.Marks {
		for s, sigma := range e.Sigmas {
			for c, samples := range e.Samples {
				// The level does not change the counts; at this one the class is named even where none is certified.
				got, err := rs.CertifyOne(Context(), e.Model, mark.Image,
					rs.Options{Rule: rs.Fixed, Sigma: sigma, MaxSamples: samples, Alpha: 0.999,
						Seed: 1})
				end(err)
				counted[[3]int{m, s, c}] = explored{hits: got.K, class: got.Class,
					shares: e.Model.Probabilities(mark.Image, sigma)}
			}
		}
	}
	pictures, painted := make([]string, len(e.Sigmas)), make([]*image.Paletted, len(e.Sigmas))
	for s, sigma := range e.Sigmas {
		var err error
		painted[s], err = Plane{Model: e.Model, Sigma: sigma}.regions()
		end(err)
		var b bytes.Buffer
		end(png.Encode(&b, painted[s]))
		pictures[s] = "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
	}
	w := &Widget{Caption: "the certified ball for each σ, n and α"}
	at := func(of []int) (Mark, float64, int, float64, explored) {
		return e.Marks[of[0]], e.Sigmas[of[1]], e.Samples[of[2]], e.Alphas[of[3]], counted[[3]int{of[0], of[1], of[2]}]
	}
	w.Frame = func(of []int) []string {
		mark, sigma, samples, alpha, got := at(of)
		lower, radius := certified(got.hits, samples, alpha, sigma)
		return []string{
			fmt.Sprintf(`<div style="display:flex;flex-wrap:wrap;align-items:center">`+
				`<svg viewBox="0 0 300 300" width="300" height="300" role="img" `+
				`aria-label="regions of the smoothed classifier, a point and its ball">`+
				`<image href="%s" width="300" height="300"/>`, pictures[of[1]]),
			disc(mark, radius),
			explain(got, samples, alpha, sigma, lower, radius),
		}
	}
	w.Sliders = []Slider{{Name: "point"}, {Name: "σ"}, {Name: "n"}, {Name: "α"}}
	for _, mark := range e.Marks {
		w.Sliders[0].Values = append(w.Sliders[0].Values, mark.Name)
	}
	for _, sigma := range e.Sigmas {
		w.Sliders[1].Values = append(w.Sliders[1].Values, fmt.Sprint(sigma))
	}
	for _, samples := range e.Samples {
		w.Sliders[2].Values = append(w.Sliders[2].Values, printable.Count(samples))
	}
	for _, alpha := range e.Alphas {
		w.Sliders[3].Values = append(w.Sliders[3].Values, fmt.Sprint(alpha))
	}
	for i := range w.Sliders[1:] {
		w.Sliders[i+1].Start = len(w.Sliders[i+1].Values) / 2
	}
	w.Static = e.static(painted, func(of ...int) float64 {
		_, sigma, samples, alpha, got := at(of)
		_, radius := certified(got.hits, samples, alpha, sigma)
		return radius
	})
	return w
}

// static is a plane for up to three of the noises, and a table of all radii of the first point at one level.
func (e Exploration) static(painted []*image.Paletted, radius func(of ...int) float64) []any {
	last, alpha := len(e.Samples)-1, len(e.Alphas)/2
	var planes []Plane
	var before int
	for i := range 3 {
		s := i * (len(e.Sigmas) - 1) / 2
		if i > 0 && s == before {
			continue
		}
		before = s
		plane := Plane{Title: fmt.Sprintf("σ = %g", e.Sigmas[s]), Model: e.Model, Sigma: e.Sigmas[s],
			painted: painted[s]}
		for m, mark := range e.Marks {
			plane.Marks = append(plane.Marks, Mark{Image: mark.Image, Name: mark.Name, Radius: radius(m, s, last,
				alpha)})
		}
		planes = append(planes, plane)
	}
	t := &Tabular{Columns: []string{"point", "σ"},
		Notes: []string{fmt.Sprintf("Certified radii at α = %g with n noise samples, fixed rule; 0: no certificate.",
			e.Alphas[alpha])}}
	for _, samples := range e.Samples {
		t.Columns = append(t.Columns, "n = "+printable.Count(samples))
	}
	for m, mark := range e.Marks {
		for s, sigma := range e.Sigmas {
			row := []any{mark.Name, fmt.Sprint(sigma)}
			for c := range e.Samples {
				row = append(row, down(radius(m, s, c, alpha)))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return []any{Planes(planes...), t}
}

func certified(hits, samples int, alpha, sigma float64) (lower, radius float64) {
	p, err := bound.Lower(hits, samples, alpha)
	end(err)
	lower, radius, err = bound.Certificate(sigma, p)
	end(err)
	return lower, radius
}

// disc is the ball and the point, and the end of the picture.
func disc(m Mark, radius float64) string {
	x, y := 300*float64(m.Image[0])/pixel.Steps, 300*(1-float64(m.Image[1])/pixel.Steps)
	return fmt.Sprintf(`<circle cx="%.1f" cy="%.1f" r="%.1f" fill="none" stroke="black" stroke-width="1.5"/>`+
		`<circle cx="%.1f" cy="%.1f" r="4"/></svg>`, x, y, 300*radius, x, y)
}

func explain(got explored, samples int, alpha, sigma, lower, radius float64) string {
	verdict := "no certificate: <i>p</i> is not shown to exceed ½"
	if radius > 0 {
		verdict = fmt.Sprintf("certified radius <b>%.4f</b>", math.Floor(radius*1e4)/1e4)
	}
	class, truth := "no class", ""
	if got.class >= 0 {
		class = fmt.Sprintf(`class %d <span style="color:%s">■</span>`, got.class, css(tints[got.class]))
		p := got.shares[got.class]
		truth = fmt.Sprintf("<br>in truth <i>p</i> = %.5f", p)
		if p > 0.5 {
			truth += fmt.Sprintf(", which allows %.4f", math.Floor(1e4*sigma*math.Sqrt2*math.Erfinv(2*p-1))/1e4)
		}
	}
	return fmt.Sprintf(`<div style="margin-left:1.5em;line-height:1.7">%s has %s of %s votes<br>`+
		`with probability at least %g: <i>p</i> ≥ %.5f<br>%s%s</div></div>`,
		class, printable.Count(got.hits), printable.Count(samples), 1-alpha, math.Floor(lower*1e5)/1e5, verdict, truth)
}

func css(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }
