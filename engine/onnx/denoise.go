package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/pixel"
)

// Denoiser says what a denoiser is and for which noise. The zero Schedule is for one that takes noisy images in [0, 1]
// and gives clean ones (Salman et al. 2020). With a schedule, it is a diffusion model on values in [−1, 1] that takes
// its step, too (Carlini et al. 2023).
type Denoiser struct {
	Source
	Sigma    float64
	Schedule string // "", "linear" or "cosine"
	Steps    int    // of the schedule
	Predicts string // "epsilon" (the noise), "sample" (the image) or "v"
	Rescaled bool   // the model gets 1000·t/Steps in the place of t
}

// Values of the fields of Denoiser.
const (
	linearSteps = "linear"
	cosineSteps = "cosine"
	ofNoise     = "epsilon"
	ofImage     = "sample"
	ofVelocity  = "v"
)

// DenoiserKey is the property of a joined file that holds the σ of its denoiser.
const DenoiserKey = "certspec_denoiser_sigma"

// stepOf is the step t of a schedule of so many steps, counted from 0, for Gaussian noise of σ on images in [0, 1], and
// ᾱ_t: the smallest t ≥ 1 with √((1 − ᾱ_t)/ᾱ_t) ≥ 2σ (Carlini et al. 2023, arXiv 2206.10550, algorithm 1). The factor
// 2 is for values in [−1, 1].
//
//	linear  ᾱ_t = Π_{s≤t} (1 − β_s), β from 10⁻⁴ to 0.02 where there are 1,000 steps, else times 1000/steps
//	cosine  ᾱ_t = Π_{s≤t} (1 − min(0.999, 1 − f((s+1)/T)/f(s/T))), f(u) = cos²((u + 0.008)/1.008·π/2)
//
// Errors: a schedule that is not known, less than 2 steps, a σ that it never reaches.
func stepOf(schedule string, steps int, sigma float64) (t int, alphaBar float64, err error) {
	switch {
	case schedule != linearSteps && schedule != cosineSteps:
		return 0, 0, fmt.Errorf("onnx: no schedule %q; there are %s and %s", schedule, linearSteps,
			cosineSteps)
	case steps < 2 || steps > 1_000_000:
		return 0, 0, fmt.Errorf("onnx: a schedule of %d steps; expected 2 to 1,000,000", steps)
	case !(sigma > 0) || math.IsInf(sigma, 0):
		return 0, 0, fmt.Errorf("onnx: σ = %v; expected a finite number above 0", sigma)
	}
	n := float64(steps)
	f := func(u float64) float64 { c := math.Cos((u + 0.008) / 1.008 * math.Pi / 2); return c * c }
	alphaBar = 1
	for t = range steps {
		s := float64(t)
		beta := (1e-4 + (0.02-1e-4)*s/(n-1)) * 1000 / n
		if schedule == cosineSteps {
			beta = min(0.999, 1-f((s+1)/n)/f(s/n))
		}
		if alphaBar *= 1 - beta; !(alphaBar > 0) {
			break
		}
		if t >= 1 && math.Sqrt((1-alphaBar)/alphaBar) >= 2*sigma {
			return t, alphaBar, nil
		}
	}
	return 0, 0, fmt.Errorf("onnx: the %s schedule of %d steps never reaches σ = %g; expected a smaller σ", schedule,
		steps, sigma)
}

// JoinDenoiser sets a denoiser before a classifier as one network. The images of the new network have values in [0, 1],
// in planes, with their noise, unclipped; what the classifier's card says of images is applied behind the denoiser.
// head names the result of the denoiser's graph that is the image, if it has one of that name; else it is its output.
// The new file is as that of Join.
//
// Errors: those of Join; a schedule that does not reach σ; a denoiser whose output is no image of its input's size; a
// part that draws random numbers, or has dropout or batch normalisation in training mode.
func JoinDenoiser(d Denoiser, classifier Source, head string, metadata map[string]string, path string) error {
	joined, h, err := joinDenoiser(d, classifier, head)
	if err != nil {
		return err
	}
	return writeJoined(path, joined, metadata, h.tried)
}

