package nb

import (
	"fmt"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/strength"
)

// Of a classifier that cuts the second value v at 127.5, brightness moves v across it at a known strength: the class
// is proven up to there, for each image, and no further; from a ledger not even so far. All of it is in the numbers of
// the figure.
func TestProveCell(t *testing.T) {
	t.Chdir(t.TempDir())
	cut := classifier.Wave{Shape: pixel.Shape{Height: 1, Width: 2, Channels: 1}, Level: .5, Period: 1}
	data := NewPoints(30, 1, []string{"dark", "light"}, func(image []uint8) int { return int(image[1] / 128) })
	images := Must(data.Load(Context()))
	list := Prove(cut, data, "brightness=-40:40")
	if again := Prove(cut, data, "brightness=-40:40"); again.Digest != list.Digest || list.Digest == "" {
		t.Errorf("the second time %q, the first %q", again.Digest, list.Digest)
	}
	run := Must(rs.Certify(Context(), cut, data, rs.Options{Sigma: .1, MaxSamples: 500, Rule: rs.Fixed,
		Noise: "spectrum/1:grey@0=0.05", Ledger: "run.ledger"}))
	ledger := Prove(run, data, "brightness=-40:40")
	var drawn []*Figure
	shownFigure = func(f *Figure) { drawn = append(drawn, f) }
	defer func() { shownFigure = func(*Figure) {} }()
	text, _ := shownBy(t, []*strength.File{list, ledger})
	if len(drawn) != 1 {
		t.Fatalf("%d figures", len(drawn))
	}
	if words, err := drawn[0].svg(); err != nil || !strings.Contains(string(words), "σ = 0.1, n ≤ 500, α = 0.001") {
		t.Error("the figure does not say σ, n and α of the ledger")
	}
	inside := map[string]float64{} // of the ledger: the length of a bar by image
	for _, row := range drawn[0].numbers().Rows {
		if strings.HasPrefix(fmt.Sprint(row[1]), "the ledger;") && row[5] != "" {
			image, _, _ := strings.Cut(fmt.Sprint(row[2]), ":")
			inside[image] = row[6].(float64) - row[5].(float64)
		}
	}
	proven, seen := 0, 0
	for _, row := range drawn[0].numbers().Rows {
		var id, from, to int
		if n, _ := fmt.Sscanf(fmt.Sprint(row[2]), "image %d: %d to %d", &id, &from, &to); n != 3 ||
			!strings.HasPrefix(fmt.Sprint(row[1]), "the model;") {
			continue
		}
		seen++
		v := int(images.Pixels[2*id+1])
		first, last := -40, 40 // the strengths with v + θ on v's side of the cut, outward until one side ends
		flip := any("")
		if v > 127 && v-40 <= 127 {
			first, flip = 128-v, float64(127-v)
			last = min(40, -first+1)
		} else if v <= 127 && v+40 > 127 {
			last, flip = 127-v, float64(128-v)
			first = max(-40, -last)
		}
		if from != first || to != last || row[3] != flip || row[5] != float64(first) || row[6] != float64(last) {
			t.Errorf("value %d: %d to %d, then %v; want %d to %d, then %v", v, from, to, row[3], first, last, flip)
		}
		if width := inside[fmt.Sprintf("image %d", id)]; width > float64(last-first) {
			t.Errorf("value %d: the ledger proves %g levels, the list %d", v, width, last-first)
		}
		if flip == "" {
			proven++
		}
	}
	if seen != 30 || list.Claims.Robust != proven || len(inside) == 0 ||
		!strings.Contains(text, "the ledger") || !strings.Contains(text, fmt.Sprint(proven)) {
		t.Errorf("%d images, %d proven, %+v, %d by the ledger: %s", seen, proven, *list.Claims, len(inside), text)
	}
	drawn = nil
	if text, _ = shownBy(t, Prove(cut, data, "contrast=0.99:1.01")); len(drawn) != 1 || !strings.Contains(text, "0.99") {
		t.Errorf("%d figures of contrast: %s", len(drawn), text)
	}
	for reason, cell := range map[string]func(){
		"expected a model or a run": func() { Prove(images, data, "jpeg=10:100") },
		"jpeg=10:100":               func() { Prove(cut, data, "fog=1:5") },
		"without a ledger":          func() { Prove(&rs.Run{}, data, "brightness=-1:1") },
		"not finished":              func() { Show(&strength.File{Path: "half.strength"}) },
	} {
		if code, said := stopped(t, cell); code == 0 || !strings.Contains(said, reason) {
			t.Errorf("code %d, %q; want %q", code, said, reason)
		}
	}
}
