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

// openErrors opens the file of a folder, or makes it. A last line that an interruption tore is dropped.
// A file of another map is an error.
func openErrors(folder string, head errorsHead) (*errorsFile, error) {
	path := filepath.Join(folder, errorsName)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	first, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	known := bytes.HasPrefix(data, append(first, '\n'))
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