func joinDenoiser(d Denoiser, classifier Source, head string) (joined *onnxfile.Model, denoiser *part, err error) {
	if !(d.Sigma > 0) || math.IsInf(d.Sigma, 0) {
		return nil, nil, fmt.Errorf("onnx: σ = %v; expected that of the denoiser's noise, above 0", d.Sigma)
	}
	f, err := classifier.part("classifier/")
	if err != nil {
		return nil, nil, err
	}
	classes, err := f.logits()
	if err != nil {
		return nil, nil, err
	}
	if out := f.output.Dims; len(out) == 4 && out[2].Size*out[3].Size != 1 {
		return nil, nil, f.wrong("its output %s is an image; expected a logit for each class", describeDims(f.output))
	}
	h, timestep, err := d.part(f, head)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range []*part{h, f} {
		if err := p.deterministic(); err != nil {
			return nil, nil, err
		}
	}
	joined, err = frame(f, h, h.layout.shape, "denoised", classes)
	if err != nil {
		return nil, nil, err
	}
	g := &joined.Graph
	if err := d.enter(g, h, timestep); err != nil {
		return nil, nil, err
	}
	at := "denoised"
	if h.layout.shape != f.layout.shape {
		if at, err = resized(joined, at, f); err != nil {
			return nil, nil, err
		}
	}
	result := f.enter(g, at)
	addNode(g, "Identity", "logits", []string{result})
	joined.Metadata = append(joined.Metadata,
		onnxfile.Property{Key: DenoiserKey, Value: strconv.FormatFloat(d.Sigma, 'g', -1, 64)})
	return joined, h, nil
}

// resized brings images to the size of a classifier: bicubic with antialiasing, as PyTorch's interpolate.
func resized(joined *onnxfile.Model, at string, f *part) (string, error) {
	if f.opset < 18 {
		return "", f.wrong("it takes images of %v, the denoiser of another size, and in its opset %d ONNX has no bicubic "+
			"resizing with antialiasing; export it with opset 18 or later", f.layout.shape, f.opset)
	}
	g := &joined.Graph
	g.Initializers = append(g.Initializers, onnxfile.Int64Tensor("resized/sides", int64(f.layout.shape.Height),
		int64(f.layout.shape.Width)))
	return addNode(g, "Resize", "resized", []string{at, "", "", "resized/sides"}, onnxfile.IntsAttribute("axes", 2, 3),
		onnxfile.TextAttribute("mode", "cubic"), onnxfile.IntAttribute("antialias", 1),
		onnxfile.FloatAttribute("cubic_coeff_a", -0.5), onnxfile.IntAttribute("exclude_outside", 1)), nil
}

// tried runs a joined network where there is a library: the sizes of images within it are not read. Its weights are in
// the file beside, if there is one.
func (p *part) tried(beside string, file []byte) error {
	m, err := FromBytes(cmp.Or(beside, p.path), file, Options{Threads: 1, beside: beside != ""})
	if err == nil {
		_, err = m.Info()
	}
	switch {
	case errors.Is(err, ErrNoLibrary):
		return nil
	case err != nil:
		return p.wrong("it cannot run before the classifier; a denoiser that halves %v needs sides that it gives "+
			"back: %w", p.layout.shape, err)
	}
	return m.Close()
}

// part reads a denoiser for the images of a classifier, and the input for its step, where it takes one.
func (d Denoiser) part(f *part, head string) (*part, onnxfile.Value, error) {
	p := &part{path: d.Path, prefix: "denoiser/"}
	shape := f.layout.shape
	card := d.Options.Card
	card.Shape = &shape // of a denoiser that takes any size
	timestep, err := d.inputsOf(&card)
	if err != nil {
		return nil, timestep, p.wrong("%w", err)
	}
	if p.contents, err = readFile(d.Path, d.Contents, card); err != nil {
		return nil, timestep, p.wrong("%w", err)
	}
	if p.layout, err = findLayout(p.input, p.contents.card); err != nil {
		return nil, timestep, p.wrong("%w; the classifier takes images of %v", err, shape)
	}
	if p.layout.shape.Channels != shape.Channels {
		return nil, timestep, p.wrong("it takes images of %v, the classifier of %v; channels must agree", p.layout.shape,
			shape)
	}
	if p.card, err = p.contents.card.complete(p.layout); err != nil {
		return nil, timestep, p.wrong("%w", err)
	}
	for _, n := range p.model.Graph.Nodes { // of a network that was trained together with a classifier
		if slices.Contains(n.Outputs, head) {
			p.output = onnxfile.Value{Name: head, Type: onnxfile.Float32, Dims: p.input.Dims}
		}
	}
	if err := p.givesImages(p.layout.shape, d.Schedule != ""); err != nil {
		return nil, timestep, p.wrong("%w", err)
	}
	if err := p.load(d.Path, timestep.Name); err != nil {
		return nil, timestep, p.wrong("%w", err)
	}
	return p, timestep, nil
}

