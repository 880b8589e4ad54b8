package onnx

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/host"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/openvino"
	"github.com/certspec/certspec/pixel"
)

// network is a loaded file.
type network struct {
	info    classifier.Info
	former  string // Identity.Weights in ledgers of the versions 1 and 2
	details Details
	layout  layout
	session session
	fill    filler
	tail    []int64 // dims of the output after the batch
	part    int     // images that a processor takes at once, where the batch is not fixed
	output  onnxfile.Type

	mu   sync.Mutex
	free []*buffers // kept for the next call
}

// session is a network on what runs it. Its methods may be called concurrently.
type session interface {
	// evaluate runs the network from one array into another.
	evaluate(in, out *array) error
	// discover runs the network and returns its n outputs, whose shapes the graph need not tell. Values of other types
	// than float32, float64 and int64 are left out.
	discover(in *array, n int) ([]array, error)
	close()
}

// openVINO is the provider that takes OpenVINO in the place of ONNX Runtime, and its name in identities.
const openVINO = "openvino"

// load finds the library of the options, and gives its name and version.
func (o *Options) load() (name, version string, err error) {
	if o.precision != "" {
		_, err := openvino.Library()
		return "OpenVINO", openvino.Version, err
	}
	library, err := Library(o.Library)
	if err != nil {
		return "", "", err
	}
	version, err = loadLibrary(library)
	return "ONNX Runtime", version, err
}

