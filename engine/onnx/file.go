package onnx

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/onnxfile"
)

type contents struct {
	model    *onnxfile.Model
	unpacked []byte // of a packed file
	producer string
	opset    int64
	input    onnxfile.Value
	output   onnxfile.Value
	inputs   int            // of the graph
	outputs  int            // of the graph
	head     *onnxfile.Node // a Softmax or LogSoftmax that the output comes out of
	softmax  bool           // it is a Softmax
	digest   string         // "sha256:…" of what computes in the file, and of the files with weights beside it
	former   string         // the same of the whole file
	metadata map[string]string
	card     Card // the user's, then that in the metadata
}

// cardKey is the property of a file that holds a Card, in JSON.
const cardKey = "certspec_input"

// readFile reads an ONNX file, or its contents, without ONNX Runtime, whose messages are
// not for people.
func readFile(path string, data []byte, card Card) (*contents, error) {
	return readBeside(path, data, card, data == nil)
}

// readBeside is readFile; beside says that values of constants may be in files beside path.
func readBeside(path string, data []byte, card Card, beside bool) (*contents, error) {
	packed := false
	if data == nil {
		var err error
		if data, packed, err = onnxfile.ReadFile(path); err != nil {
			return nil, err
		}
	}
	model, err := onnxfile.Decode(data)
	if err != nil {
		return nil, err
	}
	c := &contents{
		model:    model,
		producer: strings.TrimSpace(model.Producer + " " + model.ProducerVersion),
		metadata: map[string]string{},
	}
	for _, p := range model.Metadata {
		c.metadata[p.Key] = p.Value
	}
	c.opset = model.Opset()
	if packed {
		c.unpacked = data
	}
	if text := c.metadata[cardKey]; text != "" {
		own, err := decodeCard([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("its metadata %q: %w", cardKey, err)
		}
		card = card.or(own)
	}
	in, out := inputs(&model.Graph), model.Graph.Outputs
	c.inputs, c.outputs = len(in), len(out)
	if c.input, err = pick("input", in, card.Input); err != nil {
		return nil, err
	}
	if card.Output == "" {
		if only, found := scoresOutput(&model.Graph); found {
			card.Output = only
		}
	}
	if c.output, err = pick("output", out, card.Output); err != nil {
		return nil, err
	}
	c.card = card
	switch c.output.Type {
	case onnxfile.Float32, onnxfile.Float64, onnxfile.Float16:
	default:
		return nil, fmt.Errorf("output %q is %s; expected float32, float16 or float64, one value per class",
			c.output.Name, describeDims(c.output))
	}
	c.head = lastSoftmax(&model.Graph, c.output.Name)
	c.softmax = c.head != nil && c.head.Op == "Softmax"
	external, err := model.ExternalFiles()
	if err != nil {
		return nil, err
	}
	if !beside && len(external) > 0 {
		return nil, fmt.Errorf("its weights are in a second file, %q; expected all of it", external[0])
	}
	dir, _ := filepath.Split(path)
	c.digest, c.former, err = digests(data, dir, external)
	return c, err
}

// inputs that a user must give: files of IR version 3 list the weights too.
func inputs(g *onnxfile.Graph) []onnxfile.Value {
	return slices.DeleteFunc(slices.Clone(g.Inputs), func(v onnxfile.Value) bool {
		return slices.ContainsFunc(g.Initializers, func(t onnxfile.Tensor) bool { return t.Name == v.Name })
	})
}

// pick chooses the named value, or the only one.
func pick(what string, values []onnxfile.Value, name string) (onnxfile.Value, error) {
	var names []string
	for _, v := range values {
		if v.Name == name {
			return v, nil
		}
		names = append(names, fmt.Sprintf("%q %s", v.Name, describeDims(v)))
	}
	list := strings.Join(names, ", ")
	switch {
	case name != "":
		return onnxfile.Value{}, fmt.Errorf("no %s %q in the graph; it has %s", what, name, list)
	case len(values) == 0:
		return onnxfile.Value{}, fmt.Errorf("the graph has no %s", what)
	case len(values) > 1 && what == "input":
		return onnxfile.Value{}, fmt.Errorf("the graph has %d inputs; expected one image: %s", len(values), list)
	case len(values) > 1:
		return onnxfile.Value{}, fmt.Errorf("the graph has %d outputs; name the one with a value per class "+
			"(--output-name, or output in the card): %s", len(values), list)
	}
	return values[0], nil
}

// scoresOutput finds the output with a value per class among several: the only one that can be, or the one whose
// softmax the other ones are.
func scoresOutput(g *onnxfile.Graph) (name string, found bool) {
	var candidates []string
	for _, v := range g.Outputs {
		if len(g.Outputs) > 1 && isRow(v) {
			candidates = append(candidates, v.Name)
		}
	}
	var plain []string
	for _, name := range candidates {
		if !comesFrom(g, name, slices.DeleteFunc(slices.Clone(candidates),
			func(other string) bool { return other == name })) {
			plain = append(plain, name)
		}
	}
	if len(plain) != 1 {
		return "", false
	}
	return plain[0], true
}

// isRow reports whether an output is real numbers, several for each image.
func isRow(v onnxfile.Value) bool {
	switch v.Type {
	case onnxfile.Float32, onnxfile.Float64, onnxfile.Float16:
	default:
		return false
	}
	wide := 0
	for _, d := range v.Dims[min(1, len(v.Dims)):] {
		if d.Size != 1 {
			wide++
		}
	}
	return wide == 1
}

// comesFrom reports whether a value is the softmax of one of the others.
func comesFrom(g *onnxfile.Graph, name string, others []string) bool {
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		if node := &g.Nodes[i]; slices.Contains(node.Outputs, name) {
			return (node.Op == "Softmax" || node.Op == "LogSoftmax") && len(node.Inputs) > 0 && slices.Contains(others,
				node.Inputs[0])
		}
	}
	return false
}