// inputsOf finds the input for the noisy image, which the card names from then on, and that for the step, which only a
// model with a schedule has.
func (d Denoiser) inputsOf(card *Card) (timestep onnxfile.Value, err error) {
	data := d.Contents
	if data == nil {
		if data, _, err = onnxfile.ReadFile(d.Path); err != nil {
			return timestep, err
		}
	}
	file, err := onnxfile.Decode(data)
	if err != nil {
		return timestep, err
	}
	entries := inputs(&file.Graph)
	for _, in := range entries {
		if len(in.Dims) == 4 && card.Input == "" {
			if card.Input = in.Name; in.Dims[1].Size*in.Dims[2].Size*in.Dims[3].Size > 0 {
				card.Shape = nil
			}
		} else if in.Name != card.Input {
			timestep = in
		}
	}
	switch {
	case d.Schedule == "" && len(entries) != 1:
		return timestep, fmt.Errorf("it has %d inputs; expected the noisy image alone, or a schedule for a model that "+
			"takes its step, too", len(entries))
	case d.Schedule != "" && len(entries) != 2:
		return timestep, fmt.Errorf("it has %d inputs; expected the noisy image and the step", len(entries))
	}
	return timestep, nil
}

// givesImages says why a denoiser gives no images like those that it takes, one by one or in batches of any size.
// A diffusion model may have learned variances behind the channels of the image.
func (p *part) givesImages(shape pixel.Shape, diffusion bool) error {
	out := p.output.Dims
	want := []int64{int64(shape.Channels), int64(shape.Height), int64(shape.Width)}
	axis := 1
	if !p.layout.planar {
		want, axis = []int64{want[1], want[2], want[0]}, 3
	}
	switch {
	case p.layout.kind != onnxfile.Float32 || p.output.Type != onnxfile.Float32:
		return fmt.Errorf("it takes %v and gives %v; expected float32", p.layout.kind, p.output.Type)
	case p.layout.batch > 1:
		return fmt.Errorf("it takes batches of %d; expected any size, or 1", p.layout.batch)
	case len(out) != 4:
		return fmt.Errorf("its output %s is no image; expected one of %v", describeDims(p.output), shape)
	case diffusion && out[axis].Size == 2*int64(shape.Channels):
		want[axis-1] = out[axis].Size
	case out[axis].Size == 2*int64(shape.Channels):
		return fmt.Errorf("its output %s has twice the channels of an image: a diffusion model with learned "+
			"variances; expected its schedule, linear or cosine", describeDims(p.output))
	case out[axis].Size != int64(shape.Channels):
		return fmt.Errorf("its output %s has no %d channels; expected an image of %v", describeDims(p.output),
			shape.Channels, shape)
	}
	for i, side := range want {
		if got := out[i+1].Size; got != 0 && got != side {
			return fmt.Errorf("its output is %s for images of %v: their sides are no multiples of what it halves; "+
				"expected sides that it gives back", describeDims(p.output), shape)
		}
	}
	return nil
}

// deterministic refuses what makes a network no function of its image.
func (p *part) deterministic() error {
	draws := []string{"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial",
		"Bernoulli"}
	constant := func(name string) bool { // that is false, or missing
		return name == "" || slices.ContainsFunc(p.model.Graph.Initializers, func(t onnxfile.Tensor) bool {
			return t.Name == name && len(t.Raw) == 1 && t.Raw[0] == 0
		})
	}
	for n := range p.model.AllNodes() {
		switch {
		case slices.Contains(draws, n.Op):
			return p.wrong("node %q (%s) draws random numbers, as a sampler does: it is no function of the image; "+
				"export the prediction of the clean image without its sampling step", n.Name, n.Op)
		case n.Op == "Dropout" && len(n.Inputs) > 2 && !constant(n.Inputs[2]):
			return p.wrong("node %q is dropout that may be in training mode; export in evaluation mode", n.Name)
		case n.Op == "BatchNormalization" && (n.Int("training_mode", 0) != 0 || p.opset < 14 && len(n.Outputs) > 1):
			return p.wrong("node %q is batch normalisation in training mode: answers depend on the batch; export in "+
				"evaluation mode (model.eval())", n.Name)
		}
	}
	return nil
}

