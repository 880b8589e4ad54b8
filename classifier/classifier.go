// Package classifier is the one door through which a model enters certspec.
//
// A Classifier takes a batch of images and answers, for every image, a class, and
// scores where they are asked for. Ties, the arg-max and non-finite outputs are
// decided here, once, by Decide, for every engine.
package classifier

import (
	"context"
	"errors"

	"github.com/certspec/certspec/pixel"
)

// Miss is the class of an input whose output holds a value that is not finite.
const Miss int32 = -1

// ErrImpure says that the answers of a model contradict what every certificate assumes, that they are a
// deterministic function of one image: they depend on the rest of a batch, on earlier calls or on
// chance. errors.Is finds it in the errors of rs.Certify, which say what was found.
var ErrImpure = errors.New("the model is no deterministic function of one image")

// Batch is N images of one shape, one after the other, in exactly one of two forms.
type Batch struct {
	N    int
	Grid []int16   // grid images: multiples of 1/255, unclipped; N*Shape.Len() values
	Real []float32 // real images in units of the full range; used where Grid is nil
}

// Result receives the answers for a batch. The caller owns the slices and may reuse them.
type Result struct {
	Classes []int32   // N classes in [0, Classes), or Miss
	Scores  []float32 // nil: not wanted. Else N*Classes softmax probabilities, row by row; rows of a Miss are zero
	// nil: not wanted; wanted only of a model with Info.Logits. Else N*Classes values, row by row;
	// rows of a Miss are zero
	Logits []float32
}

// Info describes a model before it runs.
type Info struct {
	Name     string      `json:"name"`
	Shape    pixel.Shape `json:"shape"`
	Classes  int         `json:"classes"`
	Identity Identity    `json:"identity"`
	Logits   bool        `json:"-"` // Result.Logits can be had; in no ledger, as no count depends on it
}

// Identity is all that the counts of a block of noise samples depend on besides the address of the block.
// Two runs of equal Identity and batch size give equal counts.
type Identity struct {
	// "sha256:…" of what computes (graph, weights, not who trained them when), what is done to
	// images before; or a formula for a toy model
	Weights        string `json:"weights"`
	Engine         string `json:"engine"`          // e.g. "xla", "go", "onnxruntime", "toy"
	EngineVersion  string `json:"engine_version"`  // version of engine and plugin
	Threads        int    `json:"threads"`         // threads inside one call; 0 where it cannot matter
	InstructionSet string `json:"instruction_set"` // e.g. "amd64/avx512"; empty where it cannot matter
}

// Classifier is a trained model, frozen. Implementations are safe for concurrent use.
//
// Classify evaluates the whole batch in one call of the engine, always in the same
// arrangement, so that an answer depends on the batch alone. It fills result.Classes
// (len ≥ batch.N) and, where they are not nil, result.Scores and result.Logits
// (len ≥ batch.N*Classes). An error says that the batch was not evaluated; an output
// that is not finite is no error but a Miss.
type Classifier interface {
	Info() (Info, error)
	Classify(ctx context.Context, batch Batch, result *Result) error
}
