// Package onnx takes any image classifier in an ONNX file, whoever trained it, as a
// classifier.Classifier, on ONNX Runtime.
//
// The certified function is the whole way from an image in [0, 1] to a class: the scaling
// and normalisation that the file expects of its user, the rounding to the type of its
// input, and the network. Noise is added before all of it. A network that takes uint8 sees
// values rounded to a byte and clamped to 0 … 255; this happens inside the certified
// function, so certificates stay sound.
package onnx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/openvino"
)

// Options says how to open a file. The zero value works for a file that takes images in
// [0, 1] and says of itself all that Card could say.
type Options struct {
	Card
	Library string // path of ONNX Runtime's library; "": see Library
	Threads int    // threads inside one call; 0: 1, which is fastest where several calls run at once
	// "cpu" (also ""), or "cuda" with a library that was built for it; "openvino", or "openvino,precision=" with bf16 or
	// f16, runs the network on OpenVINO instead
	Provider string

	// KeepBatch leaves a batch of fixed size as it is. Without it, a graph that computes image by
	// image gets a batch of any size, which is another identity; runs that an earlier version began
	// go on with it.
	KeepBatch bool

	plain     bool   // without the optimiser of graphs
	beside    bool   // contents have constants in files beside the path
	precision string // of OpenVINO; "": ONNX Runtime
}

// Model is an ONNX file as a classifier.
type Model struct {
	path    string
	options Options
	open    func() (*network, error) // once
	loaded  atomic.Pointer[network]
}

var (
	_ classifier.Classifier = (*Model)(nil)
)