// enter lays the denoiser into a graph, from "image" to "denoised".
func (d Denoiser) enter(g *onnxfile.Graph, p *part, timestep onnxfile.Value) error {
	s := p.layout.shape
	sides := []int64{int64(s.Channels), int64(s.Height), int64(s.Width)}
	scalar := func(name string, v float64) string {
		name = "denoiser/certspec/" + name
		g.Initializers = append(g.Initializers, onnxfile.Float32Tensor(name, []float32{float32(v)}))
		return name
	}
	back := func(at string) string { // to planes of the image's size
		if !p.layout.planar {
			at = addNode(g, "Transpose", "denoiser/certspec/planes", []string{at},
				onnxfile.IntsAttribute("perm", 0, 3, 1, 2))
		}
		if slices.ContainsFunc(p.output.Dims, func(side onnxfile.Dim) bool { return side.Size == 2*sides[0] }) &&
			d.Schedule != "" { // the variances stand behind the mean
			g.Initializers = append(g.Initializers, onnxfile.Int64Tensor("denoiser/certspec/mean-start", 0),
				onnxfile.Int64Tensor("denoiser/certspec/mean-end", sides[0]),
				onnxfile.Int64Tensor("denoiser/certspec/mean-axis", 1))
			at = addNode(g, "Slice", "denoiser/certspec/mean", []string{at, "denoiser/certspec/mean-start",
				"denoiser/certspec/mean-end", "denoiser/certspec/mean-axis"})
		}
		g.Initializers = append(g.Initializers, onnxfile.Int64Tensor("denoiser/certspec/sides",
			append([]int64{-1}, sides...)...))
		return addNode(g, "Reshape", "denoiser/certspec/images", []string{at, "denoiser/certspec/sides"})
	}
	if d.Schedule == "" {
		addNode(g, "Identity", "denoised", []string{back(p.lay(g, "image"))})
		return nil
	}
	t, alphaBar, err := stepOf(d.Schedule, d.Steps, d.Sigma)
	if err != nil {
		return err
	}
	if p.card.preprocessing() != "" {
		return p.wrong("its card says what is done to its images; a diffusion model takes values from −1 to 1")
	}
	given := float64(t)
	if d.Rescaled {
		given *= 1000 / float64(d.Steps)
	}
	if err := p.setStep(timestep, given); err != nil {
		return err
	}
	root, rest := math.Sqrt(alphaBar), math.Sqrt(1-alphaBar)
	x := addNode(g, "Mul", "denoiser/certspec/doubled", []string{"image", scalar("slope", 2*root)})
	x = addNode(g, "Sub", "denoiser/certspec/noisy", []string{x, scalar("shift", root)}) // √ᾱ·(2x − 1)
	y := back(p.lay(g, x))
	switch d.Predicts {
	case ofNoise: // x₀ = (x_t − √(1−ᾱ)·ε)/√ᾱ
		y = addNode(g, "Mul", "denoiser/certspec/part", []string{y, scalar("rest", rest)})
		y = addNode(g, "Sub", "denoiser/certspec/less", []string{x, y})
		y = addNode(g, "Div", "denoiser/certspec/clean", []string{y, scalar("root", root)})
	case ofVelocity: // x₀ = √ᾱ·x_t − √(1−ᾱ)·v
		y = addNode(g, "Mul", "denoiser/certspec/part", []string{y, scalar("rest", rest)})
		x = addNode(g, "Mul", "denoiser/certspec/signal", []string{x, scalar("root", root)})
		y = addNode(g, "Sub", "denoiser/certspec/clean", []string{x, y})
	case ofImage:
	default:
		return fmt.Errorf("onnx: a diffusion model that predicts %q; expected %s, %s or %s", d.Predicts, ofNoise,
			ofImage, ofVelocity)
	}
	y = addNode(g, "Clip", "denoiser/certspec/range", []string{y, scalar("least", -1), scalar("most", 1)})
	y = addNode(g, "Mul", "denoiser/certspec/halved", []string{y, scalar("half", 0.5)})
	addNode(g, "Add", "denoised", []string{y, scalar("middle", 0.5)})
	return nil
}

// setStep makes the step of a diffusion model a constant of its graph, one value for all images.
func (p *part) setStep(in onnxfile.Value, t float64) error {
	if len(in.Dims) > 1 || len(in.Dims) == 1 && in.Dims[0].Size > 1 {
		return p.wrong("its input %q is %s; expected a step", in.Name, describeDims(in))
	}
	var one onnxfile.Tensor
	dims := []int64{}
	if len(in.Dims) == 1 {
		dims = []int64{1}
	}
	switch {
	case in.Type == onnxfile.Float32:
		one = onnxfile.Float32Tensor(in.Name, []float32{float32(t)}, dims...)
	case in.Type == onnxfile.Int64 && t == math.Trunc(t):
		one = onnxfile.NewTensor(in.Name, []int64{int64(t)}, dims...)
	default:
		return p.wrong("its step %q is %s, and the step is %v; expected float32, or int64 for a whole step", in.Name,
			in.Type, t)
	}
	g := &p.model.Graph
	if len(in.Dims) == 1 && in.Dims[0].Size == 0 { // one step for each image of the batch
		one.Name = "certspec/step"
		g.Initializers = append(g.Initializers, onnxfile.Int64Tensor("certspec/first", 0),
			onnxfile.Int64Tensor("certspec/second", 1))
		g.Nodes = append([]onnxfile.Node{
			{Op: "Shape", Name: "certspec/lengths", Inputs: []string{p.input.Name}, Outputs: []string{"certspec/lengths"}},
			{Op: "Slice", Name: "certspec/batch", Inputs: []string{"certspec/lengths", "certspec/first",
				"certspec/second"}, Outputs: []string{"certspec/batch"}},
			{Op: "Expand", Name: in.Name, Inputs: []string{"certspec/step", "certspec/batch"},
				Outputs: []string{in.Name}},
		}, g.Nodes...)
	}
	g.Initializers = append(g.Initializers, one)
	return nil
}
