package heatmap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/spectral"
)

// errorsName is the file of a folder that keeps the errors of frequencies: a map's head, then a
// line for each frequency.
const errorsName = "errors.jsonl"

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
	file  *journal.Writer
	known map[spectral.Frequency]float64
}

// openErrors opens the file of a folder, or makes it. A last line that an interruption tore is dropped.
// A file of another map is an error, as is one that another run writes.
func openErrors(folder string, head errorsHead) (*errorsFile, error) {
	path := filepath.Join(folder, errorsName)
	file, err := journal.Open(path)
	if err != nil {
		return nil, err
	}
	e := &errorsFile{file: file, known: map[spectral.Frequency]float64{}}
	if err := e.read(path, head); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return e, nil
}

func (e *errorsFile) read(path string, head errorsHead) error {
	data, err := e.file.ReadAll()
	if err != nil {
		return err
	}
	first, err := json.Marshal(head)
	if err != nil {
		return err
	}
	whole := journal.Whole(data)
	begun := bytes.HasPrefix(data, append(first, '\n'))
	if !begun && (whole > 0 || !bytes.HasPrefix(first, data)) {
		there, _, _ := bytes.Cut(data, []byte{'\n'})
		const what = "is of another model, data set or probe"
		return fmt.Errorf("%s %s: %.300s; expected %s: take another folder", path, what, there, first)
	}
	number := 0
	for line := range bytes.Lines(data[:whole]) {
		if number++; number == 1 {
			continue
		}
		var one frequencyError
		if err := json.Unmarshal(line, &one); err != nil || !(one.Error >= 0 && one.Error <= 1) {
			return fmt.Errorf("%s:%d: %.100q is not the error of a frequency", path, number, line)
		}
		e.known[spectral.Frequency{U: one.U, V: one.V}] = one.Error
	}
	if err := e.file.Keep(int64(whole)); err != nil {
		return err
	}
	if !begun {
		e.file.Append(append(first, '\n'))
	}
	return e.file.Sync()
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
	e.file.Append(append(line, '\n'))
	return value, e.file.Sync()
}

func (e *errorsFile) Close() error { return e.file.Close() }