// Open returns a handle on an ONNX file. It reads the options and the card beside the file
// (see Card), no more; the network is loaded when it is first needed, and errors in the
// file or of the library come from there.
func Open(path string, options Options) (*Model, error) {
	switch info, err := os.Stat(path); {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("onnx: %s: no such file", path)
	case err != nil:
		return nil, fmt.Errorf("onnx: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("onnx: %s is a folder; expected an ONNX file", path)
	}
	card, err := readCard(path)
	if err != nil {
		return nil, err
	}
	options.Card = options.Card.or(card)
	return newModel(path, nil, options)
}

// FromBytes returns a handle on the contents of an ONNX file, which must not be changed as
// long as the network is not loaded. The name stands for the path in what is said about it.
func FromBytes(name string, data []byte, options Options) (*Model, error) {
	if data == nil {
		data = []byte{}
	}
	return newModel(name, data, options)
}

// newModel reads the file itself where there is no data.
func newModel(path string, data []byte, options Options) (*Model, error) {
	if err := options.check(); err != nil {
		return nil, fmt.Errorf("onnx: %s: %w", path, err)
	}
	m := &Model{path: path, options: options}
	m.open = sync.OnceValues(func() (*network, error) {
		defer func() { data = nil }()
		net, err := openNetwork(path, data, options)
		if err != nil {
			return nil, fmt.Errorf("onnx: %s: %w", path, err)
		}
		m.loaded.Store(net)
		return net, nil
	})
	return m, nil
}

// Close frees the memory of the network. No call may be running or follow.
func (m *Model) Close() error {
	if net := m.loaded.Swap(nil); net != nil {
		net.close()
	}
	return nil
}

func (o *Options) check() error {
	if err := o.Card.Check(); err != nil {
		return err
	}
	option, vino := strings.CutPrefix(o.Provider, openVINO)
	precision, found := strings.CutPrefix(cmp.Or(option, ",precision=f32"), ",precision=")
	switch {
	case vino && !(found && slices.Contains(openvino.Precisions, precision)):
		return fmt.Errorf("engine %q; expected openvino, or openvino,precision= with f32, bf16 or f16", o.Provider)
	case vino:
		o.precision = precision
	case o.Provider == "":
		o.Provider = "cpu"
	case o.Provider == "cpu", o.Provider == "cuda":
	default:
		return fmt.Errorf("provider %q; expected cpu or cuda", o.Provider)
	}
	if o.Threads < 0 {
		return fmt.Errorf("%d threads; expected at least 1", o.Threads)
	}
	o.Threads = cmp.Or(o.Threads, 1)
	return nil
}

// Info describes the model and loads it, the first time.
func (m *Model) Info() (classifier.Info, error) {
	net, err := m.open()
	if err != nil {
		return classifier.Info{}, err
	}
	return net.info, nil
}

// FormerIdentities returns the identities in ledgers of the versions 1 and 2, for a replay of them: their digest
// covered the whole file, with its metadata.
func (m *Model) FormerIdentities() ([]classifier.Identity, error) {
	net, err := m.open()
	if err != nil {
		return nil, err
	}
	id := net.info.Identity
	id.Weights = net.former
	return []classifier.Identity{id}, nil
}

// Details holds values found in the file, assumed, or taken from the card.
type Details struct {
	File       string `json:"file"`
	Producer   string `json:"producer"`              // the program that wrote the file
	Opset      int64  `json:"opset"`                 // version of the operators of ONNX
	Layout     string `json:"layout"`                // e.g. "NCHW"
	InputType  string `json:"input_type"`            // e.g. "float32"
	Batch      int    `json:"batch"`                 // fixed batch of the network; 0: any
	BatchOf    int    `json:"batch_of,omitempty"`    // fixed batch in the file, whatever became of it
	BatchFixed string `json:"batch_fixed,omitempty"` // why it is fixed still
	// images per second with the batch of the file, in a trial
	Rate       float64           `json:"rate,omitempty"`
	Scores     string            `json:"scores"`      // "logits" or "probabilities"
	ScoresFrom string            `json:"scores_from"` // how that is known
	ClassNames []string          `json:"class_names,omitempty"`
	Input      Card              `json:"input"`              // what the images go through before the network
	Metadata   map[string]string `json:"metadata,omitempty"` // the file's own
	Engine     string            `json:"engine,omitempty"`   // that runs the file or its layers; "": ONNX Runtime
	Layers     string            `json:"layers,omitempty"`   // whether they were compared with ONNX Runtime
	Library    string            `json:"library"`            // version of the engine
	Provider   string            `json:"provider"`
	Threads    int               `json:"threads"`
}

// Details loads the model, the first time.
func (m *Model) Details() (Details, error) {
	net, err := m.open()
	if err != nil {
		return Details{}, err
	}
	return net.details, nil
}

// Preprocessing says what an image in [0, 1] goes through before the graph gets it.
func (d Details) Preprocessing() string {
	text := d.Input.preprocessing()
	if text == "" {
		text = "none: the graph gets values 0 to 1"
	}
	if d.InputType == "uint8" {
		text += "; values are rounded to a byte and clamped to 0 … 255"
	}
	return text
}

// Preprocessing as Details say it. It loads the model, the first time.
func (m *Model) Preprocessing() (string, error) {
	d, err := m.Details()
	return d.Preprocessing(), err
}

// String is one sentence for people. It does not load the model.
func (m *Model) String() string { return fmt.Sprintf("ONNX model %s", m.path) }

// String states what was found and what was assumed.
func (d Details) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %s images of %v", filepath.Base(d.File), d.Layout, d.InputType, *d.Input.Shape)
	switch {
	case d.Batch > 0:
		fmt.Fprintf(&b, ", batch fixed at %d (%s", d.Batch, d.BatchFixed)
		if d.Rate > 0 {
			fmt.Fprintf(&b, "; a trial ran at %.3g images per second, so 10,000 noise samples take some %v; an "+
				"export with a batch of any size can be several times as fast",
				d.Rate, time.Duration(1e4/d.Rate*float64(time.Second)).Round(time.Second))
		}
		b.WriteString(")")
	case d.BatchOf > 0:
		fmt.Fprintf(&b, ", batch of %d made one of any size (a trial batch gave the same answers)", d.BatchOf)
	}
	fmt.Fprintf(&b, ", %s (%s)", d.Scores, d.ScoresFrom)
	if text := d.Input.preprocessing(); text != "" {
		fmt.Fprintf(&b, "; %s", text)
	}
	if d.InputType == "uint8" {
		b.WriteString("; values are rounded to a byte and clamped to 0 … 255 inside the certified function")
	}
	if d.Layers != "" {
		fmt.Fprintf(&b, "; by its layers, %s", d.Layers)
	}
	fmt.Fprintf(&b, "; %s %s on %s, %d threads", cmp.Or(d.Engine, "ONNX Runtime"), d.Library, d.Provider, d.Threads)
	return b.String()
}

// Classify implements classifier.Classifier. A large batch is run in consecutive parts: of
// the size that the network fixes, the last one filled up with black images, else of 128
// images on a processor. An answer depends on the batch alone all the same.
func (m *Model) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	net, err := m.open()
	if err != nil {
		return err
	}
	if err := classifier.Check(net.info, batch, result); err != nil {
		return err
	}
	if err := net.classify(ctx, batch, result); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("onnx: %s: %w", m.path, err)
	}
	return nil
}
