package experiment

import (
	"errors"
	"fmt"

	"github.com/certspec/certspec/internal/gomlxmodels/prune"
)

// Failure is a model that cannot be made, and why: training goes the same way each time. It stands
// in results/MODEL.failed.json; without that file it is tried again.
type Failure struct {
	Model  string `json:"model"`
	Reason string `json:"reason"`
}

func (f Failure) Error() string { return f.Model + " cannot be made: " + f.Reason }

const failedSuffix = ".failed.json"

// keepFailure writes down an error to which training leads again.
func keepFailure(folder string, m *Model, err error) error {
	var empty *prune.EmptyLayer
	if !errors.As(err, &empty) {
		return nil
	}
	return keepJSON(resultPath(folder, m, failedSuffix), Failure{m.Name, empty.Error()})
}

// Failures are the models of a folder that cannot be made, in the order of its manifest.
func (m *Manifest) Failures(folder string) ([]Failure, error) {
	var all []Failure
	for i := range m.Models {
		path := resultPath(folder, &m.Models[i], failedSuffix)
		var f Failure
		switch ok, err := readJSON(path, &f); {
		case err != nil:
			return nil, err
		case ok && f.Model != m.Models[i].Name:
			return nil, fmt.Errorf("experiment: %s is of %q; expected %q", path, f.Model, m.Models[i].Name)
		case ok:
			all = append(all, f)
		}
	}
	return all, nil
}

// failed are the models that cannot be made, by name.
func (m *Manifest) failed(folder string) (map[string]error, error) {
	failures, err := m.Failures(folder)
	all := map[string]error{}
	for _, f := range failures {
		all[f.Model] = f
	}
	return all, err
}
