package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/atomicfile"
)

// A checkpoint is a safetensors file with the tensors as weights/NAME and the slots of the optimizer as
// SLOT/NAME, as in momentum/NAME; its metadata hold the run and the state as JSON.
const (
	runKey        = "run"
	stateKey      = "state"
	weightsPrefix = "weights/"
)

func (p *plan) writeCheckpoint(s *state) error {
	var list []modelfile.Tensor
	for i, t := range p.tensors {
		list = append(list, modelfile.Tensor{Name: weightsPrefix + t.Name, Shape: t.Shape, Values: s.weights[i]})
		for k, slot := range p.optimizer.Slots() {
			if p.trains(i) {
				list = append(list, modelfile.Tensor{Name: slot + "/" + t.Name, Shape: t.Shape, Values: s.slots[k][i]})
			}
		}
	}
	for _, kept := range p.prunedTensors(s) {
		list = append(list, kept.Tensor)
	}
	data, err := modelfile.Encode(list, map[string]string{runKey: compact(p.run), stateKey: compact(s)})
	if err != nil {
		return err
	}
	if err := atomicfile.Write(p.checkpoint, data); err != nil {
		return fmt.Errorf("train: no checkpoint at step %d: %w; %s", s.Step, err, p.kept())
	}
	return p.writeLog(s)
}