// openSession loads the file at path or, where there is data, that; values in other files are in
// the folder of path then.
func openSession(path string, data []byte, input string, outputs []string, options Options) (session, error) {
	if options.precision == "" {
		return openORT(path, data, input, outputs, options)
	}
	if data == nil {
		var err error
		if data, err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	m, err := onnxfile.Decode(data)
	if err != nil {
		return nil, err
	}
	if external, err := m.ExternalFiles(); err != nil {
		return nil, err
	} else if len(external) > 0 {
		if err := m.Load(filepath.Dir(path)); err != nil {
			return nil, err
		}
		data = onnxfile.Encode(m)
	}
	return openOpenVINO(data, input, outputs, options)
}

// openNetwork takes checked options, and the contents of the file where they do not come
// from path.
func openNetwork(path string, data []byte, options Options) (*network, error) {
	file, err := readBeside(path, data, options.Card, data == nil || options.beside)
	if err != nil {
		return nil, err
	}
	layout, err := findLayout(file.input, file.card)
	if err != nil {
		return nil, err
	}
	card, err := file.card.complete(layout)
	if err != nil {
		return nil, err
	}
	runtime, version, err := options.load()
	if err != nil {
		return nil, err
	}
	if file.unpacked != nil {
		data = file.unpacked
	}
	session, err := openSession(path, data, file.input.Name, []string{file.output.Name}, options)
	if err != nil {
		return nil, fmt.Errorf("%s %s cannot load it: %w", runtime, version, err)
	}
	net := &network{layout: layout, session: session, fill: newFiller(layout, card, options.Threads),
		output: file.output.Type, part: cachedPart}
	rows, err := net.trial(file.output, runtime)
	if err != nil {
		session.close()
		return nil, err
	}
	if err := file.checkHead(rows); err != nil {
		session.close()
		return nil, err
	}
	classes := len(rows[0])
	fixed, rate, whyFixed := layout.batch, 0.0, ""
	if fixed > 0 && options.KeepBatch {
		whyFixed = "as was asked for"
	} else if fixed > 0 {
		if rate, err = net.widen(path, file, classes, options); err != nil {
			whyFixed = err.Error()
		}
	}
	function := card.function(layout, file)
	if net.layout.batch != fixed {
		function = append(function, fmt.Sprintf("batch of %d made symbolic", fixed))
	}
	if net.details, function, err = file.describe(path, layout, card, rows, function); err != nil {
		net.session.close()
		return nil, err
	}
	d, id := &net.details, &net.info.Identity
	d.Batch, d.BatchOf, d.BatchFixed, d.Rate = net.layout.batch, fixed, whyFixed, rate
	d.Library, d.Provider, d.Threads = version, options.Provider, options.Threads
	net.former = strings.Join(append([]string{file.former}, function...), ", ")
	net.info = d.info(layout, classes, append([]string{file.digest}, function...))
	id.Engine = "onnxruntime"
	if options.precision != "" {
		id.Engine, d.Engine, d.Provider = openVINO, runtime, "cpu, precision="+options.precision
	}
	id.EngineVersion = version + " " + d.Provider
	id.Threads, id.InstructionSet = options.Threads, host.InstructionSet()
	return net, nil
}

// describe says what was found in the file, by rows of outputs of a trial too, and completes the parts of its
// function. What runs it is left open.
func (c *contents) describe(path string, at layout, card Card, rows [][]float32,
	function []string) (Details, []string, error) {
	if n := len(card.ClassNames); n != 0 && n != len(rows[0]) {
		return Details{}, nil, fmt.Errorf("%d class names for a network with %d outputs", n, len(rows[0]))
	}
	d := Details{
		File: path, Producer: c.producer, Opset: c.opset, Layout: at.name, InputType: at.kind.String(),
		Input: card, ClassNames: card.ClassNames, Metadata: c.metadata,
	}
	switch {
	case c.softmax:
		d.Scores, d.ScoresFrom = probabilities, "the graph ends in a softmax"
	case distributions(rows):
		d.Scores, d.ScoresFrom = probabilities, "every row of a trial sums to 1"
	default:
		d.Scores, d.ScoresFrom = logits, "no softmax at the end of the graph, and rows of a trial do not sum to 1"
	}
	if card.Scores != "" {
		if card.Scores != d.Scores {
			function = append(function, "scores "+card.Scores)
		}
		d.Scores, d.ScoresFrom = card.Scores, "as the options or the card say"
	}
	return d, function, nil
}

// info has the digest and the function in its identity.
func (d *Details) info(at layout, classes int, computes []string) classifier.Info {
	return classifier.Info{Name: onnxfile.Stem(d.File), Shape: at.shape, Classes: classes,
		Logits: d.Scores == logits, Identity: classifier.Identity{Weights: strings.Join(computes, ", ")}}
}

var errOneOutput = errors.New("it has one output value per image; expected one per class")

// trial evaluates a few noisy images, learns the shape of the output from them, and returns
// a row of outputs for each.
func (net *network) trial(output onnxfile.Value, runtime string) ([][]float32, error) {
	n := 4
	if net.layout.batch > 0 {
		n = net.layout.batch
	}
	grid := make([]int16, n*net.layout.shape.Len())
	random := rand.New(rand.NewPCG(1, 2))
	for i := range grid {
		grid[i] = int16(random.IntN(pixel.Steps + 1))
	}
	in := newArray(net.layout.kind, append([]int64{int64(n)}, net.layout.dims...)...)
	net.fill(&in.values, 0, classifier.Batch{N: n, Grid: grid}, 0, n)

	dims, out, err := net.run(in, n, output)
	if err != nil {
		return nil, fmt.Errorf("%s cannot run it: %w", runtime, err)
	}
	classes, wide := 1, 0
	for _, d := range dims[min(1, len(dims)):] {
		classes *= int(d)
		if d != 1 {
			wide++
		}
	}
	switch {
	case len(dims) < 2 || dims[0] != int64(n):
		return nil, fmt.Errorf("its output has shape %v for %d images; expected a row of scores per image", dims, n)
	case wide > 1:
		return nil, fmt.Errorf("its output has shape %v for %d images; expected one score per class and image (not "+
			"per pixel or region)", dims, n)
	case classes < 2:
		return nil, errOneOutput
	}
	net.tail = dims[1:]
	logits := out.logits(nil)
	rows := make([][]float32, n)
	for i := range rows {
		rows[i] = logits[i*classes : (i+1)*classes]
	}
	return rows, nil
}

// widen gives the network a session that takes batches of any size, or says why it cannot. The rate is the rate
// of the session that it had, in images per second.
func (net *network) widen(path string, file *contents, classes int, options Options) (rate float64, err error) {
	images := trialImages(net.layout.shape)
	if images.N == net.layout.batch { // a size that it does not have already
		images.N--
	}
	before := time.Now()
	want, err := net.answers(images)
	if err != nil {
		return 0, err
	}
	calls := (images.N + net.layout.batch - 1) / net.layout.batch
	rate = float64(calls*net.layout.batch) / time.Since(before).Seconds()

	graph, err := symbolic(file.model, file.input.Name, file.output.Name, func(m *onnxfile.Model,
		names []string) ([][]int64, error) {
		return net.shapes(path, m, file.input.Name, names, Options{Threads: 1, precision: options.precision})
	})
	if err != nil {
		return rate, err
	}
	session, err := openSession(path, onnxfile.Encode(graph), file.input.Name, []string{file.output.Name}, options)
	if err != nil {
		return rate, fmt.Errorf("with a batch of any size it cannot be loaded: %w", err)
	}
	wide := &network{layout: net.layout, session: session, fill: net.fill, output: net.output, tail: net.tail,
		part: symbolicPart(net.layout.shape.Len())}
	wide.layout.batch = 0
	got, err := wide.answers(images)
	if err == nil {
		err = same(want, got, classes, logitTolerance(file.model))
	}
	if err != nil {
		wide.close()
		return rate, fmt.Errorf("with a batch of any size: %w", err)
	}
	net.close()
	net.session, net.layout, net.part = wide.session, wide.layout, wide.part
	net.free = wide.free
	return rate, nil
}

// answers are the outputs for a batch.
func (net *network) answers(batch classifier.Batch) (rows []float32, err error) {
	part := net.layout.batch
	if part == 0 {
		part = batch.N
	}
	for first := 0; first < batch.N; first += part {
		if rows, err = net.evaluate(batch, first, part, rows); err != nil {
			return nil, err
		}
	}
	evaluated := (batch.N + part - 1) / part * part
	return rows[:len(rows)/evaluated*batch.N], nil
}

// shapes runs the network once and gives the shapes of values inside.
func (net *network) shapes(path string, m *onnxfile.Model, input string, names []string,
	options Options) ([][]int64, error) {
	graph, outputs, err := withShapes(m, names)
	if err != nil {
		return nil, err
	}
	session, err := openSession(path, onnxfile.Encode(graph), input, outputs, options)
	if err != nil {
		return nil, err
	}
	defer session.close()
	in := newArray(net.layout.kind, append([]int64{int64(net.layout.batch)}, net.layout.dims...)...)
	found, err := session.discover(in, len(outputs))
	if err != nil {
		return nil, err
	}
	shapes := make([][]int64, len(found))
	for i := range found {
		if shapes[i] = found[i].wholes; shapes[i] == nil {
			return nil, errors.New("an output is no shape")
		}
	}
	return shapes, nil
}

func (net *network) run(in *array, n int, output onnxfile.Value) ([]int64, values, error) {
	if output.Type != onnxfile.Float16 {
		out, err := net.session.discover(in, 1)
		if err == nil && out[0].floats == nil && out[0].doubles == nil {
			err = errors.New("the output is not what the graph says; expected numbers")
		}
		if err != nil {
			return nil, values{}, err
		}
		return out[0].dims, out[0].values, nil
	}
	dims := []int64{int64(n)}
	for _, d := range output.Dims[min(1, len(output.Dims)):] {
		if d.Size <= 0 {
			return nil, values{}, fmt.Errorf("its output is %s; a float16 output must state the number of classes",
				describeDims(output))
		}
		dims = append(dims, d.Size)
	}
	out := newArray(output.Type, dims...)
	return dims, out.values, net.session.evaluate(in, out)
}

// distributions reports whether every row is a probability distribution.
func distributions(rows [][]float32) bool {
	for _, row := range rows {
		if sumOfProbabilities(row) == 0 {
			return false
		}
	}
	return true
}

// sumOfProbabilities is about 1, or 0 where the row is no distribution over classes.
func sumOfProbabilities(row []float32) float64 {
	const tolerance = 1e-2 // float16
	sum := 0.0
	for _, p := range row {
		if !(p >= 0 && p <= 1+tolerance) {
			return 0
		}
		sum += float64(p)
	}
	if math.Abs(sum-1) > tolerance {
		return 0
	}
	return sum
}

// buffers is the memory of one call: tensors for a number of images.
type buffers struct {
	n       int
	in, out *array
}

// keptBuffers bounds the memory that stays for later calls.
const keptBuffers = 8

func (net *network) take(n int) *buffers {
	net.mu.Lock()
	defer net.mu.Unlock()
	for i, b := range net.free {
		if b.n == n {
			net.free = append(net.free[:i], net.free[i+1:]...)
			return b
		}
	}
	return &buffers{
		n:   n,
		in:  newArray(net.layout.kind, append([]int64{int64(n)}, net.layout.dims...)...),
		out: newArray(net.output, append([]int64{int64(n)}, net.tail...)...),
	}
}

func (net *network) giveBack(b *buffers) {
	net.mu.Lock()
	defer net.mu.Unlock()
	if len(net.free) == keptBuffers {
		net.free = append(net.free[:0], net.free[1:]...)
	}
	net.free = append(net.free, b)
}

func (net *network) close() {
	net.mu.Lock()
	defer net.mu.Unlock()
	net.free = nil
	net.session.close()
}

// classify takes a checked batch.
func (net *network) classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	part := batch.N
	switch {
	case net.layout.batch > 0:
		part = net.layout.batch
	case net.details.Provider != "cuda":
		part = min(part, net.part)
	}
	logits := make([]float32, 0, (batch.N+part)*net.info.Classes)
	for first := 0; first < batch.N; first += part {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if logits, err = net.evaluate(batch, first, part, logits); err != nil {
			return err
		}
	}
	logits = logits[:batch.N*net.info.Classes]
	return net.details.Decide(net.info, batch, logits, result)
}