// lastSoftmax follows the output back through operators that change no value, to a Softmax or LogSoftmax.
func lastSoftmax(g *onnxfile.Graph, output string) *onnxfile.Node {
	for i := len(g.Nodes) - 1; i >= 0; i-- { // nodes stand in the order of evaluation
		node := &g.Nodes[i]
		if !slices.Contains(node.Outputs, output) {
			continue
		}
		switch node.Op {
		case "Softmax", "LogSoftmax":
			return node
		case "Identity", "Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze":
			if len(node.Inputs) > 0 {
				output = node.Inputs[0]
				continue
			}
		}
		return nil
	}
	return nil
}

// headAxis is the first axis that the last Softmax or LogSoftmax normalises over, and an error where it is the
// batch. An axis may count from the end.
func (c *contents) headAxis() (int64, error) {
	axis := int64(-1)
	if c.opset < 13 {
		axis = 1 // and all behind it
	}
	axis = c.head.Int("axis", axis)
	last, rank := slices.Contains(c.head.Outputs, c.output.Name), int64(len(c.output.Dims))
	if axis == 0 || last && rank > 0 && axis == -rank {
		return axis, c.wrongHead(axis, "normalises over the images of a batch")
	}
	return axis, nil
}

func (c *contents) wrongHead(axis int64, what string) error {
	return fmt.Errorf("its last node %q (%s, axis %d) %s; expected one over the classes of an image",
		c.head.Name, c.head.Op, axis, what)
}

// checkHead refuses a last Softmax or LogSoftmax over anything but the classes, by rows of outputs.
func (c *contents) checkHead(rows [][]float32) error {
	if c.head == nil {
		return nil
	}
	axis, err := c.headAxis()
	if err != nil {
		return err
	}
	for _, row := range rows {
		sum, probabilities := 0.0, make([]float32, len(row))
		for k, v := range row {
			if probabilities[k] = v; !c.softmax {
				probabilities[k] = float32(math.Exp(float64(v)))
			}
			sum += float64(probabilities[k])
		}
		if finite := sum-sum == 0; finite && sumOfProbabilities(probabilities) == 0 {
			return c.wrongHead(axis, fmt.Sprintf("gives an image probabilities that sum to %.4g", sum))
		}
	}
	return nil
}

// digests are the SHA-256 of what computes in the model file, and of the whole file; both go on with all files with
// values of its constants. That of one file follows the model; several have their names and lengths before them, as
// bytes could move from one to the next otherwise.
func digests(data []byte, dir string, external []string) (computing, whole string, err error) {
	computes, all := sha256.New(), sha256.New()
	all.Write(data)
	if err := onnxfile.WriteComputing(computes, data); err != nil {
		return "", "", err
	}
	sum := io.MultiWriter(computes, all)
	for _, name := range external {
		if !filepath.IsLocal(name) {
			return "", "", fmt.Errorf("its weights are to be in %q; expected a file beside the model", name)
		}
		file, err := os.Open(dir + name) // as ONNX Runtime does; Join would shorten a/../b, where a may be a link
		if os.IsNotExist(err) {
			return "", "", fmt.Errorf("its weights are in a second file, %q, which is not beside it", name)
		}
		if err != nil {
			return "", "", err
		}
		err = add(sum, file, name, len(external) > 1)
		file.Close()
		if err != nil {
			return "", "", fmt.Errorf("its weights in %q: %w", name, err)
		}
	}
	return fmt.Sprintf("sha256:%x", computes.Sum(nil)), fmt.Sprintf("sha256:%x", all.Sum(nil)), nil
}

func add(sum io.Writer, file *os.File, name string, several bool) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("expected a regular file")
	}
	if several {
		fmt.Fprintf(sum, "\n%q %d\n", name, info.Size())
	}
	n, err := io.Copy(sum, file)
	if err == nil && n != info.Size() {
		err = errors.New("it changed while it was read")
	}
	return err
}
