package train

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/gomlxmodels/prune"
)

// rewindKey is the key of the step in the metadata of early weights. They stand beside the model
// file, as NAME.rewind.safetensors, where lth may go back to them in a later run.
const rewindKey = "step"

func rewindPath(model string) string {
	path := modelfile.CardPath(model)
	return path[:len(path)-len(".json")] + ".rewind.safetensors"
}

// writeRewind writes them, and gives their digest.
func (p *plan) writeRewind(s *state) (string, error) {
	var list []modelfile.Tensor
	for i, t := range p.tensors {
		list = append(list, modelfile.Tensor{Name: t.Name, Shape: t.Shape, Values: s.rewind[i]})
	}
	data, err := modelfile.Encode(list, map[string]string{rewindKey: strconv.Itoa(p.pruner.(prune.LTH).Rewind)})
	if err != nil {
		return "", err
	}
	if err := atomicfile.Write(rewindPath(p.options.Out), data); err != nil {
		return "", fmt.Errorf("train: %w", err)
	}
	return digestOf(data), nil
}

// readRewind reads those beside a model, of a step; nil where there are none. They must be those of its card.
func readRewind(model string, step int) ([]modelfile.Tensor, error) {
	path := rewindPath(model)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, metadata, err := modelfile.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	card, err := modelfile.ReadCard(model)
	if err != nil {
		return nil, err
	}
	switch {
	case card.Pruning == nil || card.Pruning.Rewind != digestOf(data):
		return nil, fmt.Errorf("%s has the digest %s, which is not that on the card of the model", path, digestOf(data))
	case metadata[rewindKey] != strconv.Itoa(step):
		return nil, fmt.Errorf("%s has the weights of step %s of the training; the run goes back to step %d", path,
			metadata[rewindKey], step)
	}
	return list, nil
}

func digestOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }
