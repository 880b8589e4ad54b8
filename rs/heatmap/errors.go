package heatmap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/spectral"
)

// errorsName is the file of a folder that keeps the errors of frequencies: a map's head, then a line for each frequency.
const errorsName = "errors.jsonl"

// errorsHead is what the errors in a file have in common.
type errorsHead struct {
	Model   classifier.Identity `json:"model"`
	Data    string              `json:"data"`
	Digest  string              `json:"digest"`
	Epsilon float64             `json:"epsilon"`
	Seed    uint64              `json:"probe_seed"`
	Shared  bool                `json:"shared_sign"`
}

// frequencyError is one line.
type frequencyError struct {
	U     int     `json:"u"`
	V     int     `json:"v"`
	Error float64 `json:"error"`
}

// errorsFile is the errors that are known, and takes more.
type errorsFile struct {
	file  *os.File
	known map[spectral.Frequency]float64
}

// openErrors opens the file of a folder, or makes it. A last line that an interruption tore is dropped; a file of another map is an error.
// The head of a file that is there may be any of those given; a new one gets the first.
func openErrors(folder string, heads []errorsHead) (*errorsFile, error) {
	path := filepath.Join(folder, errorsName)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var first []byte
	known := false
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	for i := len(heads) - 1; i >= 0; i-- {
		if first, err = json.Marshal(heads[i]); err != nil {
			return nil, err
		}
		known = known || bytes.HasPrefix(data, append(first, '\n'))
	}
	e := &errorsFile{known: map[spectral.Frequency]float64{}}
	for i, line := range bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
		switch {
		case len(data) == 0:
		case i == 0 && !known:
			return nil, fmt.Errorf("%s is of another model, data set or probe: %.300s; expected %s: take another folder", path, line, first)
		case i > 0:
			var one frequencyError
			if err := json.Unmarshal(line, &one); err != nil || !(one.Error >= 0 && one.Error <= 1) {
				return nil, fmt.Errorf("%s:%d: %.100q is not the error of a frequency", path, i+1, line)
			}
			e.known[spectral.Frequency{U: one.U, V: one.V}] = one.Error
		}
	}
	if e.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return nil, err
	}
	if err = e.file.Truncate(int64(len(data))); err == nil {
		_, err = e.file.Seek(0, 2)
	}
	if err == nil && len(data) == 0 {
		_, err = e.file.Write(append(first, '\n'))
	}
	if err != nil {
		return nil, errors.Join(err, e.file.Close())
	}
	return e, nil
}

// of is the error at a frequency: the known one, or what find finds, which is then kept.
func (e *errorsFile) of(f spectral.Frequency, find func() (float64, error)) (float64, error) {
	if value, known := e.known[f]; known {
		return value, nil
	}
	value, err := find()
	if err != nil || math.IsNaN(value) {
		return value, err
	}
	line, err := json.Marshal(frequencyError{f.U, f.V, value})
	if err != nil {
		return 0, err
	}
	e.known[f] = value
	_, err = e.file.Write(append(line, '\n'))
	return value, err
}

func (e *errorsFile) Close() error { return e.file.Close() }

// headsOf are the heads that a file may have for a model and images before they are probed: by the model's identity, and by those that older
// programs gave it.
func headsOf(model classifier.Classifier, info classifier.Info, images *dataset.Images, o spectral.ProbeOptions) ([]errorsHead, error) {
	ids := []classifier.Identity{info.Identity}
	if former, ok := model.(classifier.Former); ok {
		list, err := former.FormerIdentities()
		if err != nil {
			return nil, err
		}
		ids = append(ids, list...)
	}
	var heads []errorsHead
	for _, id := range ids {
		heads = append(heads, errorsHead{id, images.Name, images.Digest, o.Epsilon, o.Seed, o.Shared})
	}
	return heads, nil
}