// cachedPart is the number of images that a processor takes at once. The intermediate
// results of larger parts leave its cache, and the rate falls.
const cachedPart = 128

// evaluate appends the outputs for the part of the batch that begins at first. Where the
// batch of the network is fixed, black images fill the last part up.
func (net *network) evaluate(batch classifier.Batch, first, part int, logits []float32) ([]float32, error) {
	n := min(part, batch.N-first)
	if net.layout.batch == 0 {
		part = n
	}
	b := net.take(part)
	defer net.giveBack(b)
	net.fill(&b.in.values, 0, batch, first, n)
	if rest := part - n; rest > 0 {
		black := classifier.Batch{N: rest, Grid: make([]int16, rest*net.layout.shape.Len())}
		net.fill(&b.in.values, n, black, 0, rest)
	}
	if err := net.session.evaluate(b.in, b.out); err != nil {
		return nil, err
	}
	return b.out.logits(logits), nil
}

// Decide makes classes and scores of rows of outputs, as classifier.Decide does of logits. Of rows that
// are probabilities already only the scores differ. Errors: such a row that is no distribution.
func (d *Details) Decide(info classifier.Info, batch classifier.Batch, rows []float32,
	result *classifier.Result) error {
	if d.Scores == logits {
		classifier.Decide(info, batch, rows, result)
		return nil
	}
	classes := classifier.Result{Classes: result.Classes}
	classifier.Decide(info, batch, rows, &classes)
	if result.Scores == nil {
		return nil
	}
	k := info.Classes
	for i := range batch.N {
		row, scores := rows[i*k:(i+1)*k], result.Scores[i*k:(i+1)*k]
		if result.Classes[i] == classifier.Miss {
			clear(scores)
			continue
		}
		sum := sumOfProbabilities(row)
		if sum == 0 {
			return errors.New("its outputs are taken for probabilities (" + d.ScoresFrom +
				"), and a row is no distribution; set scores (a flag, or in the card) to logits")
		}
		for c, p := range row {
			scores[c] = float32(float64(p) / sum)
		}
	}
	return nil
}
