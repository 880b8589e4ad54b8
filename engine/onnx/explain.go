package onnx

import (
	"errors"
	"regexp"
	"strings"
)

// explanations turn what ONNX Runtime says into what it means, for the commonest problems.
var explanations = []struct {
	pattern *regexp.Regexp
	meaning string
}{
	{regexp.MustCompile(`No Op registered for (\S+) with domain_version of (\d+)`),
		"there is no operator $1 in version $2 of ONNX's operators, or not in this runtime"},
	{regexp.MustCompile(`No opset import for domain '([^']*)'`),
		"it uses operators of domain $1 and names no version of them"},
	{regexp.MustCompile(`(\S+)\(-?\d+\) is not a registered function/op`),
		"this runtime has no operator $1"},
	{regexp.MustCompile(`Opset (\d+) is under development.* till opset (\d+)`),
		"it uses version $1 of ONNX's operators and this runtime knows them up to $2: export with an older opset, " +
			"or update the library"},
	{regexp.MustCompile(`Unsupported model IR version: (\d+), max supported IR version: (\d+)`),
		"its format is IR version $1 and this runtime knows them up to $2: export with an older version of ONNX, or " +
			"update the library"},
}

// preamble is the binding's and the runtime's wrapping: what was called, and where in its
// C++ sources the error arose.
var preamble = regexp.MustCompile(`^(Error creating C session from file: |Error creating C session: |` +
	`Error running network: |Load model from .* failed:|/\S+\.(cc|h|cpp):\d+ .*?\) )+`)

// wrapping is the same in what OpenVINO says.
var wrapping = regexp.MustCompile(`Exception from \S+:\d+: |Check '.*?' failed at \S+: |` +
	`FrontEnd API failed with \w+: |Summary: -- | To facilitate the conversion of unsupported operations, .*$`)

// explain turns an error of ONNX Runtime or OpenVINO into one sentence.
func explain(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	for _, e := range explanations {
		if found := e.pattern.FindStringSubmatchIndex(text); found != nil {
			return errors.New(string(e.pattern.ExpandString(nil, e.meaning, text, found)))
		}
	}
	return errors.New(wrapping.ReplaceAllString(preamble.ReplaceAllString(text, ""), ""))
}