// readCheckpoint returns nil where there is none.
func (p *plan) readCheckpoint() (*state, error) {
	data, err := os.ReadFile(p.checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	s, there, err := decodeCheckpoint(data, p)
	if there != nil {
		if d := difference(*there, p.run); d != "" {
			return nil, &otherRun{p.checkpoint, d, there.Backend}
		}
	}
	if err == nil {
		err = s.check(p)
	}
	if err != nil {
		return nil, fmt.Errorf("train: checkpoint %s is damaged: %w; remove it to start anew", p.checkpoint, err)
	}
	return s, nil
}

// check refuses numbers that no run leaves.
func (s *state) check(p *plan) error {
	switch {
	case s.Step < 0 || s.Step > p.steps || len(s.Log) != s.Step/p.stepsPerEpoch:
		return fmt.Errorf("it is at step %d of %d, with %d finished epochs of %d steps", s.Step, p.steps, len(s.Log),
			p.stepsPerEpoch)
	case s.EpochCorrect < 0 || s.Seconds < 0 || s.Waiting < 0 || s.Round < 0:
		return fmt.Errorf("it has %d right images, %v seconds of which %v of waiting, and %d rounds; expected at least 0",
			s.EpochCorrect, s.Seconds, s.Waiting, s.Round)
	case len(s.EpochTerms) != 0 && len(s.EpochTerms) != len(s.Terms):
		return fmt.Errorf("it has sums of %d terms of the loss, and %d names", len(s.EpochTerms), len(s.Terms))
	}
	for i, e := range s.Log {
		if len(e.Terms) != len(s.Terms) {
			return fmt.Errorf("epoch %d has %d terms of the loss, and the run %d names", i+1, len(e.Terms), len(s.Terms))
		}
	}
	return nil
}

// otherRun is the checkpoint of another run.
type otherRun struct{ path, difference, backend string }

func (e *otherRun) Error() string {
	return fmt.Sprintf("train: %s is the checkpoint of another run: %s; choose another path, or remove it to start anew",
		e.path, e.difference)
}

// decodeCheckpoint returns the run as soon as it can be read, as it explains tensors that do not fit.
func decodeCheckpoint(data []byte, p *plan) (*state, *identity, error) {
	found, metadata, err := modelfile.Decode(data)
	if err != nil {
		return nil, nil, err
	}
	run := &identity{}
	if err := json.Unmarshal([]byte(metadata[runKey]), run); err != nil {
		return nil, nil, fmt.Errorf("its description of the run: %w", err)
	}
	run.Recipe.Complete()
	s := &state{}
	if err := json.Unmarshal([]byte(metadata[stateKey]), s); err != nil {
		return nil, run, fmt.Errorf("its state: %w", err)
	}
	byName := make(map[string]modelfile.Tensor, len(found))
	for _, t := range found {
		byName[t.Name] = t
	}
	values := func(name string, shape []int) ([]float32, error) {
		t, ok := byName[name]
		if !ok || !slices.Equal(t.Shape, shape) {
			return nil, fmt.Errorf("tensor %q of shape %v is missing", name, shape)
		}
		delete(byName, name)
		return t.Values, nil
	}
	for _, t := range p.tensors {
		w, err := values(weightsPrefix+t.Name, t.Shape)
		if err != nil {
			return nil, run, err
		}
		s.weights = append(s.weights, w)
	}
	for _, slot := range p.optimizer.Slots() {
		var kept [][]float32
		for i, t := range p.tensors {
			var v []float32
			if p.trains(i) {
				if v, err = values(slot+"/"+t.Name, t.Shape); err != nil {
					return nil, run, err
				}
			}
			kept = append(kept, v)
		}
		s.slots = append(s.slots, kept)
	}
	for _, kept := range p.prunedTensors(s) {
		v, err := values(kept.Name, kept.Shape)
		if err != nil {
			return nil, run, err
		}
		kept.read(v)
	}
	for name := range byName {
		return nil, run, fmt.Errorf("tensor %q is of no such run", name)
	}
	return s, run, nil
}

// prunedTensor is state that a run that prunes keeps, as it stands in a checkpoint: mask/NAME (0 or 1),
// scores/NAME, frozen/NAME, rewind/NAME.
type prunedTensor struct {
	modelfile.Tensor
	read func(values []float32)
}

// prunedTensors are the tensors of a state, which need not be filled yet.
func (p *plan) prunedTensors(s *state) (list []prunedTensor) {
	pr := p.pruning
	if pr == nil {
		return nil
	}
	add := func(kind string, of []nets.Tensor, values *[][]float32) {
		if len(*values) == 0 {
			*values = make([][]float32, len(of))
		}
		for i, t := range of {
			list = append(list, prunedTensor{
				modelfile.Tensor{Name: kind + "/" + t.Name, Shape: t.Shape, Values: (*values)[i]},
				func(v []float32) { (*values)[i] = v },
			})
		}
	}
	if p.scored() {
		add("scores", pr.tensors, &s.scores)
		add("frozen", pr.tensors, &s.frozen)
		return list
	}
	var masks [][]float32
	for _, mask := range s.masks {
		values := make([]float32, len(mask))
		for i, keep := range mask {
			if keep {
				values[i] = 1
			}
		}
		masks = append(masks, values)
	}
	add("mask", pr.tensors, &masks)
	for i := range pr.tensors {
		list[i].read = func(v []float32) {
			if s.masks == nil {
				s.masks = make([][]bool, len(pr.tensors))
			}
			s.masks[i] = make([]bool, len(v))
			for j := range v {
				s.masks[i][j] = v[j] != 0
			}
		}
	}
	if s.Rewound {
		add("rewind", p.tensors, &s.rewind)
	}
	return list
}

// kept says what is left of a run that fails.
func (p *plan) kept() string {
	if _, err := os.Stat(p.checkpoint); err != nil {
		return "there is no checkpoint yet"
	}
	return "the last good checkpoint is kept in " + p.checkpoint
}

func (p *plan) removeCheckpoint() error {
	if err := os.Remove(p.checkpoint); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}

// writeLog writes the finished epochs as CSV.
func (p *plan) writeLog(s *state) error {
	var b strings.Builder
	b.WriteString("epoch,images,learning_rate,loss,accuracy,seconds")
	more := len(s.Terms) > 0
	if more {
		for _, name := range slices.Concat(s.Terms, p.numbers) {
			b.WriteString("," + name)
		}
	}
	for i, e := range s.Log {
		fmt.Fprintf(&b, "\n%d,%d,%.6g,%.6f,%.6f,%.1f", i+1, e.Images, e.Rate, e.Loss, e.Accuracy, e.Seconds)
		for _, v := range e.Terms {
			fmt.Fprintf(&b, ",%.6f", v)
		}
		for _, name := range p.numbers {
			if more {
				fmt.Fprintf(&b, ",%.6g", p.ramps[name].At(p.clock(i*p.stepsPerEpoch)))
			}
		}
	}
	b.WriteString("\n")
	if err := atomicfile.Write(p.options.Out+".csv", []byte(b.String())); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}
