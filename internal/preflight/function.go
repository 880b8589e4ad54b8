package preflight

import (
	"fmt"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/classifier/purity"
)

// checkFunction judges the comparisons of answers to the same image.
func checkFunction(f purity.Found) Check {
	c := Check{Name: "same input, same answer", Verdict: OK, Found: sentence(f.String())}
	switch {
	case f.Contradicted():
		c.Verdict = Failure
		c.Advice = "Switch the model to evaluation, without dropout or other randomness, and batch normalisation " +
			"with stored averages: a certificate is about a function of one image."
	case f.Changed > 0 || f.Again > 0:
		c.Verdict = Warning
		c.Found = fmt.Sprintf("Answers differ by rounding: logits or scores up to %.2g of the tolerance apart, and "+
			"%d other classes in %d comparisons.", f.Largest, f.Changed, f.Comparisons)
		c.Advice = "Nothing need be done; a replay of the ledger may differ in near-ties."
	}
	return c
}

// checkOutputs says that probabilities come in the place of logits.
func checkOutputs(info classifier.Info, f purity.Found) Check {
	return Check{
		Name: "logits", Verdict: Failure,
		Found: fmt.Sprintf("The model says that it answers with logits, and all of %d rows are probabilities.",
			f.Answers-f.Invalid),
		Advice: sentence(softmaxAdvice(info)),
	}
}

// softmaxed says that a model gives probabilities where logits are expected, and what to do.
func softmaxed(info classifier.Info, f purity.Found) string {
	return fmt.Sprintf("model %s says that it answers with logits, but its rows are probabilities: all of %d are "+
		"non-negative and sum to 1, and a second softmax would falsify them; %s",
		info.Name, f.Answers-f.Invalid, softmaxAdvice(info))
}

func softmaxAdvice(info classifier.Info) string {
	switch info.Identity.Engine {
	case "pipe":
		return `let it say output="probabilities"`
	case "onnxruntime", "openvino":
		return "take --scores probabilities"
	}
	return "leave its softmax out"
}
